"""Limits of the judge, and the named sets of them that the setting ``judge.preset`` chooses from.

docs/algorithms/judge.md says what each limit is for, and has the measured figures of each preset.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final


@dataclass(frozen=True, slots=True)
class Limits:
    """What a pair must reach. Covers and shares lie in [0, 1]; amounts are shared units, template discounted.

    Attributes:
        amounts, needed_cover: cover that the better covered page needs at these amounts.
        fewest_units: less in common is no evidence.
        late_cover: cover needed of a would-be duplicate 256 days later; less before.
        same_cover, late_same_cover: cover of the less covered page that makes a would-be duplicate, for pages of one day
            and of different days.
        same_size: the lesser over the better cover from which a pair is a duplicate: below it, one page has so
            much of its own that it contains the other.
        about_title: how much the shared text must be about the titles.
        untitled_amounts, untitled_cover: cover that the less covered page of a pair without titles needs.
        untitled_contained: cover of the better covered one that does as well.
        words_cover, words_contained: the same two for texts of words, at any amount.
        near_copy: text this equal is not taken apart by numbers or dates.
        without: rules, by name, that are not asked.
    """

    amounts: tuple[float, ...] = (20, 50, 100, 400, 1600)
    needed_cover: tuple[float, ...] = (0.70, 0.57, 0.51, 0.47, 0.42)
    fewest_units: float = 20
    late_cover: float = 0.92
    same_cover: float = 0.52
    late_same_cover: float = 0.65
    same_size: float = 0.0
    about_title: float = 0.18
    untitled_amounts: tuple[float, ...] = (100, 400)
    untitled_cover: tuple[float, ...] = (0.52, 0.52)
    untitled_contained: float = 0.85
    words_cover: float = 0.66
    words_contained: float = 0.90
    near_copy: float = 0.95
    without: frozenset[str] = frozenset()

    @property
    def least_cover(self) -> float:
        """No pair below this is ever accepted."""
        return min(self.needed_cover)


BALANCED: Final = Limits()
PRESETS: Final = {"balanced": BALANCED}
