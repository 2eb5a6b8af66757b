"""Pages to features in large numbers: chunks in worker processes, in the order of the input, and rows of chunks."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain, islice
from pickle import PicklingError
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from es_dedup import extraction, native
from es_dedup.clustering.order import PageKey
from es_dedup.decision.comparison import Pages, days_of
from es_dedup.detectors.features import FeatureTable, featurise, pack, stored_terms
from es_dedup.detectors.named_fields import named_fields
from es_dedup.errors import wrong_type
from es_dedup.extraction.language import language_of
from es_dedup.extraction.markup import fragment_of, is_html_page, without_references
from es_dedup.extraction.metadata.addresses import site_of
from es_dedup.extraction.metadata.date_parsing import parse_moment
from es_dedup.index.records import FeatureRecord, RecordBatch, encodable
from es_dedup.model import EMPTY, NO_WORDS, Content, Page, Skipped, fitted_id, id_problem
from es_dedup.model.batches import chunked_by_size
from es_dedup.model.times import time_given
from es_dedup.text.passages import without_passages

if TYPE_CHECKING:
    from multiprocessing.context import BaseContext

    from es_dedup.settings import Settings
    from es_dedup.settings.loading import ExtractionConfig

    TextCodec = Callable[[str], bytes]
    Ignored = Mapping[str, tuple[str, ...]]

CHUNK_PAGES: Final = 256  # arrays of so many pages stay in the processor's cache
FEATURE_THREADS: Final = 2
"""Threads that compute features while the main thread writes; more of them would mostly wait for the interpreter's lock."""
CHUNK_CHARS: Final = 1_000_000
POOL_FROM_PAGES: Final = 1_000  # below, starting processes costs more than it saves
# chunks in flight per worker: as many pages as are written at a time, so that all go on meanwhile
AHEAD: Final = 36
PARENT_SECONDS: Final = 0.5  # between a worker's checks whether its parent still lives
MAX_TITLE_CHARS: Final = 1_000
MAX_URL_CHARS: Final = 4_096
NAME_CHARS: Final = 80  # of an id, in reports of what failed
HOW_TO_MAKE_PAGES: Final = "make each one by Page(id=…, text=…); es_dedup.readers.read_pages reads files"


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some pages with all that is stored of them.

    Attributes:
        records: columns to write.
        table: their features, row by row the same pages.
        failed: page id to reason, for pages that are not in ``records``.
        read: pages the chunk was made from.
        unread_times: pages whose time of publication was given in a form that cannot be read.
    """

    records: RecordBatch
    table: FeatureTable
    failed: dict[str, str]
    read: int
    unread_times: int = 0

    @property
    def pages(self) -> Pages:
        """The pages as they are compared."""
        records = self.records
        return Pages(list(records.ids), self.table, days_of(records.published), records.named)


@dataclass(frozen=True, slots=True)
class FeatureMaker:
    """Makes features of pages.

    Attributes:
        settings: detectors, extraction, number of workers.
        codec: packs a text for storage; None keeps none.
        named: make named fields, for an index that keeps them.
        ignored: by site the passages that never count.
    """

    settings: Settings
    codec: TextCodec | None = None
    named: bool = False
    ignored: Ignored = field(default_factory=dict)

    def chunks(self, pages: Iterable[Page]) -> Iterator[Chunk]:
        """Features of all pages, in order; those of many pages are made in threads or worker processes.

        Args:
            pages: read lazily, a bounded number beyond the results.
        """
        groups = page_groups(iter(pages))
        first = list(islice(groups, -(-POOL_FROM_PAGES // CHUNK_PAGES)))
        workers = self.settings.workers or os.cpu_count() or 1
        if workers < 2 or sum(map(len, first)) < POOL_FROM_PAGES:  # noqa: PLR2004 - one worker is this thread
            yield from map(self.chunk, chain(first, groups))
            return
        by_threads = native.core is not None and all(
            page.has_text and not is_html_page(page.text or "") and fragment_of(page.text or "") is None
            for group in first
            for page in group
        )
        work = self.chunk if by_threads else _work
        with ExitStack() as stack:
            # For texts threads: the native core works outside the interpreter's lock, and a page is sent nowhere.
            some = min(FEATURE_THREADS, workers)
            pool: Executor = (
                ThreadPoolExecutor(
                    some,
                    thread_name_prefix="es-dedup-features",
                    initializer=native.use_threads,
                    initargs=(native.threads() // some,),
                )
                if by_threads
                else _processes(workers, self)
            )
            # What leaves early, an interrupt too, does not wait for work that was submitted, but for the chunks that are being worked on.
            stack.callback(pool.shutdown, cancel_futures=True)
            waiting: deque[tuple[list[Page], Future[Chunk]]] = deque()

            def next_chunk() -> Chunk:
                group, made = waiting.popleft()
                try:
                    return made.result()
                # a page has what cannot be sent to a process
                except (PicklingError, TypeError, AttributeError):
                    return self.chunk(group)

            for group in chain(first, groups):
                with _interrupts_held():
                    made = pool.submit(work, group)
                waiting.append((group, made))
                if len(waiting) >= AHEAD * workers:
                    yield next_chunk()
            while waiting:
                yield next_chunk()

    def chunk(self, pages: list[Page]) -> Chunk:
        """Features of some pages in this process; a page that cannot be processed is named in ``failed``.

        Texts are stored whole, and features are made of them without the passages of their site in ``ignored``.
        """
        kept, failed = _read(pages, self.settings.extraction)
        contents = [content for _, content, _ in kept]
        counted = [compared(content, self.ignored) for content in contents]
        table = _table(counted, self.settings)
        terms, offsets = stored_terms(table, self.settings)
        words = table.has_words.tolist()
        records = RecordBatch(
            ids=[page.id for page, _, _ in kept],
            lengths=table.lengths.tolist(),
            content_hashes=table.hashes.tolist(),
            payloads=pack(table),
            terms=terms,
            term_offsets=offsets,
            texts=[self.codec(content.text) for content in contents] if self.codec else (),
            urls=[(content.url or "")[:MAX_URL_CHARS] for content in contents],
            sites=[content.site for content in contents],
            titles=[content.title[:MAX_TITLE_CHARS] for content in contents],
            named=_named(counted, table, self.settings, also=self.settings.elastic.also_stored)
            if self.named
            else (),
            published=list(map(_time, contents)),
            languages=[content.language for content in contents],
            skipped=[
                skipped or ("" if has else EMPTY if page.is_empty else NO_WORDS)
                for (page, _, skipped), has in zip(kept, words, strict=True)
            ],
        )
        unread = sum(_time_is_unread(page) for page, _, _ in kept)
        return Chunk(records, table, failed, len(pages), unread)

    def pages(self, pages: list[Page]) -> tuple[Pages, dict[str, str]]:
        """Pages as they are compared, nothing to store; and what failed why."""
        kept, failed = _read(pages, self.settings.extraction)
        contents = [compared(content, self.ignored) for _, content, _ in kept]
        table = _table(contents, self.settings)
        days = days_of(map(_time, contents))
        fields = _named(contents, table, self.settings) if self.named else ()
        return Pages([page.id for page, _, _ in kept], table, days, fields), failed


def _processes(workers: int, maker: FeatureMaker) -> Executor:
    """Worker processes."""
    from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415 - most processes start none

    extraction.kept_extractor(maker.settings.extraction)  # what it loads is shared by forked processes
    return ProcessPoolExecutor(
        workers, mp_context=_context(), initializer=_prepare, initargs=(maker, os.getpid())
    )


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Let an interrupt of this thread wait; worker processes that are started meanwhile hold theirs for good.

    A terminal sends Ctrl-C to all processes: one that is still importing would print a traceback.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _time_is_unread(page: Page) -> bool:
    given = page.published
    return isinstance(given, str) and bool(given.strip()) and _moment(given) is None


def notes_on(page: Page, *, has_words: bool) -> tuple[str, ...]:
    """What a decision on a page lacks: text to compare, or the time that was given for it."""
    notes = []
    if not has_words:
        notes.append("there is no text to compare")
    if _time_is_unread(page):
        notes.append("the time of publication that was given cannot be read and is left out")
    return tuple(notes)


def compared(content: Content, ignored: Ignored) -> Content:
    """A content without the passages of its site that never count; the others stay where they are."""
    passages = ignored.get(content.site, ())
    return replace(content, text=without_passages(content.text, passages)) if passages else content


def _read(
    pages: list[Page], config: ExtractionConfig
) -> tuple[list[tuple[Page, Content, str]], dict[str, str]]:
    """Pages with their content and the reason when they have none; and what cannot be processed, with the reason."""
    kept: list[tuple[Page, Content, str]] = []
    failed: dict[str, str] = {}
    for page in pages:
        problem = problem_of(page)
        if problem:
            failed[name_of(page)] = problem
            continue
        try:
            kept.append((page, *content_of(page, config)))
        except Exception as error:  # noqa: BLE001 - of an extractor; one page must not stop the others
            failed[page.id] = f"it cannot be processed: {type(error).__name__}: {error}"
    return kept, failed


def _table(contents: list[Content], settings: Settings) -> FeatureTable:
    """Features of contents; those of equal texts and titles are made once."""
    places: dict[tuple[str, str], int] = {}
    rows = [places.setdefault((each.text, each.title), len(places)) for each in contents]
    table = featurise([text for text, _ in places], [title for _, title in places], settings)
    return table if len(places) == len(rows) else table.take(np.array(rows, dtype=np.int64))


def _named(
    contents: list[Content], table: FeatureTable, settings: Settings, also: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """Named features of contents, also those of methods that are stored only among them."""
    texts, titles = [each.text for each in contents], [each.title for each in contents]
    return named_fields(texts, titles, settings, table, also=also)


def _time(content: Content) -> str:
    return content.published.isoformat() if content.published else ""


def check_extractor(config: ExtractionConfig) -> None:
    """Load an extractor or a block model that is not the built-in one, so that its errors are raised before any page is read.

    The built-in one is loaded when the first HTML page comes.
    """
    default = type(config)()
    if (config.extractor, config.model) != (default.extractor, default.model):
        extraction.kept_extractor(config)


def content_of(page: Page, config: ExtractionConfig) -> tuple[Content, str]:
    """Content of a page and, when it has none, the reason; values the caller gave win over extracted ones."""
    text, html = (page.text, None) if page.has_text else (None, page.html)
    if text is not None and is_html_page(text):
        text, html = None, text
    if text is not None:
        text = _clean(text)
        fragment = fragment_of(text)
        text = without_references(text) if fragment is None else extraction.visible_text(fragment)
        content = Content(
            text=text,
            title=without_references(_clean(page.title or "")),
            language=language_of(text),
            url=page.url,
            site=page.site or (site_of(page.url) if page.url else ""),
            published=_moment(page.published),
        )
        return content, ""
    found: Content | Skipped = Skipped("no-input")
    if html is not None:
        found = extraction.kept_extractor(config).extract(html, url=page.url, http_charset=page.http_charset)
    skipped, content = (
        (found.reason, Content("", url=page.url)) if isinstance(found, Skipped) else ("", found)
    )
    given = replace(
        content,
        title=without_references(_clean(page.title)) if page.title else content.title,
        site=page.site or content.site or site_of(content.url),
        published=_moment(page.published) or content.published,
    )
    return given, skipped


def _moment(value: str | datetime | None) -> datetime | None:
    value = time_given(value)
    if isinstance(value, datetime) or not value:
        return value or None
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        return parse_moment(value)


def _clean(text: str) -> str:
    """Without halves of surrogate pairs, which no storage takes."""
    return text if encodable(text) else text.encode("utf-8", "ignore").decode()


def name_of(page: Page) -> str:
    """What a page is called in a report."""
    return page.id[:NAME_CHARS]


def checked_pages(pages: Iterable[Page]) -> Iterator[Page]:
    """The pages, each of them checked when it is read.

    Raises:
        TypeError: at once, when this is no iterable of pages; while reading, when one is no ``Page``.
    """
    if isinstance(pages, Page):
        raise wrong_type(
            "pages", "an iterable of Page objects", pages, "pass a list, or call the method for one page"
        )
    single = isinstance(pages, str | bytes | Mapping) or hasattr(pages, "columns")
    if single or not isinstance(pages, Iterable):
        raise wrong_type("pages", "an iterable of Page objects", pages, HOW_TO_MAKE_PAGES)
    return map(checked_page, pages)


def checked_page(page: Page) -> Page:
    """The page itself.

    Raises:
        TypeError: it is none.
    """
    if not isinstance(page, Page):
        raise wrong_type("a page", "a Page object", page, HOW_TO_MAKE_PAGES)
    return page


def checked_id(page_id: str) -> str:
    """The id under which a page of that id or address is stored, see ``fitted_id``.

    Raises:
        TypeError: it is no string.
    """
    if not isinstance(page_id, str):
        raise wrong_type("a page id", "a string", page_id, "ids are those of Page.id")
    return fitted_id(page_id)


def checked_ids(page_ids: Iterable[str] | str) -> list[str]:
    """Each id once, as ``checked_id`` gives it; a string is one id."""
    return list(dict.fromkeys(map(checked_id, [page_ids] if isinstance(page_ids, str) else page_ids)))


def problem_of(page: Page) -> str:
    """Why a page cannot be processed, in plain words; empty when it can."""
    if problem := id_problem(page.id):
        return problem
    return "neither text nor html" if page.text is None and page.html is None else ""


def page_groups(pages: Iterator[Page]) -> Iterator[list[Page]]:
    """Pages in chunks of bounded number and size."""

    def size(page: Page) -> int:
        return len((page.text if page.has_text else page.html) or "")

    return chunked_by_size(pages, CHUNK_CHARS, size, count=CHUNK_PAGES)


def _context() -> BaseContext:
    """Forking is fastest, but not safe beside other threads."""
    import multiprocessing  # noqa: PLC0415 - as above

    if "fork" in multiprocessing.get_all_start_methods() and threading.active_count() == 1:
        return multiprocessing.get_context("fork")
    return multiprocessing.get_context("spawn")


_worker: list[FeatureMaker] = []


def _prepare(maker: FeatureMaker, parent: int) -> None:
    # Ctrl-C reaches all processes of a terminal; the parent ends these
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    native.use_threads(1)
    gc.freeze()  # what was inherited is shared with the parent as long as the collector does not touch it
    _worker.append(maker)


def _end_with(parent: int) -> None:
    """End this process when its parent is gone: a killed parent sends no signal, and workers would wait for ever."""
    while os.getppid() == parent:
        time.sleep(PARENT_SECONDS)
    os._exit(1)


def _work(pages: list[Page]) -> Chunk:
    return _worker[0].chunk(pages)


def take(chunk: Chunk, rows: list[int]) -> Chunk:
    """These rows of a chunk; the chunk itself when they are all."""
    if len(rows) == len(chunk.records.ids):
        return chunk
    table = chunk.table.take(np.array(rows, dtype=np.int64))
    return replace(chunk, records=chunk.records.take(rows), table=table)


def only(chunk: Chunk, page_ids: Container[str]) -> Chunk:
    """Some pages of a chunk, those that failed too."""
    failed = {name: reason for name, reason in chunk.failed.items() if name in page_ids}
    return replace(
        take(chunk, [row for row, name in enumerate(chunk.records.ids) if name in page_ids]), failed=failed
    )


def without(chunk: Chunk, page_ids: Container[str]) -> Chunk:
    """A chunk without some pages."""
    return take(chunk, [row for row, name in enumerate(chunk.records.ids) if name not in page_ids])


def last_of_each(chunk: Chunk) -> tuple[Chunk, int, int]:
    """Of several pages with one id the last; how many others differ from the next one of their id, and how many are equal to it."""
    records, equal = chunk.records, 0
    last: dict[str, int] = {}
    for row, page_id in enumerate(records.ids):
        before = last.get(page_id)
        equal += before is not None and records.content(before) == records.content(row)
        last[page_id] = row
    fewer = len(records.ids) - len(last)
    return take(chunk, sorted(last.values())), fewer - equal, equal


def changed(chunk: Chunk, stored: Mapping[str, FeatureRecord]) -> tuple[Chunk, int]:
    """Without the pages that are stored with the same content and metadata, and how many these are."""
    rows = [
        row
        for row, page_id in enumerate(chunk.records.ids)
        if page_id not in stored or chunk.records.content(row) != stored[page_id].content
    ]
    unchanged = len(chunk.records.ids) - len(rows)
    return take(chunk, rows), unchanged


def joined(parts: Sequence[Chunk]) -> Chunk:
    """Several chunks as one, what failed left out; at least one chunk."""
    if len(parts) == 1:
        return parts[0]
    records = RecordBatch.concatenate([part.records for part in parts])
    return Chunk(records, FeatureTable.concatenate([part.table for part in parts]), {}, len(records.ids))


def keys_of(records: RecordBatch) -> list[PageKey]:
    """Sort keys of the canonical order."""
    columns = records.ids, records.published, records.sites, records.urls, records.lengths
    return list(map(PageKey, *columns))
