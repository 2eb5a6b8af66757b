"""From stored features to edges and clusters: for the whole corpus at once, or for a few new pages.

Both use the same candidates' terms, the same judge and the same star clustering. A full run learns new statistics;
a partial one uses those at hand. ``Deduplicator`` chooses the full run when a fifth of the corpus is new, so its cost
per page stays constant as the corpus grows.
"""

from __future__ import annotations

import secrets
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from es_dedup.batch.featurise import day_of
from es_dedup.batch.join import candidate_pairs
from es_dedup.batch.verify import BLOCK, Verified, verify_by
from es_dedup.clustering import (
    Neighbourhood,
    PageKey,
    canonical_order,
    cluster_all,
    repair,
    same_neighbours,
    settle,
)
from es_dedup.decision.comparison import Pages
from es_dedup.decision.statistics import Statistics, learn
from es_dedup.decision.term_use import TermUse
from es_dedup.detectors.features import FeatureTable, unpack
from es_dedup.model import Progress
from es_dedup.settings.recorded import STATISTICS, clustered_with
from es_dedup.text.hashing import hash64

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from es_dedup.decision.candidate_search import Lookup
    from es_dedup.index.port import Assignment, FeatureRecord, Index
    from es_dedup.model import Edge
    from es_dedup.settings import Settings

    Listener = Callable[[Progress], None]

UNSETTLED: Final = "unsettled"  # note: pages were stored or removed whose clusters are not made yet
SESSION: Final = "session"  # note: the last write session that changed pages or clusters
LOOKUP_PAGES: Final = 64  # pages probed and compared at a time in a partial run


@dataclass(frozen=True, slots=True)
class Corpus:
    """Feature rows of pages with what clustering and statistics need beside them."""

    pages: Pages
    keys: list[PageKey]
    sites: list[str]


@dataclass(frozen=True, slots=True)
class Settled:
    """What a run did.

    Attributes:
        statistics: those the pairs were judged with.
        edges: related pairs found.
        pairs: pairs compared.
        capped_terms, truncated: as in ``AddReport``.
        inconclusive: new pages whose candidate list was cut without a related page in it.
        assigned: all assignments by page id, where the run made them all and keeps them.
        stored, related: pages and edges, of a run that does not keep them.
        use: what methods asked for, and what was left out; of a full run of those with limits of their own.
    """

    statistics: Statistics
    edges: list[Edge]
    pairs: int
    capped_terms: int = 0
    truncated: int = 0
    inconclusive: frozenset[str] = frozenset()
    assigned: Mapping[str, Assignment] | None = None
    stored: int = 0
    related: int = 0
    use: TermUse = field(default_factory=TermUse)


@contextmanager
def write_session(index: Index) -> Iterator[None]:
    """Change pages and clusters while no other session does; sees what the sessions before have changed.

    A note tells whoever has looked at the index without a session, as the hook does, that it has changed since.

    Raises:
        IndexLocked: another session did not finish in time.
    """
    with index.writing():
        index.set_note(SESSION, secrets.token_hex(8))
        index.refresh_clusters()
        yield


@contextmanager
def unsettled(index: Index) -> Iterator[None]:
    """Leave a note while stored pages and their clusters may disagree; it stays when the block is not finished.

    Whoever opens the index for writing and finds it reclusters. Inside another such block it does nothing.
    """
    if index.note(UNSETTLED) is not None:
        yield
        return
    index.set_note(UNSETTLED, "1")
    yield
    index.set_note(UNSETTLED, None)


def key_of(record: FeatureRecord) -> PageKey:
    """What the canonical order looks at, of a stored page."""
    return PageKey(record.page_id, record.published, record.site, record.url, record.length)


def load_corpus(index: Index) -> Corpus:
    """All stored pages, those too that other processes have stored a moment ago."""
    index.refresh()
    keys: list[PageKey] = []
    tables: list[FeatureTable] = []
    for records in index.scan(batch=2_000):
        keys += map(key_of, records)
        tables.append(unpack([record.payload for record in records]))
    table = FeatureTable.concatenate(tables) if tables else unpack([])
    return corpus_of(keys, table)


