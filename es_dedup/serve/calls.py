"""What each route asks the library: from bytes and parameters to the JSON of the answer, in the process that computes it."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from es_dedup.batch.annotations import read_jsonl
from es_dedup.batch.overrides import PAGES
from es_dedup.errors import DedupError
from es_dedup.maintenance.documents import overridden
from es_dedup.model.annotations import Label
from es_dedup.model.overrides import OverrideKind
from es_dedup.model.plain import plain
from es_dedup.report.clusters import cluster_as_dict
from es_dedup.serve.bodies import ExplainBody, LabelBody, OverrideBody, PageBody, UndoBody, lines_of
from es_dedup.serve.problems import InvalidBody, as_problem, problem_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from es_dedup.deduplicator.deduplicator import Deduplicator
    from es_dedup.deduplicator.index_reader import IndexReader
    from es_dedup.model import Page, Progress
    from es_dedup.model.cluster_lists import ClusterQuery
    from es_dedup.model.overrides import OverrideReport
    from es_dedup.serve.bodies import ReviewBody
    from es_dedup.settings import Settings


def as_json(value: Any) -> bytes:
    """A value as JSON in UTF-8."""
    return json.dumps(plain(value), ensure_ascii=False, allow_nan=False).encode()


def check(reader: IndexReader, body: bytes) -> bytes:
    """What a page is against all that is stored."""
    return as_json(reader.check(PageBody.read(body).page()))


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
    return b"".join(as_json(answers[number]) + b"\n" for number, _ in lines)


def explain(reader: IndexReader, body: bytes) -> bytes:
    """The relation of two pages with all evidence."""
    asked = ExplainBody.read(body)
    left, right = (
        side if isinstance(side, str) else side.page(side.id or name)
        for name, side in (("left", asked.left), ("right", asked.right))
    )
    return as_json(reader.explain(left, right, also=asked.also, without=asked.without))


def page(reader: IndexReader, page_id: str) -> bytes:
    """What is stored of a page."""
    record = reader.record(page_id)
    names = ("page_id", "title", "url", "site", "published", "language", "skipped")
    stored = {name: getattr(record, name) for name in names}
    return as_json(stored | {"text": reader.text(page_id), "cluster_id": reader.cluster(page_id).id})


def cluster(reader: IndexReader, name: str, evidence: bool) -> bytes:  # noqa: FBT001 - sent to a process by position
    """A cluster by its id, or by that of a page in it."""
    return as_json(cluster_as_dict(reader, reader.cluster(name), evidence=evidence))


def clusters(reader: IndexReader, query: ClusterQuery, limit: int, after: str | None) -> bytes:
    """Clusters in an order, and where to go on: ``next`` is what the next request has as ``after``, null at the end."""
    found = reader.list_clusters(query, after=after, limit=limit + 1)
    shown = (each for each in reader.clusters_of(found[:limit]) if each.size >= query.min_size)
    listed = [cluster_as_dict(reader, each, evidence=False) for each in shown]
    following = query.cursor(found[limit - 1]) if len(found) > limit else None
    return as_json({"clusters": listed, "next": following})


def search(reader: IndexReader, query: str, limit: int, offset: int, collapse: bool) -> bytes:  # noqa: FBT001
    """Full-text search, one hit per cluster when collapsed."""
    return as_json(reader.search(query, limit=limit, offset=offset, collapse=collapse))


def overrides(reader: IndexReader, undone: bool) -> bytes:  # noqa: FBT001
    """Decisions of people, by time."""
    return as_json({"overrides": reader.overrides(undone=undone)})


def labels(reader: IndexReader, lines: bool) -> bytes:  # noqa: FBT001
    """What readers said of pairs, by time; with ``lines`` as NDJSON, with what they took back, to be imported elsewhere."""
    if lines:
        return b"".join(as_json(each) + b"\n" for each in reader.annotations(removed=True))
    return as_json({"labels": reader.annotations()})


def add_label(dedup: Deduplicator, body: bytes) -> bytes:
    """Keep what a reader says of two stored pages."""
    asked = LabelBody.read(body)
    return as_json(dedup.annotate(asked.id_a, asked.id_b, asked.label, reader=asked.reader))


def import_labels(dedup: Deduplicator, body: bytes) -> bytes:
    """Take over labels of another index or a file: all lines or, where one is none, nothing.

    Raises:
        InputError: a line that is no label.
    """
    lines = body.decode("utf-8", "surrogateescape").split("\n")
    return as_json({"imported": dedup.import_annotations(list(read_jsonl(lines, "line")))})


def remove_label(dedup: Deduplicator, left: str, right: str, reader: str) -> bytes:
    """Take back what a reader said of two pages."""
    return as_json({"removed": int(dedup.remove_annotation(left, right, reader=reader))})


def override(dedup: Deduplicator, body: bytes, place: str, settings: Settings) -> bytes:
    """Record a decision; clusters, and documents of attached indices, follow at once.

    Raises:
        InvalidBody: another number of pages, or a passage of another kind than ``ignore``.
        DedupError: see ``Deduplicator.override_different``.
    """
    return as_json(_decide(dedup, OverrideBody.read(body), place, settings))


def _decide(dedup: Deduplicator, asked: OverrideBody, place: str, settings: Settings) -> OverrideReport:
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
    dedup: Deduplicator, override_id: str, body: bytes, place: str, settings: Settings
) -> bytes:
    """End an override, which stays in the record."""
    asked = UndoBody.read(body)
    return as_json(_undo(dedup, override_id, asked.author, asked.reason, place, settings))


def _undo(
    dedup: Deduplicator, override_id: str, author: str, reason: str, place: str, settings: Settings
) -> OverrideReport:
    def undo(to: Deduplicator) -> OverrideReport:
        return to.undo_override(override_id, reason=reason, author=author)

    return overridden(dedup, place, settings, undo)


def review(dedup: Deduplicator, asked: ReviewBody, place: str, settings: Settings) -> bytes:
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
        reason, pages = asked.reason or "review", (asked.left, asked.right)
        decision = OverrideBody(kind=kind, pages=pages, reason=reason, author=asked.reader)
        (stored,) = _decide(dedup, decision, place, settings).overrides
        new_override = "" if stored.id in known else stored.id
    dedup.annotate(asked.left, asked.right, label, reader=asked.reader, override=new_override)
    return b""


def undo_review(dedup: Deduplicator, reader: str, since: str, place: str, settings: Settings) -> bytes:
    """Take back the last label of a reader and the override that was made with it; its pair, null where it is older than ``since``."""
    given = [each for each in dedup.annotations() if each.reader == reader and each.time > since]
    if not given:
        return as_json({"pair": None})
    last = given[-1]
    if last.override in {each.id for each in dedup.overrides()}:
        _undo(dedup, last.override, reader, "review", place, settings)
    dedup.remove_annotation(*last.pair, reader=reader)
    return as_json({"pair": last.pair})


class Interrupted(Exception):
    """Others wait; what was added so far is kept."""


def prepare_search(dedup: Deduplicator, busy: Callable[[], bool]) -> None:
    """Add new texts of a file to its full-text index, until others wait; a search says what is wrong."""

    def stop_if_busy(_: Progress) -> None:
        if busy():
            raise Interrupted

    with suppress(DedupError, Interrupted):
        dedup.prepare_search(stop_if_busy)


def count(reader: IndexReader) -> bytes:
    """Number of stored pages: the index answers."""
    return as_json({"pages": reader.count()})


def add_page(dedup: Deduplicator, body: bytes, policy: str, page_id: str = "") -> bytes:
    """Store one page; the report of the library."""
    report = dedup.add_many([PageBody.read(body).page(page_id)], policy=policy)
    if report.failed:
        raise InvalidBody(tuple(report.failed.values()))
    return as_json(report)


def add_lines(dedup: Deduplicator, body: bytes, policy: str) -> bytes:
    """Store the pages of NDJSON in one call; lines that are none are named in ``failed`` and the others are stored."""
    wrong: dict[str, str] = {}

    def pages() -> Iterator[Page]:
        for number, line in lines_of(body):
            try:
                yield PageBody.read(line).page()
            except InvalidBody as error:
                wrong[f"line {number}"] = "; ".join(error.problems)

    report = plain(dedup.add_many(pages(), policy=policy))
    report["failed"] |= wrong
    report["read"] += len(wrong)
    return as_json(report)


def remove_page(dedup: Deduplicator, page_id: str) -> bytes:
    """Remove a page and repair its cluster.

    Raises:
        UnknownPage: it is not stored.
    """
    dedup.record(page_id)
    return as_json(dedup.remove(page_id))
