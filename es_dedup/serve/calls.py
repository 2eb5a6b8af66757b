"""What routes ask the library: from bytes and parameters to the answer, in the process that computes it; bytes are answered as they are."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from es_dedup.batch.overrides import PAGES
from es_dedup.errors import DedupError
from es_dedup.maintenance.context import overridden
from es_dedup.model.annotations import Label
from es_dedup.model.overrides import OverrideKind, OverrideReport
from es_dedup.model.plain import plain
from es_dedup.serve.bodies import ExplainBody, OverrideBody, PageBody, ReviewBody, UndoBody, lines_of
from es_dedup.serve.problems import InvalidBody, as_problem, problem_of
from es_dedup.views.cluster_json import cluster_as_dict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from es_dedup.deduplicator.deduplicator import Deduplicator
    from es_dedup.deduplicator.index_reader import IndexReader
    from es_dedup.model import AddReport, Decision, Page, PairDecision, Progress, RemoveReport
    from es_dedup.model.cluster_lists import ClusterQuery
    from es_dedup.settings import Settings


def encoded(answer: Any) -> bytes:
    """An answer as JSON in UTF-8; bytes as they are."""
    if isinstance(answer, bytes):
        return answer
    return json.dumps(plain(answer), ensure_ascii=False, allow_nan=False).encode()


def check(reader: IndexReader, body: bytes) -> Decision:
    """What a page is against all that is stored."""
    return reader.check(PageBody.read(body).page())


def check_lines(reader: IndexReader, lines: Sequence[tuple[int, bytes]]) -> bytes:
    """``check`` of numbered lines; a line of the answer for each, a decision or ``line`` with ``problem``."""
    pages: dict[int, Page] = {}
    answers: dict[int, Any] = {}
    for number, line in lines:
        try:
            pages[number] = PageBody.read(line).page()
        except InvalidBody as error:
            answers[number] = {"line": number, "problem": problem_of(error)}
    try:
        answers |= zip(pages, reader.check_many(pages.values()), strict=True)
    except (DedupError, TypeError, ValueError) as error:
        answers |= {number: {"line": number, "problem": problem_of(as_problem(error))} for number in pages}
    return b"".join(encoded(answers[number]) + b"\n" for number, _ in lines)


def explain(reader: IndexReader, body: bytes) -> PairDecision:
    """The relation of two pages with all evidence."""
    asked = ExplainBody.read(body)
    left, right = (
        side if isinstance(side, str) else side.page(side.id or name)
        for name, side in (("left", asked.left), ("right", asked.right))
    )
    return reader.explain(left, right, also=asked.also, without=asked.without)


def page(reader: IndexReader, page_id: str) -> dict[str, Any]:
    """What is stored of a page."""
    record = reader.record(page_id)
    names = ("page_id", "title", "url", "site", "published", "language", "skipped")
    stored = {name: getattr(record, name) for name in names}
    return stored | {"text": reader.text(page_id), "cluster_id": reader.cluster(page_id).id}


def cluster(reader: IndexReader, name: str, *, evidence: bool) -> dict[str, Any]:
    """A cluster by its id, or by that of a page in it."""
    return cluster_as_dict(reader, reader.cluster(name), evidence=evidence)


def clusters(reader: IndexReader, query: ClusterQuery, limit: int, after: str | None) -> dict[str, Any]:
    """Clusters in an order, and where to go on: ``next`` is what the next request has as ``after``, null at the end."""
    summaries = reader.list_clusters(query, after=after, limit=limit + 1)
    large = (each for each in reader.clusters_of(summaries[:limit]) if each.size >= query.min_size)
    listed = [cluster_as_dict(reader, each, evidence=False) for each in large]
    following = query.cursor(summaries[limit - 1]) if len(summaries) > limit else None
    return {"clusters": listed, "next": following}


def overrides(reader: IndexReader, *, undone: bool) -> dict[str, Any]:
    """Decisions of people, by time."""
    return {"overrides": reader.overrides(undone=undone)}


def override(
    dedup: Deduplicator, given: bytes | Mapping[str, Any], place: str, settings: Settings
) -> OverrideReport:
    """Record a decision; clusters, and documents of attached indices, follow at once.

    Raises:
        InvalidBody: another number of pages, or a passage of another kind than ``ignore``.
        DedupError: see ``Deduplicator.override_different``.
    """
    asked = OverrideBody.read(given)
    ignores = asked.kind is OverrideKind.IGNORE
    if (asked.site or asked.text) and not ignores:
        raise InvalidBody((f"site, text: are of ignore, not of {asked.kind}",))
    if len(asked.pages) != PAGES[asked.kind]:
        raise InvalidBody((f"pages: {asked.kind} takes {PAGES[asked.kind]} of them",))
    decided_on = (asked.site, asked.text) if ignores else asked.pages

    def decide(to: Deduplicator) -> OverrideReport:
        method: Callable[..., OverrideReport] = getattr(to, f"override_{asked.kind}")
        return method(*decided_on, reason=asked.reason, author=asked.author)

    return overridden(dedup, place, settings, decide)


def undo_override(
    dedup: Deduplicator, override_id: str, given: bytes | Mapping[str, Any], place: str, settings: Settings
) -> OverrideReport:
    """End an override, which stays in the record."""
    asked = UndoBody.read(given)

    def undo(to: Deduplicator) -> OverrideReport:
        return to.undo_override(override_id, reason=asked.reason, author=asked.author)

    return overridden(dedup, place, settings, undo)


def review(dedup: Deduplicator, asked: ReviewBody, place: str, settings: Settings) -> None:
    """Keep a reader's label of a pair; where wanted, first an override that says the same.

    Raises:
        InvalidBody: an override of a pair that is neither the same nor different.
        DedupError: see ``Deduplicator.annotate`` and ``override_different``.
    """
    new_override, label = "", Label(asked.answer)
    if asked.override:
        kind = {Label.DUP: OverrideKind.SAME, Label.DIFF: OverrideKind.DIFFERENT}.get(label)
        if kind is None:
            raise InvalidBody(("override: only of pairs that are the same or different",))
        known = {each.id for each in dedup.overrides()}
        decision = {"kind": kind, "pages": (asked.left, asked.right), "author": asked.reader}
        decision["reason"] = asked.reason or "review"
        (stored,) = override(dedup, decision, place, settings).overrides
        new_override = "" if stored.id in known else stored.id
    dedup.annotate(asked.left, asked.right, label, reader=asked.reader, override=new_override)


def undo_review(
    dedup: Deduplicator, reader: str, since: str, place: str, settings: Settings
) -> tuple[str, str] | None:
    """Take back the last label of a reader and the override that was made with it; its pair, None where it is older than ``since``."""
    given = [each for each in dedup.annotations() if each.reader == reader and each.time > since]
    if not given:
        return None
    last = given[-1]
    if last.override in {each.id for each in dedup.overrides()}:
        undo_override(dedup, last.override, {"author": reader, "reason": "review"}, place, settings)
    dedup.remove_annotation(*last.pair, reader=reader)
    return last.pair


class Interrupted(Exception):
    """Others wait; what was added so far is kept."""


def prepare_search(dedup: Deduplicator, busy: Callable[[], bool]) -> None:
    """Add new texts of a file to its full-text index, until others wait; a search says what is wrong."""

    def stop_if_busy(_: Progress) -> None:
        if busy():
            raise Interrupted

    with suppress(DedupError, Interrupted):
        dedup.prepare_search(stop_if_busy)


def add_page(dedup: Deduplicator, body: bytes, policy: str, page_id: str = "") -> AddReport:
    """Store one page; the report of the library."""
    report = dedup.add_many([PageBody.read(body).page(page_id)], policy=policy)
    if report.failed:
        raise InvalidBody(tuple(report.failed.values()))
    return report


def add_lines(dedup: Deduplicator, body: bytes, policy: str) -> dict[str, Any]:
    """Store the pages of NDJSON in one call; lines that are none are named in ``failed`` and the others are stored."""
    wrong: dict[str, str] = {}

    def pages() -> Iterator[Page]:
        for number, line in lines_of(body):
            try:
                yield PageBody.read(line).page()
            except InvalidBody as error:
                wrong[f"line {number}"] = "; ".join(error.problems)

    report: dict[str, Any] = plain(dedup.add_many(pages(), policy=policy))
    report["failed"] |= wrong
    report["read"] += len(wrong)
    return report


def remove_page(dedup: Deduplicator, page_id: str) -> RemoveReport:
    """Remove a page and repair its cluster.

    Raises:
        UnknownPage: it is not stored.
    """
    dedup.record(page_id)
    return dedup.remove(page_id)
