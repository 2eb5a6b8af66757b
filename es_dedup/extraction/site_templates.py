"""What a site prints on all its pages: lines learned from several pages of one site, and dropped from their main text.

A line counts as template when it stands on ``min_pages`` pages with different titles: a text printed twice under one title
is a reprint. Learning is incremental and bounded: a site keeps at most ``max_lines`` lines, the least recently seen go
first, and so do sites beyond ``max_sites``.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeAlias

import xxhash

from es_dedup.model import PageKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from es_dedup.model import Content

MIN_PAGES: Final = 3
MAX_SITES: Final = 1_000
MAX_LINES: Final = 4_096
MAX_PAGE_LINES: Final = 1_000
"""Lines of one page that are learned; templates stand at the head and the tail of a text."""

_SEED: Final = 0x7E3A
_Lines: TypeAlias = (
    "OrderedDict[int, tuple[int, ...]]"  # hash of a line to hashes of titles it was seen under
)


class SiteTemplates:
    """Learns lines that repeat over the pages of a site.

    Args:
        min_pages: pages with different titles that make a line a template, at least 2.
        max_sites: sites that are remembered, at least 1.
        max_lines: lines that are remembered of one site, at least 1; about 150 bytes each.
    """

    def __init__(
        self, *, min_pages: int = MIN_PAGES, max_sites: int = MAX_SITES, max_lines: int = MAX_LINES
    ) -> None:
        if min_pages < 2 or max_sites < 1 or max_lines < 1:  # noqa: PLR2004 - one page repeats nothing
            raise ValueError("min_pages must be at least 2, max_sites and max_lines at least 1")
        self._min_pages, self._max_sites, self._max_lines = min_pages, max_sites, max_lines
        self._sites: OrderedDict[str, _Lines] = OrderedDict()

    def learn(self, content: Content) -> None:
        """Remember the lines of a page; pages without site or title teach nothing."""
        if not content.site or not content.title:
            return
        title = _hash(content.title)
        lines = self._sites.setdefault(content.site, OrderedDict())
        self._sites.move_to_end(content.site)
        if len(self._sites) > self._max_sites:
            self._sites.popitem(last=False)
        for line in set(_edges(content.text)):
            titles = lines.get(line, ())
            if title not in titles and len(titles) < self._min_pages:
                titles = (*titles, title)
            lines[line] = titles
            lines.move_to_end(line)
        while len(lines) > self._max_lines:
            lines.popitem(last=False)

    def is_template(self, site: str, line: str) -> bool:
        """The line was seen on enough pages of the site."""
        lines = self._sites.get(site)
        return lines is not None and len(lines.get(_hash(line), ())) >= self._min_pages

    def clean(self, content: Content) -> Content:
        """The content without template lines.

        Returns:
            The same object when nothing is dropped. Text may become empty: then all of the page was template, and its
            kind is ``empty``. A note says how many lines were dropped.
        """
        if content.site not in self._sites:
            return content
        lines = content.text.split("\n")
        kept = [line for line in lines if not self.is_template(content.site, line)]
        if len(kept) == len(lines):
            return content
        note = f"{len(lines) - len(kept)} lines stand on other pages of {content.site} too and were dropped"
        kind = content.kind if kept else PageKind.EMPTY
        return replace(content, text="\n".join(kept), kind=kind, notes=(*content.notes, note))


def clean_site(contents: Iterable[Content], templates: SiteTemplates | None = None) -> list[Content]:
    """All contents without the lines that repeat among them: learns from all first.

    Args:
        contents: pages of any sites.
        templates: what is known already; learns from these pages too.
    """
    known = SiteTemplates() if templates is None else templates
    pages = list(contents)
    for content in pages:
        known.learn(content)
    return [known.clean(content) for content in pages]


def _edges(text: str) -> Iterator[int]:
    lines = text.split("\n")
    if len(lines) > MAX_PAGE_LINES:
        half = MAX_PAGE_LINES // 2
        lines = [*lines[:half], *lines[-half:]]
    return (_hash(line) for line in lines if line)


def _hash(line: str) -> int:
    return xxhash.xxh3_64_intdigest(line.encode("utf-8", "surrogatepass"), seed=_SEED)