def corpus_of(keys: list[PageKey], table: FeatureTable, named: Sequence[Mapping[str, Any]] = ()) -> Corpus:
    """A corpus of rows at hand."""
    days = np.array([day_of(key.published) for key in keys], dtype=np.int64)
    return Corpus(Pages([key.page_id for key in keys], table, days, named), keys, [key.site for key in keys])


def settle_corpus(
    index: Index,
    corpus: Corpus,
    settings: Settings,
    listener: Listener | None = None,
    *,
    fresh: bool = False,
    found: Settled | None = None,
) -> Settled:
    """Learn statistics, find and judge all pairs, cluster everything, and store the result.

    Args:
        index: holds the pages of the corpus.
        corpus: all stored pages.
        settings: detectors, decision settings and canonical order; the index records them.
        listener: told of progress.
        fresh: no page was clustered before; else cluster ids are kept where they can be.
        found: what ``judge_corpus`` has found in this corpus already.
    """
    tell, total = listener or _silent, len(corpus.keys)
    if found is None:
        found = judge_corpus(corpus, settings, tell)
    tell(Progress("cluster", 0, total))
    if fresh:
        assigned = cluster_all(corpus.keys, found.edges, settings.cluster)
    else:
        assigned = _recluster(index, corpus, found.edges, settings)
    index.save_statistics(found.statistics.to_bytes())
    index.set_note(STATISTICS, clustered_with(found.statistics.version, settings))
    index.replace_all(found.edges, assigned.values())
    tell(Progress("cluster", total, total))
    return replace(found, assigned=assigned)


def judge_corpus(
    corpus: Corpus, settings: Settings, tell: Listener, statistics: Statistics | None = None
) -> Settled:
    """Find and judge all related pairs among these pages; without ``statistics``, theirs are learned."""
    pages, total = corpus.pages, len(corpus.keys)
    tell(Progress("join", 0, total))
    with ThreadPoolExecutor(2) as pool:  # ranks and statistics do not need each other
        ranking = pool.submit(_ranks, corpus, settings)
        known = statistics or _learn(corpus, settings)
        ranks = ranking.result()
    weights = known.weights(pages.table.coverage)
    joined = candidate_pairs(pages.table, settings, ranks, weights)
    tell(Progress("join", total, total))
    verifier = partial(verify_by, known, settings, pages, weights=weights)
    found = _verify_all(joined.left, joined.right, verifier, settings, tell)
    return Settled(known, found.edges(pages.ids), len(joined.left), joined.capped_terms, use=joined.use)


def settle_new(
    index: Index,
    new_ids: Sequence[str],
    neighbours: Iterable[str],
    lookup: Lookup,
    settings: Settings,
    listener: Listener | None = None,
) -> Settled:
    """Find, judge and cluster pages that were just stored, each against all that is stored.

    Args:
        index: holds them.
        new_ids: new or replaced pages; their edges are made anew.
        neighbours: pages that had an edge to a replaced page.
        lookup: finds and compares stored pages.
        settings: canonical order.
        listener: told of progress.
    """
    tell = listener or _silent
    edges: dict[tuple[str, str], Edge] = {}
    inconclusive: list[str] = []
    pairs = capped = truncated = 0
    use = TermUse()
    for start in range(0, len(new_ids), LOOKUP_PAGES):
        some = new_ids[start : start + LOOKUP_PAGES]
        found = lookup.of_stored(some)
        edges.update(((edge.left, edge.right), edge) for edge in found.edges())
        pairs += found.pairs
        capped += found.capped_terms
        truncated += found.truncated
        use = sum(found.use, use)
        inconclusive += (found.asked.ids[row] for row in found.inconclusive)
        tell(Progress("verify", start + len(some), len(new_ids)))
    index.put_edges(edges.values())
    repair_around(index, {*new_ids, *neighbours}, lookup, settings)
    cut = frozenset(inconclusive)
    return Settled(lookup.statistics, list(edges.values()), pairs, capped, truncated, cut, use=use)


