"""Scrapy: an item pipeline that decides on pages against an index while they are crawled.

``DedupPipeline`` decides on items that hold a text or HTML. Settings of Scrapy:

- ``DEDUP_INDEX``: an index file, or ``http://host:9200/name``; must be set
- ``DEDUP_MODE``: ``annotate`` (default) gives each item a field ``dedup`` with outcome, cluster and related pages; ``mark`` gives it a
  field ``duplicate_of``, None for a unique page; ``drop`` drops duplicates
- ``DEDUP_STORE``: True (default) stores the pages, so that later ones are compared with them; False only reads the index
- ``DEDUP_FIELDS``: names of the fields of items, by attribute of ``Page``, as ``{"text": "body", "id": "key"}``; default: the names of the
  attributes, and the URL as the id
- ``DEDUP_BATCH_PAGES``: pages decided on at a time, at most (default 100)

Pages that arrive while a batch is decided on, in a thread, are the next batch. When the index does not answer, items pass undecided and an
error is logged: no item is lost. Counts are in the stats ``dedup/…``.

Traps:
    - It needs Scrapy's default reactor, that of asyncio.
    - Of equal pages that differ in the time of publication the earlier crawled one is kept, whichever is the canonical document.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import TYPE_CHECKING, Any, Final, Self

from es_dedup.deduplicator.deduplicator import Deduplicator
from es_dedup.errors import DedupError, needs_extra
from es_dedup.model import Decision, Outcome, Page
from es_dedup.model.times import time_given
from es_dedup.model.values import plain_value
from es_dedup.tables.documents import decided

with needs_extra("scrapy", "es_dedup.scrapy"):
    from itemadapter import ItemAdapter
    from scrapy import signals
    from scrapy.exceptions import DropItem

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["DedupPipeline"]

MODES: Final = ("annotate", "mark", "drop")
ATTRIBUTES: Final = ("id", "text", "html", "url", "title", "published", "site")
BATCH_PAGES: Final = 100

_log = logging.getLogger(__name__)


class DedupPipeline:
    """Decides on items that hold a text or HTML; others pass unchanged."""

    def __init__(self, crawler: Any) -> None:
        settings = crawler.settings
        place, self._mode = settings.get("DEDUP_INDEX"), settings.get("DEDUP_MODE", MODES[0])
        if not place or self._mode not in MODES:
            problem = f"DEDUP_MODE must be one of {', '.join(MODES)}, not {self._mode!r}"
            raise ValueError(
                problem if place else "DEDUP_INDEX must name an index file or http://host:9200/name"
            )
        self._store = settings.getbool("DEDUP_STORE", default=True)
        self._limit = max(1, settings.getint("DEDUP_BATCH_PAGES", BATCH_PAGES))
        given = settings.getdict("DEDUP_FIELDS")
        if unknown := given.keys() - set(ATTRIBUTES):
            raise ValueError(f"DEDUP_FIELDS names {min(unknown)!r}, which is none of {', '.join(ATTRIBUTES)}")
        self._fields = dict(zip(ATTRIBUTES, ATTRIBUTES, strict=True), id="") | given
        self._stats = crawler.stats
        self._waiting: deque[tuple[Page, asyncio.Future[Decision | None]]] = deque()
        self._task: asyncio.Task[None] | None = None
        self._dedup = Deduplicator.open(place, read_only=not self._store)
        self._stats.set_value("dedup/preset", self._dedup.preset)
        crawler.signals.connect(self._closed, signal=signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Any) -> Self:
        """Made by Scrapy.

        Raises:
            ValueError: a setting is missing or wrong.
            DedupError: the index cannot be opened.
        """
        return cls(crawler)

    def _closed(self) -> None:
        self._dedup.close()

    async def _decision(self, page: Page) -> Decision | None:
        """The decision on a page; None where the index did not answer."""
        future: asyncio.Future[Decision | None] = asyncio.get_running_loop().create_future()
        self._waiting.append((page, future))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._work())
        decision = await future
        self._stats.inc_value(f"dedup/{decision.outcome if decision else 'undecided'}")
        return decision

    async def _work(self) -> None:
        """Decide on what waits, a batch at a time."""
        while self._waiting:
            some = [self._waiting.popleft() for _ in range(min(self._limit, len(self._waiting)))]
            pages = [page for page, _ in some]
            work = asyncio.to_thread(decided, self._dedup, pages, store=self._store)
            (result,) = await asyncio.gather(work, return_exceptions=True)
            self._stats.inc_value("dedup/batches")
            if isinstance(result, DedupError):
                _log.error("%d pages pass undecided: %s", len(pages), result)
            for at, (_, future) in enumerate(some):
                if future.done():
                    continue
                if isinstance(result, BaseException) and not isinstance(result, DedupError):
                    future.set_exception(result)
                else:
                    future.set_result(None if isinstance(result, DedupError) else result[at])

    def _noted(self, item: Any, decision: Decision | None) -> Any:
        """The item with the fields of its mode.

        Raises:
            DropItem: it is a duplicate, in mode ``drop``.
        """
        if decision is None:
            return item
        if self._mode == "drop":
            if decision.outcome is Outcome.DUPLICATE:
                raise DropItem(f"duplicate of {decision.duplicate_of}", log_level="INFO")
        elif self._mode == "mark":
            ItemAdapter(item)["duplicate_of"] = decision.duplicate_of
        else:
            noted = decision.as_dict()
            del noted["verdicts"]
            ItemAdapter(item)["dedup"] = noted
        return item

    async def process_item(self, item: Any, spider: Any = None) -> Any:  # noqa: ARG002 - older versions give it
        """The item, annotated or marked.

        Raises:
            DropItem: it is a duplicate, in mode ``drop``.
            TypeError: a field is of a wrong type.
        """
        page = self._page(ItemAdapter(item))
        if page is None:
            self._stats.inc_value("dedup/without_text")
            return item
        return self._noted(item, await self._decision(page))

    def _page(self, item: Mapping[str, Any]) -> Page | None:
        values = {name: plain_value(item.get(field)) for name, field in self._fields.items() if field}
        page_id = values.pop("id", None) or values.get("url")
        if page_id is None or (values.get("text") is None and values.get("html") is None):
            return None
        return Page(str(page_id), **values | {"published": time_given(values.get("published"))})
