"""One id, one page: what repeats within the input of one call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from es_dedup.readers.port import InputFailure

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from es_dedup.model import Page
    from es_dedup.readers.port import Item, Items, Tally
    from es_dedup.readers.roots import Roots


class UniquePages:
    """Pages and failures of several sources, with repeated ids taken out.

    A page that repeats an id with the same content is dropped; with other content it becomes a failure. Only two
    64-bit hashes are held per page, so a collision of ids (1 in 10^5 at 20 million pages) would show as a failure.

    Attributes:
        repeats: identical pages dropped so far.
        roots: what the ids of page files are relative to.
    """

    def __init__(self, sources: Iterable[Items], roots: Roots, tally: Tally) -> None:
        self.repeats = 0
        self.roots = roots
        self._sources, self._tally = sources, tally
        self._seen: dict[int, int] = {}

    @property
    def ignored(self) -> Mapping[str, int]:
        """Suffix to the number of files met in folders so far that are not read, because their kind is unknown."""
        return self._tally.ignored

    @property
    def no_page(self) -> Mapping[str, int]:
        """Why records of archives read so far hold no page, to the number of these."""
        return self._tally.no_page

    def __iter__(self) -> Iterator[Page | InputFailure]:
        for source in self._sources:
            for item in source:
                if (first := self.first(item)) is not None:
                    yield first

    def first(self, item: Item) -> Page | InputFailure | None:
        """The page of an item, a failure where it cannot be taken, None where it repeats an earlier one."""
        if isinstance(item, InputFailure):
            return item
        # Python's own hashes are enough here: they live no longer than this call.
        content = _content_hash(item.page)
        before = self._seen.setdefault(hash(item.page.id), content)
        if before is content:
            return item.page
        if before == content:
            self.repeats += 1
            return None
        problem = f"page id {item.page.id!r} was read before with other content; left out"
        return InputFailure(item.source, item.line, problem)


def _content_hash(page: Page) -> int:
    return hash((page.html, page.text, page.title, page.url, page.published))
