"""What the decision rules require of a pair's coverage, in sentences made from the thresholds of a preset."""

from __future__ import annotations

from typing import TYPE_CHECKING

from es_dedup.decision.pair_facts import LATE_LOG_DAYS
from es_dedup.decision.thresholds import LONG_UNITS, MOST_SCATTERED, SERIES, preset_thresholds
from es_dedup.text.tokens import CJK_GRAM, WORD_GRAM

if TYPE_CHECKING:
    from collections.abc import Sequence


def meaning_text(preset: str) -> str:
    """One sentence for pages with titles, one for each kind of script without, and what holds for all.

    Raises:
        KeyError: there is no such preset.
    """
    known = preset_thresholds(preset)
    titled = f"*With titles*: of the better covered text, at least {_curve(known.amounts, known.needed_cover)} stands in the other"
    if known.scattered:
        titled += (
            f"; up to {_percent(1 - MOST_SCATTERED**-known.scattered)} of that less where edits are scattered"
        )
    untitled = (
        f"*Without titles, Chinese and Japanese*: of both texts, at least {_curve(known.untitled_amounts, known.untitled_cover)} "
        f"stands in the other, or {_percent(known.untitled_contained)} of one"
    )
    least = known.needed_cover[-1] / MOST_SCATTERED**known.scattered
    in_place = max(known.words_cover / MOST_SCATTERED**0.5, min(known.words_cover, least))
    words = (
        f"*Without titles, scripts that separate words*: of the better covered text, at least {_percent(known.words_cover)} stands in the other; "
        f"less, down to {_percent(in_place)}, where edits are scattered and {LONG_UNITS} units or more are in common; where both pages "
        f"carry menus, {_percent(known.words_cover)} of both or {_percent(known.near_copy)} of one"
    )
    late = (
        f"*Texts alike, published on different days*: more with each doubling of the days, up to {_percent(known.near_copy)} at "
        f"{2**LATE_LOG_DAYS:g} days; scattered edits lower nothing"
    )
    least = f"{known.fewest_units:g} units in common"
    if known.fewest_of_copies < known.fewest_units:
        least += f" ({known.fewest_of_copies:g} without titles, if {_percent(known.copied_cover)} of both stands in the other)"
    always = (
        f"*Always*: texts are compared by sequences of {CJK_GRAM} characters or {WORD_GRAM} words and by clauses, without boilerplate; texts "
        f"with fewer than {least} are duplicates only when they are equal"
    )
    sentences = (titled, untitled, words, *(() if SERIES in known.without else (late,)), always)
    return "\n".join(f"- {sentence}." for sentence in sentences)


def _curve(amounts: Sequence[float], covers: Sequence[float]) -> str:
    """The points of a curve; beyond its ends the outermost ones hold."""
    points = [f"{_percent(cover)} at {amount:g}" for amount, cover in zip(amounts, covers, strict=True)]
    return f"{', '.join(points[:-1])} and {points[-1]} units in common"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
