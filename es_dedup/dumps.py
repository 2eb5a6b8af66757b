"""``filter_dumps``: input dumps without their duplicates, in the same format and order."""

from __future__ import annotations

import shutil
from collections import Counter
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from es_dedup.deduplicator.deduplicator import Deduplicator
from es_dedup.errors import InputError
from es_dedup.readers import InputFailure, ReadOptions, Roots, UniquePages, read_pages
from es_dedup.readers.dump_filter import DUMPS, copy_dump
from es_dedup.readers.locations import Address, is_pattern, located, matches
from es_dedup.readers.port import Tally, kind_of
from es_dedup.readers.streams import STDIN, open_pipe, plain_problem, suffix_of
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
        repeats: records that repeat an id with the same content; left out too.
        unknown: pages that are not in the given index; they stay.
        failed: records that give no page, or another page of an id that was read before. They are copied, but for what has no end (a
            line that is too long, a damaged place).
        failures: the first of these, each with its file and line.
        no_page: why records of archives hold no page (``status 404``), to the number of these; they are copied.
    """

    kept: int = 0
    dropped: int = 0
    repeats: int = 0
    unknown: int = 0
    failed: int = 0
    failures: list[InputFailure] = field(default_factory=list)
    no_page: Counter[str] = field(default_factory=Counter)


def filter_dumps(
    copies: Sequence[DumpCopy],
    *,
    index: IndexReader | None = None,
    contained: bool = False,
    options: ReadOptions | None = None,
    settings: Settings | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> FilterReport:
    """Copy dumps without the duplicates among all their pages.

    Without ``index`` the dumps are read twice: their pages are scanned into a temporary index, then records are copied. The canonical
    document of each cluster stays, see section ``cluster`` of the settings for which page that is. Standard input and what addresses
    name are stored in temporary files. With ``index`` the dumps are read once.

    Args:
        copies: the dumps; their pages are compared with each other.
        index: into which they were scanned or added before; its clusters decide, and pages of it that are in no dump count, too.
        contained: also leave out pages that are contained in a longer page.
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
        if index is None:
            index = stack.enter_context(_scanned(sources, folder, options, settings, progress))
        shown = {str(file): str(each.source) for each, file in zip(copies, sources, strict=True)}
        chooser = _Chooser(index, shown, contained=contained)
        for each, file in zip(copies, sources, strict=True):
            tally = Tally(no_page=chooser.report.no_page)
            try:
                copy_dump(file, replace(options, tally=tally), chooser, each.kept, each.dropped)
            except InputError as error:
                raise InputError(str(each.source), error.line, error.problem) from error
        return chooser.report


def _file_of(source: str | Path, folder: Path, options: ReadOptions) -> Path:
    """The file itself, which can be copied; what is not local is stored in a new folder."""
    dump, *others = _dumps([source], options)
    if others:
        raise InputError(str(source), None, "names several dumps: copy each to a target of its own")
    if isinstance(dump, Path) and not _is_pipe(dump):
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


def _is_pipe(dump: Path) -> bool:
    return str(dump) == STDIN or dump.is_fifo()


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
        if isinstance(dump, Path) and _is_pipe(dump) and kind_of(dump, options) in ("", *DUMPS):
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
) -> Iterator[IndexReader]:
    """A temporary index with the pages of some files."""
    settings = settings_in_force(settings)
    settings = settings.model_copy(update={"index": settings.index.model_copy(update={"keep_text": False})})
    with Deduplicator.open(folder / "pages.db", settings=settings, temporary=True) as dedup:
        pages = (each for each in read_pages(sources, options) if not isinstance(each, InputFailure))
        dedup.scan(pages, progress=progress)
        yield dedup


class _Chooser:
    """Says which records are left out, and counts them."""

    def __init__(self, index: IndexReader, shown: Mapping[str, str], *, contained: bool) -> None:
        self.report = FilterReport()
        self._index, self._contained = index, contained
        self._shown = shown
        self._pages = UniquePages((), Roots(), Tally())

    def __call__(self, items: Sequence[Item | None]) -> list[bool]:
        """Whether each record is left out; None is no page."""
        report, marks = self.report, [False] * len(items)
        pages: dict[int, str] = {}
        for at, item in enumerate(items):
            first = None if item is None else self._pages.first(item)
            if isinstance(first, InputFailure):
                self._fail(first)
            elif first is not None:
                pages[at] = first.id
            elif item is not None:
                marks[at] = True
                report.repeats += 1
        known, dropped = self._index.redundant(pages.values(), contained=self._contained)
        for at, page_id in pages.items():
            marks[at] = page_id in dropped
        report.dropped += len(dropped)
        report.kept += len(pages) - len(dropped)
        report.unknown += len(pages) - len(known)
        return marks

    def _fail(self, failure: InputFailure) -> None:
        self.report.failed += 1
        if len(self.report.failures) < KEPT_FAILURES:
            source = self._shown.get(failure.source, failure.source)
            self.report.failures.append(replace(failure, source=source))
