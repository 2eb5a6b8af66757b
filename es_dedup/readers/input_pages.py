"""The pages of the input of one call."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from es_dedup.model import Page
    from es_dedup.readers.port import InputFailure, Items, Tally
    from es_dedup.readers.roots import Roots


class InputPages:
    """Pages and failures of several sources, read lazily.

    Attributes:
        roots: what the ids of page files are relative to.
    """

    def __init__(self, sources: Iterable[Items], roots: Roots, tally: Tally) -> None:
        self.roots = roots
        self._sources, self._tally = sources, tally

    @property
    def ignored(self) -> Mapping[str, int]:
        """Suffix to the number of files met in folders so far that are not read, because their kind is unknown."""
        return self._tally.ignored

    @property
    def no_page(self) -> Mapping[str, int]:
        """Why records of archives read so far hold no page, to the number of these."""
        return self._tally.no_page

    def __iter__(self) -> Iterator[Page | InputFailure]:
        return chain.from_iterable(self._sources)
