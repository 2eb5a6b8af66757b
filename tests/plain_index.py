"""An index in dictionaries: it has the abstract methods of the port and inherits the others.

It shows how little an adapter has to be, and answers candidate queries by counting, for comparison with the real indices.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from es_dedup.index.cluster_changes import Assignment, ClusterChanges
from es_dedup.index.port import NO_NOTES, Index, Notes
from es_dedup.index.records import FeatureRecord, RecordBatch
from es_dedup.model import CandidateQuery, CandidateResult, Edge, Scope
from es_dedup.model.cluster_changes import ClusterChange, Cursor
from es_dedup.model.cluster_lists import ClusterOrder, ClusterQuery, ClusterSummary, Place
from es_dedup.testing.candidate_contract import answer_of
from es_dedup.text.tokens import characters_apart


def includes(scope: Scope, site: str, published: str) -> bool:
    """Whether a page of this site and time of publication lies inside."""
    first, last = scope.published_from, scope.published_to
    return (
        (scope.site is None or site == scope.site)
        and (first is None or "" != published >= first)
        and (last is None or "" != published[: len(last)] <= last)
    )


class PlainIndex(Index):
    """All ports over dictionaries of one object; nothing is kept beyond it."""

    def __init__(self) -> None:
        self._pages: dict[str, FeatureRecord] = {}
        self._edges: dict[tuple[str, str], Edge] = {}
        self._assignments: dict[str, Assignment] = {}
        self._changed: dict[str, int] = {}  # page id to the number of its last change, in their order
        self._notes: dict[str, str] = {}
        self._statistics: bytes | None = None

    @property
    def features(self) -> Mapping[str, Any]:
        return {}

    def close(self) -> None:
        pass

    @contextmanager
    def writing(self) -> Iterator[bool]:
        yield False

    # Index

    def put_distinct(self, batch: RecordBatch, notes: Notes) -> dict[str, str]:
        self.set_notes(notes)
        self._pages |= {
            page_id: replace(_record(batch, at), named={}) for at, page_id in enumerate(batch.ids)
        }
        return {}

    def get_many(self, page_ids: Iterable[str]) -> dict[str, FeatureRecord]:
        return {name: replace(self._pages[name], text="") for name in page_ids if name in self._pages}

    def texts(self, page_ids: Iterable[str]) -> dict[str, str]:
        texts = {name: self._pages[name].text for name in page_ids if name in self._pages}
        return {name: text for name, text in texts.items() if text}

    def candidates_with_copies(
        self, candidate_queries: Sequence[CandidateQuery], hashes: Sequence[int], *, limit: int | None = None
    ) -> tuple[list[CandidateResult], dict[int, list[str]]]:
        copies = {
            wanted: [name for name, page in sorted(self._pages.items()) if page.content_hash == wanted != 0]
            for wanted in hashes
        }
        terms = {name: page.terms for name, page in self._pages.items()}
        found = [answer_of(terms, query) for query in candidate_queries]
        return found, {wanted: names[:limit] for wanted, names in copies.items() if names}

    def delete_many(self, page_ids: Iterable[str]) -> int:
        wanted = set(page_ids)
        self.drop_edges(wanted)
        for name in wanted:
            if self._assignments.pop(name, None) is not None:
                self._log([name])
        return sum(self._pages.pop(name, None) is not None for name in wanted)

    def scan(self, *, after: str | None = None, batch: int = 1000) -> Iterator[list[FeatureRecord]]:
        names = sorted(name for name in self._pages if name > (after or ""))
        for first in range(0, len(names), batch):
            yield list(self.get_many(names[first : first + batch]).values())

    def search(self, query: str, *, limit: int = 10) -> list[tuple[str, float]]:
        wanted = set(_words(query))
        counts = {
            name: [_words(f"{page.title} {page.text}").count(word) for word in wanted]
            for name, page in self._pages.items()
        }
        whole = {name: each for name, each in counts.items() if each and all(each)}
        found = whole or {name: each for name, each in counts.items() if any(each)}
        ordered = sorted(
            ((name, float(sum(each))) for name, each in found.items()), key=lambda hit: (-hit[1], hit[0])
        )
        return ordered[:limit]

    def matches(self, query: str) -> int:
        return len(self.search(query, limit=len(self._pages)))

    def notes(self, names: Iterable[str]) -> dict[str, str | None]:
        return {name: self._notes.get(name) for name in names}

    def note_names(self) -> list[str]:
        return sorted(self._notes)

    def set_notes(self, notes: Notes) -> None:
        now: dict[str, str | None] = {**self._notes, **notes}
        self._notes = {name: value for name, value in now.items() if value is not None}

    def payloads(self, page_ids: Iterable[str]) -> dict[str, tuple[bytes, str]]:
        return {name: (page.payload, page.published) for name, page in self.get_many(page_ids).items()}

    def count(self) -> int:
        return len(self._pages)

    def refresh(self) -> None:
        pass

    def erase(self, page_ids: Iterable[str]) -> str:
        return ""

    def names_page(self, page_id: str) -> bool:
        return False

    # Index

    def change_clusters(self, changes: ClusterChanges, notes: Notes = NO_NOTES) -> None:
        edges = {**self._edges, **changes.edges}
        self._edges = {pair: edge for pair, edge in edges.items() if edge}
        assigned = {**self._assignments, **changes.assigned}
        self._assignments = {name: each for name, each in assigned.items() if each}
        self._log(changes.assigned)
        self.set_notes(notes)

    def edges_of(self, page_ids: Iterable[str]) -> list[Edge]:
        wanted = set(page_ids)
        return [edge for pair, edge in sorted(self._edges.items()) if not wanted.isdisjoint(pair)]

    def assignments(self, page_ids: Iterable[str]) -> dict[str, Assignment]:
        return {name: self._assignments[name] for name in page_ids if name in self._assignments}

    def members(self, cluster_ids: Iterable[str]) -> dict[str, list[Assignment]]:
        found: dict[str, list[Assignment]] = {name: [] for name in cluster_ids}
        for _, each in sorted(self._assignments.items()):
            if each.cluster_id in found:
                found[each.cluster_id].append(each)
        return {name: each for name, each in found.items() if each}

    def replace_all(self, edges: Iterable[Edge], assignments: Iterable[Assignment]) -> None:
        given = list(edges), list(assignments)
        gone = self._assignments
        self._edges, self._assignments = {}, {}
        self._log(gone)
        self.put_edges(given[0])
        self.assign_many(given[1])

    def clusters(self, *, min_size: int = 1, after: str | None = None) -> Iterator[list[Assignment]]:
        names = sorted({each.cluster_id for each in self._assignments.values()})
        for name in names:
            members = self.members([name])[name] if name > (after or "") else []
            if members and len(members) >= min_size:
                yield members

    def list_clusters(
        self, query: ClusterQuery, *, after: Place | None = None, limit: int = 50
    ) -> list[ClusterSummary]:
        scoped = query.order is ClusterOrder.NEWEST or query.scope != Scope()
        listed = []
        for members in self.clusters(min_size=query.min_size):
            records = self.get_many(each.page_id for each in members) if scoped else {}
            summary = _summary(query, members, records, scoped=scoped)
            if summary is not None and query.follows(query.place_of(summary), after):
                listed.append(summary)
        listed.sort(key=lambda each: each.id)
        listed.sort(key=lambda each: query.place_of(each)[0], reverse=query.order.descending)
        return listed[:limit]

    def cluster_sizes(self) -> Counter[int]:
        return Counter(map(len, self.clusters()))

    def duplicate_counts(self) -> tuple[Counter[str], Counter[str]]:
        sites: Counter[str] = Counter()
        months: Counter[str] = Counter()
        for members in self.clusters():
            copies = (each.page_id for each in members if each.page_id != each.canonical)
            for record in self.get_many(copies).values():
                sites[record.site] += 1
                months[record.published[:7]] += 1
        return sites, months

    # Index

    def _log(self, page_ids: Iterable[str]) -> None:
        for name in page_ids:
            number = self.changes_end().place + 1
            self._changed.pop(name, None)
            self._changed[name] = number

    def changes_end(self) -> Cursor:
        return Cursor(f"{id(self)}", max(self._changed.values(), default=0))

    def changes(self, since: Cursor | None = None) -> Iterator[ClusterChange]:
        last = self.changes_end()
        if since is not None and (since.log != last.log or since.place > last.place):
            since = Cursor(last.log, 0)
            yield ClusterChange(str(since))
        for name, number in list(self._changed.items()):
            if since is None or number > since.place:
                now, cursor = self._assignments.get(name), str(Cursor(last.log, number))
                if now is None:
                    yield ClusterChange(cursor, name)
                else:
                    yield ClusterChange(cursor, name, now.cluster_id, now.canonical, now.relation, now.score)

    def load_statistics(self) -> bytes | None:
        return self._statistics

    def save_statistics(self, snapshot: bytes, notes: Notes = NO_NOTES) -> None:
        self._statistics = snapshot
        self.set_notes(notes)

    def sizes(self) -> dict[str, int]:
        features = sum(len(page.payload) for page in self._pages.values())
        return {"features": features, "total": features}


def _record(batch: RecordBatch, at: int) -> FeatureRecord:
    published, site, language, skipped, url, title = (column[at] for column in batch.words)
    text = batch.texts[at] if len(batch.texts) else ""
    terms = batch.terms[batch.term_offsets[at] : batch.term_offsets[at + 1]]
    return FeatureRecord(
        batch.ids[at],
        batch.lengths[at],
        batch.content_hashes[at],
        tuple(map(int, terms)),
        batch.payloads[at],
        url=url,
        site=site,
        title=title,
        published=published,
        language=language,
        text=text if isinstance(text, str) else "",
        skipped=skipped,
    )


def _words(text: str) -> list[str]:
    """Letters and ideographs of a text as words, in lower case."""
    kept = "".join(char if char.isalnum() else " " for char in text.lower())
    return characters_apart([kept])[0].split()


def _summary(
    query: ClusterQuery, members: Sequence[Assignment], records: Mapping[str, FeatureRecord], *, scoped: bool
) -> ClusterSummary | None:
    others = [each for each in members if each.page_id != each.canonical]
    if query.relation is not None and all(each.relation != query.relation for each in others):
        return None
    times = [each.published for each in records.values() if includes(query.scope, each.site, each.published)]
    if scoped and not times:
        return None
    weakest = min(members, key=lambda each: (each.score, each.page_id == each.canonical, each.page_id))
    newest = max(times) if query.order is ClusterOrder.NEWEST else ""
    return ClusterSummary(
        weakest.cluster_id, weakest.canonical, len(members), newest, weakest.score, weakest.page_id
    )
