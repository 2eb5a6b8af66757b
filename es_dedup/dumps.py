"""``filter_dumps``: input dumps without their duplicates, in the same format and order."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections import Counter
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple, Self

from es_dedup.batch.copies import DistinctPages, page_digest
from es_dedup.deduplicator.deduplicator import Deduplicator
from es_dedup.errors import InputError
from es_dedup.model import Decision, Outcome, Page, PairDecision, Progress, Relation
from es_dedup.readers import InputFailure, ReadOptions, read_pages
from es_dedup.readers.dump_filter import DUMPS, copy_dump, reading_input
from es_dedup.readers.locations import files_of, located
from es_dedup.readers.port import KEPT_FAILURES, Tally, kind_of
from es_dedup.readers.streams import is_pipe, open_pipe, printable, suffix_of
from es_dedup.settings.loading import settings_in_force, without_texts
from es_dedup.temporary import temporary_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from es_dedup.deduplicator.index_reader import IndexReader
    from es_dedup.readers.locations import Source
    from es_dedup.readers.port import Item
    from es_dedup.settings import Settings

    _Decide = Callable[[Sequence[Page]], list["_Decided"]]
    """Decides on some pages with text, in the order of the dumps."""

PLACE: Final = ("file", "record", "id")
"""Keys of a record in reasons."""
_DROPPED, _KEPT = "the dropped record", "the kept one"
"""What records are called in reasons."""


@dataclass(frozen=True, slots=True)
class DumpCopy:
    """A dump and where its records go.

    Attributes:
        source: JSONL, JSON, CSV, TSV, Parquet or WARC, compressed too; a file, or the address of one (``s3://…``); a pipe, or ``-``, standard
            input: of the kind that ``ReadOptions.format`` or its content says.
        kept: the records that stay; None: nowhere.
        dropped: the records that are left out; None: nowhere.
    """

    source: str | Path
    kept: IO[bytes] | None = None
    dropped: IO[bytes] | None = None


@dataclass(slots=True)
class FilterReport:
    """What ``filter_dumps`` copied.

    Attributes:
        preset: the preset that decided, and what is set in place of its values.
        kept: pages that stay.
        dropped: pages that are left out as duplicates (with ``contained`` also as contained in another page).
        empty: of all pages those without text: nothing but white space was given. They stay, or are left out where that is asked for.
        shared_ids: with an index, pages whose id was read before with other content: they are compared by their content.
        unknown: pages that are not in the given index; they stay.
        failed: records that give no page. They are copied, but for what has no end (a line that is too long, a damaged place).
        failures: the first of these, each with its file and line.
        no_page: why records of archives hold no page (``status 404``), to the number of these; they are copied.
    """

    preset: str = ""
    kept: int = 0
    dropped: int = 0
    empty: int = 0
    shared_ids: int = 0
    unknown: int = 0
    failed: int = 0
    failures: list[InputFailure] = field(default_factory=list)
    no_page: Counter[str] = field(default_factory=Counter)


def filter_dumps(  # noqa: PLR0913 - options of one command
    copies: Sequence[DumpCopy],
    *,
    index: IndexReader | None = None,
    contained: bool = False,
    drop_empty: bool = False,
    options: ReadOptions | None = None,
    settings: Settings | None = None,
    progress: Callable[[Progress], None] | None = None,
    reasons: IO[bytes] | None = None,
) -> FilterReport:
    """Copy dumps without the duplicates among all their pages.

    Without ``index`` the dumps are read twice: their pages are scanned into a temporary index, then records are copied. A record is what
    stands at its place: ids and URLs may be missing or repeat. The canonical document of each cluster stays, see section ``cluster`` of
    the settings for which page that is; of equal records the first; otherwise their order does not matter. Standard input and what addresses name are stored in temporary
    files. With ``index`` the dumps are read once, and ids say which pages of it the records are.

    Args:
        copies: the dumps; their pages are compared with each other.
        index: into which they were scanned or added before; its clusters decide, and pages of it that are in no dump count, too.
        contained: also leave out pages that are contained in a longer page.
        drop_empty: also leave out records whose text is empty.
        options: how pages are read.
        settings: of the temporary index; None: those in force.
        progress: called with the progress of the scan.
        reasons: gets a line of JSON for each record that is left out: its place and id, those of the record that stays in its place, how the
            two are related, and why.

    Raises:
        InputError: a source cannot be copied.
        MissingExtra: a package that reads or writes a format is not installed.
    """
    options, report = options or ReadOptions(), FilterReport()
    with ExitStack() as stack:
        folder = stack.enter_context(temporary_folder("filter"))
        files = [_file_of(each.source, folder / str(number), options) for number, each in enumerate(copies)]
        decide: _Decide
        if index is None:
            if options.id_from == "field":
                options = replace(options, id_from="either")
            scanned = _scanned(files, folder, options, settings, progress, contained)
            index, decide = stack.enter_context(scanned)
        else:
            decide = _ById(index, report, contained=contained)
        report.preset = index.preset
        noted = None
        if reasons is not None:
            noted = stack.enter_context(_Reasons(folder / "reasons.db", index, drop_empty=drop_empty))
        for each, file in zip(copies, files, strict=True):
            tally = Tally(no_page=report.no_page)
            drops = _Drops(printable(str(each.source)), decide, report, noted, drop_empty=drop_empty)
            try:
                copy_dump(file, replace(options, tally=tally), drops, each.kept, each.dropped)
            except InputError as error:
                raise InputError(str(each.source), error.line, error.problem) from error
        if noted is not None and reasons is not None:
            noted.write(reasons)
        return report


def _file_of(source: str | Path, folder: Path, options: ReadOptions) -> Path:
    """The file itself, which can be copied; what is not local is stored in a new folder."""
    dump, *further_dumps = _dumps([source], options)
    if further_dumps:
        raise InputError(str(source), None, "names several dumps: copy each to a target of its own")
    if isinstance(dump, Path) and not is_pipe(dump):
        return dump
    folder.mkdir()
    piped = open_pipe(dump, kind_of(dump, options)) if isinstance(dump, Path) else nullcontext(dump)
    with reading_input(str(source)), piped as content_of:
        path = folder / (content_of.name if content_of else "empty.jsonl")
        with path.open("wb") as stream, content_of.open("rb") if content_of else BytesIO() as content:
            shutil.copyfileobj(content, stream)
    return path


def dump_names(sources: Iterable[str | Path], options: ReadOptions) -> list[str]:
    """The dumps that paths, addresses and patterns name, each once.

    Raises:
        InputError: one is not there, or is no dump that can be copied.
        MissingExtra: the package of a storage is not installed.
    """
    return list(dict.fromkeys(map(str, _dumps(sources, options))))


def _dumps(sources: Iterable[str | Path], options: ReadOptions) -> list[Source]:
    dumps: list[Source] = []
    for place in located(sources):
        with reading_input(str(place)):
            dumps += files_of(place)[0]
    for dump in dumps:
        if isinstance(dump, Path) and is_pipe(dump) and kind_of(dump, options) in ("", *DUMPS):
            continue
        no_file = isinstance(dump, Path) and not dump.is_file()
        if no_file or (options.format is None and suffix_of(dump) not in DUMPS):
            problem = f"not a dump that can be copied; name a file {' '.join(DUMPS)}. For page files use `es-dedup index export --what keep`"
            raise InputError(str(dump), None, problem)
    return dumps


class _Decided(NamedTuple):
    """What becomes of a page of a dump.

    Attributes:
        page: its id in the index, or that of a page with equal content; empty where there is none.
        kept: the id of the page that stays in its place; None: it stays itself.
        relation: of the page to that.
        equal: whether its content and metadata are those of a page before it.
        decision: on the pair, where it is at hand.
    """

    page: str
    kept: str | None = None
    relation: Relation = Relation.EXACT
    equal: bool = False
    decision: PairDecision | None = None


@contextmanager
def _scanned(
    files: Sequence[Path],
    folder: Path,
    options: ReadOptions,
    settings: Settings | None,
    progress: Callable[[Progress], None] | None,
    contained: bool,  # noqa: FBT001 - given by place
) -> Iterator[tuple[IndexReader, _Decide]]:
    """A temporary index with the distinct pages of some files, and decisions on these pages when they are read again in the same order."""
    settings = without_texts(settings_in_force(settings))
    with Deduplicator.open(folder / "pages.db", settings=settings) as dedup:
        read = (each for each in read_pages(files, options) if not isinstance(each, InputFailure))
        distinct = DistinctPages()
        dedup.scan(distinct.first_pages(read), progress=progress)

        def decide(pages: Sequence[Page]) -> list[_Decided]:
            """For each page; copies of one that came before are left out."""
            named: list[tuple[str, bool]] = []
            for page in pages:
                try:
                    named.append(distinct.id_again(page))
                except KeyError:
                    problem = f"{page.id} has changed since it was first read: nothing was decided on it"
                    raise InputError("", None, problem) from None
            _, dropped = dedup.redundant({name for name, _ in named}, contained=contained)
            return [_decided(name, dropped, copy=not first) for name, first in named]

        yield dedup, decide


class _ById:
    """Decisions on pages that are stored under their ids."""

    def __init__(self, index: IndexReader, report: FilterReport, *, contained: bool) -> None:
        self._index, self._report, self._contained = index, report, contained
        self._digests: dict[str, bytes] = {}

    def __call__(self, pages: Sequence[Page]) -> list[_Decided]:
        """For each page: the first one of an id as that is clustered; a copy of it is left out; others are compared with all other ids."""
        first_ids, shared, copies = set[str](), list[int](), set[int]()
        for at, page in enumerate(pages):
            digest = page_digest(page)
            if page.id not in self._digests:
                self._digests[page.id] = digest
                first_ids.add(page.id)
            elif self._digests[page.id] == digest:
                copies.add(at)
            else:
                shared.append(at)
        known, dropped = self._index.redundant({each.id for each in pages}, contained=self._contained)
        decided = [_decided(page.id, dropped, copy=at in copies) for at, page in enumerate(pages)]
        for at, decision in zip(shared, self._index.check_many([pages[at] for at in shared]), strict=True):
            decided[at] = self._not_stored(decision)
        self._report.unknown += len(first_ids - known)
        self._report.shared_ids += len(shared)
        return decided

    def _not_stored(self, decision: Decision) -> _Decided:
        """What becomes of a page that is compared by its content."""
        outer = decision.contained_in if self._contained and decision.outcome is Outcome.CONTAINED else ()
        related = decision.duplicate_of if decision.outcome is Outcome.DUPLICATE else next(iter(outer), None)
        if related is None:
            return _Decided("")
        _, dropped = self._index.redundant([related], contained=self._contained)
        relation = Relation.CONTAINED if outer or related in dropped else Relation.DUPLICATE
        pair = next((pair for pair in decision.verdicts if pair.right == related), None)
        return _Decided("", dropped.get(related, (related, relation))[0], relation, decision=pair)


def _decided(name: str, dropped: Mapping[str, tuple[str, Relation]], *, copy: bool) -> _Decided:
    """The decision on a stored page, or on a copy of it."""
    if name not in dropped and not copy:
        return _Decided(name)
    return _Decided(name, *dropped.get(name, (name, Relation.EXACT)), copy)


class _Reasons:
    """All records in a temporary table, and why some are left out: which record stays for them is known by its place only in the end."""

    def __init__(self, file: Path, index: IndexReader, *, drop_empty: bool) -> None:
        self._index, self._empty = index, _reason(None, "its text is empty") if drop_empty else None
        self._rows = sqlite3.connect(file)
        self._rows.execute("CREATE TABLE rows (file, record, id, name, kept, why)")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._rows.close()

    def add(self, file: str, pages: Mapping[int, Page], decided: Mapping[int, _Decided]) -> None:
        """Note some records of a dump, by their numbers; ``decided`` has those with text."""
        named = ((each.page, each.kept) for each in decided.values() if each.page)
        pairs = dict.fromkeys((page, kept) for page, kept in named if kept not in (None, page))
        decisions = self._index.decisions_among(list(pairs)) if pairs else {}
        for number, page in pages.items():
            each, why = decided.get(number, _Decided("")), None if number in decided else self._empty
            if each.kept is not None:
                why = _why(each, each.decision or decisions.get((each.page, each.kept)))
            row = (file, number, page.id, each.page, each.kept, why and json.dumps(why))
            self._rows.execute("INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?)", row)

    def write(self, stream: IO[bytes]) -> None:
        """One line of JSON for each record that is left out; what stays for it may be a page of the index that is in no dump."""
        self._rows.execute("CREATE INDEX kept_rows ON rows (name) WHERE why IS NULL")
        rows = self._rows.execute(
            "SELECT dropped.file, dropped.record, dropped.id, dropped.why, dropped.kept, stays.file, stays.record, stays.id FROM rows AS dropped "
            "LEFT JOIN rows AS stays ON stays.name = dropped.kept AND stays.why IS NULL WHERE dropped.why IS NOT NULL ORDER BY dropped.rowid"
        )
        for file, record, page_id, why, name, *stays in rows:
            kept = None if name is None else dict(zip(PLACE, (*stays[:2], stays[2] or name), strict=True))
            line = {**dict(zip(PLACE, (file, record, page_id), strict=True)), "kept": kept, **json.loads(why)}
            stream.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")


def _why(duplicate: _Decided, decision: PairDecision | None) -> dict[str, Any]:
    """Why a record is left out, as its line of JSON has it; ``decision`` is on its page, or the one that it equals, and the page that stays."""
    if duplicate.page == duplicate.kept:
        return _reason(Relation.EXACT, "content and metadata are equal", 1.0, (1.0, 1.0))
    words = "content and metadata equal those of a record before it; " if duplicate.equal else ""
    if decision is None:  # another process has removed one of the two
        return _reason(duplicate.relation, f"{words}decided before")
    if not decision.relation.same and decision.relation is not duplicate.relation:
        words += "the canonical document of its cluster is contained in the kept one; these two: "
    words += "; ".join(replace(decision, left=_DROPPED, right=_KEPT).explanation)
    return _reason(duplicate.relation, words, decision.score, decision.shares)


def _reason(
    relation: Relation | None,
    words: str,
    score: float | None = None,
    shares: tuple[float | None, float | None] | None = None,
) -> dict[str, Any]:
    shared = dict(zip(("shared_of_dropped", "shared_of_kept"), shares or (None, None), strict=True))
    return {"relation": relation and str(relation), "score": score, **shared, "reason": words}


class _Drops:
    """Says which records of one dump are left out, and counts them."""

    def __init__(
        self, dump: str, decide: _Decide, report: FilterReport, reasons: _Reasons | None, *, drop_empty: bool
    ) -> None:
        self._dump, self._decide, self._report, self._reasons = dump, decide, report, reasons
        self._drop_empty, self._records = drop_empty, 0

    def __call__(self, items: Sequence[Item | None]) -> list[bool]:
        """Whether each record is left out; None is no page."""
        report = self._report
        numbered = dict(enumerate(items, self._records + 1))
        self._records += len(items)
        for item in items:
            if isinstance(item, InputFailure):
                report.failed += 1
                if len(report.failures) < KEPT_FAILURES:
                    report.failures.append(replace(item, source=self._dump))
        pages = {number: item for number, item in numbered.items() if isinstance(item, Page)}
        full = {number: page for number, page in pages.items() if not page.is_empty}
        decided = dict(zip(full, self._decide(list(full.values())), strict=True))
        if self._reasons is not None:
            self._reasons.add(self._dump, pages, decided)
        dropped = {number for number, each in decided.items() if each.kept is not None}
        if self._drop_empty:
            dropped |= pages.keys() - full.keys()
        report.empty += len(pages) - len(full)
        report.dropped += len(dropped)
        report.kept += len(pages) - len(dropped)
        return [number in dropped for number in numbered]