def repair_around(index: Index, touched: Collection[str], lookup: Lookup, settings: Settings) -> int:
    """Cluster stored pages around a change again; returns how many clusters changed.

    Pages that lost the one page they were all compared with (copies of a very common page are compared with its first
    copies only) are looked up once more, so that they find each other.

    Args:
        index: with the new edges in it and those of removed pages gone.
        touched: pages that are new, and stored pages that had an edge to a page that was replaced or removed.
        lookup: finds and compares stored pages.
        settings: canonical order.
    """
    before = index.assignments(touched)
    change = settle(index, partial(page_keys, index), touched, settings.cluster)
    index.assign_many(change.assignments)
    changed = {assignment.cluster_id for assignment in change.assignments} | set(change.retired)
    alone = [
        each.page_id
        for each in change.assignments
        if each.page_id == each.representative
        and each.page_id in before
        and before[each.page_id].representative != each.page_id
    ]
    if len(alone) > 1:
        for start in range(0, len(alone), LOOKUP_PAGES):
            index.put_edges(lookup.of_stored(alone[start : start + LOOKUP_PAGES]).edges())
        change = settle(index, partial(page_keys, index), alone, settings.cluster)
        index.assign_many(change.assignments)
        changed |= {assignment.cluster_id for assignment in change.assignments} | set(change.retired)
    return len(changed)


def edge_neighbours(index: Index, page_ids: Collection[str]) -> set[str]:
    """Pages with an exact or duplicate edge to any of these."""
    return same_neighbours(index.edges_of(page_ids), set(page_ids)) - set(page_ids)


def page_keys(index: Index, page_ids: Iterable[str]) -> dict[str, PageKey]:
    """What the canonical order looks at, of the stored ones among these pages."""
    return {page_id: key_of(record) for page_id, record in index.get_many(page_ids).items()}


def _learn(corpus: Corpus, settings: Settings) -> Statistics:
    ids = np.array([hash64(page_id) for page_id in corpus.pages.ids], dtype=np.uint64)
    return learn(corpus.pages.table, ids, corpus.pages.days, corpus.sites, settings.ccdet)


def _ranks(corpus: Corpus, settings: Settings) -> np.ndarray:
    """Place of each row in canonical order."""
    place = {key.page_id: at for at, key in enumerate(canonical_order(corpus.keys, settings.cluster))}
    return np.array([place[page_id] for page_id in corpus.pages.ids], dtype=np.int64)


def _verify_all(
    left: np.ndarray,
    right: np.ndarray,
    verifier: Callable[[np.ndarray, np.ndarray], Verified],
    settings: Settings,
    tell: Listener,
) -> Verified:
    """Blocks of pairs on several threads: the array operations run outside the interpreter's lock."""
    starts = range(0, len(left), BLOCK)
    done = 0
    parts = []
    with ThreadPoolExecutor(settings.workers or None) as pool:
        for part in pool.map(
            lambda start: verifier(left[start : start + BLOCK], right[start : start + BLOCK]),
            starts,
        ):
            parts.append(part)
            done = min(done + BLOCK, len(left))
            tell(Progress("verify", done, len(left)))
    return Verified.concatenate(parts)


def _recluster(
    index: Index, corpus: Corpus, edges: Sequence[Edge], settings: Settings
) -> dict[str, Assignment]:
    """All assignments by page id, the changed and the unchanged."""
    current = index.assignments(corpus.pages.ids)
    change = repair(Neighbourhood(tuple(corpus.keys), tuple(edges), current), settings.cluster)
    return {**current, **{assignment.page_id: assignment for assignment in change.assignments}}


def _silent(_: Progress) -> None:
    return None
