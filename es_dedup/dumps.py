"""``filter_dumps``: input dumps without their duplicates, in the same format and order."""

from __future__ import annotations

import shutil
from collections import Counter
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from es_dedup.batch.copies import DistinctPages, page_digest
from es_dedup.deduplicator.deduplicator import Deduplicator
from es_dedup.errors import InputError
from es_dedup.model import Outcome, Page
from es_dedup.readers import InputFailure, ReadOptions, read_pages
from es_dedup.readers.dump_filter import DUMPS, copy_dump
from es_dedup.readers.locations import Address, is_pattern, located, matches
from es_dedup.readers.port import Tally, kind_of
from es_dedup.readers.streams import STDIN, is_pipe, open_pipe, plain_problem, suffix_of
from es_dedup.settings.loading import settings_in_force
from es_dedup.temporary import temporary_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from es_dedup.deduplicator.index_reader import IndexReader
    from es_dedup.model import Progress
    from es_dedup.readers.locations import Named, Source
    from es_dedup.readers.port import Item
    from es_dedup.settings import Settings

KEPT_FAILURES: Final = 1000
PLACE_DIGITS: Final = 15
_EMPTY: Final = "empty.jsonl"


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
        kept: pages that stay.
        dropped: pages that are left out as duplicates (with ``contained`` also as contained in another page).
        empty: of all pages those without text: nothing but white space was given. They stay, or are left out where that is asked for.
        shared_ids: with an index, pages whose id was read before with other content: they are compared by their content.
        unknown: pages that are not in the given index; they stay.
        failed: records that give no page. They are copied, but for what has no end (a line that is too long, a damaged place).
        failures: the first of these, each with its file and line.
        no_page: why records of archives hold no page (``status 404``), to the number of these; they are copied.
    """

    kept: int = 0
    dropped: int = 0
    empty: int = 0
    shared_ids: int = 0
    unknown: int = 0
    failed: int = 0
    failures: list[InputFailure] = field(default_factory=list)
    no_page: Counter[str] = field(default_factory=Counter)


def filter_dumps(
    copies: Sequence[DumpCopy],
    *,
    index: IndexReader | None = None,
    contained: bool = False,
    drop_empty: bool = False,
    options: ReadOptions | None = None,
    settings: Settings | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> FilterReport:
    """Copy dumps without the duplicates among all their pages.

    Without ``index`` the dumps are read twice: their pages are scanned into a temporary index, then records are copied. A record is what
    stands at its place: ids and URLs may be missing or repeat. The canonical document of each cluster stays, see section ``cluster`` of
    the settings for which page that is; of equal records the first. Standard input and what addresses name are stored in temporary
    files. With ``index`` the dumps are read once, and ids say which pages of it the records are.

    Args:
        copies: the dumps; their pages are compared with each other.
        index: into which they were scanned or added before; its clusters decide, and pages of it that are in no dump count, too.
        contained: also leave out pages that are contained in a longer page.
        drop_empty: also leave out records whose text is empty.
        options: how pages are read.
        settings: of the temporary index; None: those in force.
        progress: called with the progress of the scan.

    Raises:
        InputError: a source cannot be copied.
        MissingExtra: a package that reads or writes a format is not installed.
    """
    options = options or ReadOptions()
    with ExitStack() as stack:
        folder = stack.enter_context(temporary_folder("filter"))
        sources = [_file_of(each.source, folder / str(number), options) for number, each in enumerate(copies)]
        report = FilterReport()
        shown = {str(file): str(each.source) for each, file in zip(copies, sources, strict=True)}
        decide: Callable[[Sequence[Page]], Sequence[bool]]
        if index is None:
            options = replace(options, id_from="place")
            decide = stack.enter_context(_scanned(sources, folder, options, settings, progress, contained))
        else:
            decide = _ById(index, report, contained=contained)
        chooser = _Chooser(decide, report, shown, drop_empty=drop_empty)
        for each, file in zip(copies, sources, strict=True):
            tally = Tally(no_page=report.no_page)
            try:
                copy_dump(file, replace(options, tally=tally), chooser, each.kept, each.dropped)
            except InputError as error:
                raise InputError(str(each.source), error.line, error.problem) from error
        return report


def _file_of(source: str | Path, folder: Path, options: ReadOptions) -> Path:
    """The file itself, which can be copied; what is not local is stored in a new folder."""
    dump, *others = _dumps([source], options)
    if others:
        raise InputError(str(source), None, "names several dumps: copy each to a target of its own")
    if isinstance(dump, Path) and not is_pipe(dump):
        return dump
    folder.mkdir()
    try:
        with (
            open_pipe(dump, kind_of(dump, options)) if isinstance(dump, Path) else nullcontext(dump) as given
        ):
            path = folder / (given.name if given else _EMPTY)
            with path.open("wb") as stream, given.open() if given else BytesIO() as content:
                shutil.copyfileobj(content, stream)
    except OSError as error:
        raise InputError(str(source), None, plain_problem(error)) from error
    return path


def dump_names(sources: Iterable[str | Path], options: ReadOptions) -> list[str]:
    """The dumps that paths, addresses and patterns name, each once.

    Raises:
        InputError: one is not there, or is no dump that can be copied.
        MissingExtra: the package of a storage is not installed.
    """
    return list(dict.fromkeys(map(str, _dumps(sources, options))))


def _dumps(sources: Iterable[str | Path], options: ReadOptions) -> list[Source]:
    found: list[Source] = []
    for place in located(sources):
        try:
            some = _files(place)
        except OSError as error:
            raise InputError(str(place), None, plain_problem(error)) from error
        if not some:
            problem = (
                "no file matches"
                if isinstance(place, Path) and is_pattern(place)
                else "there is no such file"
            )
            raise InputError(str(place), None, problem)
        found += some
    for dump in found:
        if isinstance(dump, Path) and is_pipe(dump) and kind_of(dump, options) in ("", *DUMPS):
            continue
        no_file = isinstance(dump, Path) and not dump.is_file()
        if no_file or (options.format is None and suffix_of(dump) not in DUMPS):
            problem = f"not a dump that can be copied; name a file {' '.join(DUMPS)}. For page files use `es-dedup export --what keep`"
            raise InputError(str(dump), None, problem)
    return found


def _files(place: Named) -> Sequence[Source]:
    if isinstance(place, Address):
        return place.files()[0]
    if is_pattern(place):
        return list(matches(place))
    return [place] if str(place) == STDIN or place.exists() else []


@contextmanager
def _scanned(
    sources: Sequence[Path],
    folder: Path,
    options: ReadOptions,
    settings: Settings | None,
    progress: Callable[[Progress], None] | None,
    contained: bool,  # noqa: FBT001 - given by place
) -> Iterator[_ByContent]:
    """Decisions by a temporary index with the pages of some files."""
    settings = settings_in_force(settings)
    settings = settings.model_copy(update={"index": settings.index.model_copy(update={"keep_text": False})})
    with Deduplicator.open(folder / "pages.db", settings=settings, temporary=True) as dedup:
        pages = (each for each in read_pages(sources, options) if not isinstance(each, InputFailure))
        distinct = DistinctPages()
        by_place = (replace(page, id=f"{place:0{PLACE_DIGITS}}") for place, page in enumerate(pages))
        dedup.scan(distinct.of(by_place), progress=progress)
        yield _ByContent(dedup, distinct.first, contained=contained)


class _ByContent:
    """Of pages of which the distinct ones were scanned: whether each is left out."""

    def __init__(self, index: IndexReader, ids: Mapping[bytes, str], *, contained: bool) -> None:
        """``ids``: by ``page_digest``."""
        self._index, self._contained = index, contained
        self._ids: dict[bytes, str | None] = {**ids}

    def __call__(self, pages: Sequence[Page]) -> list[bool]:
        """For each page, in the order of the scan; copies of one that came before are left out."""
        digests = list(map(page_digest, pages))
        names: list[str | None] = []
        for page, digest in zip(pages, digests, strict=True):
            if digest not in self._ids:
                problem = f"{page.id} has changed since it was first read: nothing was decided on it"
                raise InputError("", None, problem)
            names.append(self._ids[digest])
            self._ids[digest] = None
        _, dropped = self._index.redundant(filter(None, names), contained=self._contained)
        return [name is None or name in dropped for name in names]


class _ById:
    """Of pages that are stored under their ids: whether each is left out."""

    def __init__(self, index: IndexReader, report: FilterReport, *, contained: bool) -> None:
        self._index, self._contained = index, contained
        self._report = report
        self._read: dict[str, bytes] = {}

    def __call__(self, pages: Sequence[Page]) -> list[bool]:
        """For each page: the first of an id as that is clustered; a copy of it is left out; others are compared with all other ids."""
        marks, shared = [False] * len(pages), []
        first: dict[int, str] = {}
        for at, page in enumerate(pages):
            digest = page_digest(page)
            if page.id not in self._read:
                self._read[page.id], first[at] = digest, page.id
            elif self._read[page.id] == digest:
                marks[at] = True
            else:
                shared.append(at)
        known, dropped = self._index.redundant(first.values(), contained=self._contained)
        for at, page_id in first.items():
            marks[at] = page_id in dropped
        for at, decision in zip(shared, self._index.check_many([pages[at] for at in shared]), strict=True):
            marks[at] = decision.outcome is Outcome.DUPLICATE or (
                self._contained and decision.outcome is Outcome.CONTAINED
            )
        self._report.unknown += len(first) - len(known)
        self._report.shared_ids += len(shared)
        return marks


class _Chooser:
    """Says which records are left out, and counts them."""

    def __init__(
        self,
        decide: Callable[[Sequence[Page]], Sequence[bool]],
        report: FilterReport,
        shown: Mapping[str, str],
        *,
        drop_empty: bool,
    ) -> None:
        self._decide, self._report, self._shown, self._drop_empty = decide, report, shown, drop_empty

    def __call__(self, items: Sequence[Item | None]) -> list[bool]:
        """Whether each record is left out; None is no page."""
        report, marks = self._report, [False] * len(items)
        for failure in items:
            if isinstance(failure, InputFailure):
                self._fail(failure)
        pages = {at: item for at, item in enumerate(items) if isinstance(item, Page)}
        full = {at: page for at, page in pages.items() if not page.is_empty}
        for at in pages.keys() - full.keys():
            marks[at] = self._drop_empty
        for at, dropped in zip(full, self._decide(list(full.values())), strict=True):
            marks[at] = dropped
        report.empty += len(pages) - len(full)
        report.dropped += sum(marks)
        report.kept += len(pages) - sum(marks)
        return marks

    def _fail(self, failure: InputFailure) -> None:
        self._report.failed += 1
        if len(self._report.failures) < KEPT_FAILURES:
            source = self._shown.get(failure.source, failure.source)
            self._report.failures.append(replace(failure, source=source))
