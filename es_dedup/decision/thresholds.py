"""Thresholds of the decision rules, and the presets of them (setting ``decision.preset``).

docs/algorithms/decision-rules.md explains each threshold and has the measured figures of each preset.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from es_dedup.settings.presets import PAPERS

if TYPE_CHECKING:
    from es_dedup.settings.decision import DecisionConfig

LONG_UNITS: Final = 400  # from here on a text is an article, not a notice
TITLES_AGREE: Final = 0.80  # overlap of the titles
# gram cover over clause cover: more says no more, a note may have lost all of its few clauses
MOST_SCATTERED: Final = 2.0


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Thresholds of the decision rules, named and described as in ``ThresholdsConfig``.

    Attributes:
        amounts, untitled_amounts: units in common at which ``needed_cover`` and ``untitled_cover`` are required; in between by
            the logarithm.
        without: rules that do not apply, by name or by group.
    """

    amounts: tuple[float, ...] = (20, 100, 400)
    needed_cover: tuple[float, ...] = (0.65, 0.55, 0.64)
    scattered: float = 0.08
    fewest_units: float = 20
    fewest_of_copies: float = 12
    same_cover: float = 0.50
    same_size: float = 0.67
    about_title: float = 0.18
    copied_cover: float = 0.70
    own_title: float = 0.30
    untitled_amounts: tuple[float, ...] = (20, 400)
    untitled_cover: tuple[float, ...] = (0.58, 0.46)
    untitled_contained: float = 0.65
    words_cover: float = 0.74
    near_copy: float = 0.95
    without: frozenset[str] = frozenset()


SERIES: Final = "series"
"""Group of the rules against issues of a series: the same form with other numbers or on another day."""
TITLES: Final = "titles"
"""Group of the rules that compare what the titles speak of."""

BALANCED: Final = Thresholds()
STRICT: Final = replace(
    BALANCED,
    needed_cover=(0.95, 0.85, 0.70),
    fewest_of_copies=20,
    same_cover=0.60,
    about_title=0.22,
    copied_cover=1.01,
    untitled_cover=(0.90, 0.70),
    untitled_contained=0.90,
    words_cover=0.90,
    near_copy=0.99,
)
LOOSE: Final = replace(
    BALANCED,
    needed_cover=(0.60, 0.42, 0.42),
    scattered=0.0,
    untitled_cover=(0.52, 0.42),
    untitled_contained=0.60,
    words_cover=0.60,
)
VERSIONS: Final = replace(
    BALANCED, needed_cover=(0.70, 0.50, 0.50), same_size=0.50, words_cover=0.60, without=frozenset((SERIES,))
)
FAST: Final = replace(BALANCED, without=frozenset((SERIES, TITLES)))
PRESETS: Final = {"balanced": BALANCED, "strict": STRICT, "loose": LOOSE, "fast": FAST, "versions": VERSIONS}


def preset_thresholds(preset: str) -> Thresholds:
    """The thresholds of a preset; for ``papers`` those of ``balanced``. Raises ``KeyError`` on an unknown name."""
    return BALANCED if preset == PAPERS else PRESETS[preset]


def thresholds_of(decision: DecisionConfig) -> Thresholds:
    """The thresholds in force: those of the preset, overridden by ``decision.thresholds``."""
    return replace(preset_thresholds(decision.preset), **decision.thresholds.model_dump(exclude_none=True))
