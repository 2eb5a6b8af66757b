"""Other readings of character frequency: followers that decide alone, and those of pages that are both long."""

from __future__ import annotations

from typing import TYPE_CHECKING

from es_dedup.detectors.char_frequency import CharFrequency

if TYPE_CHECKING:
    from es_dedup.detectors.char_frequency import Measures


class CharFrequencyAuxAlone(CharFrequency):
    """Where followers are compared they decide alone, as in the steps of the source; the candidates are the same."""

    name = "char_frequency_aux_alone"

    def _accepted(self, measures: Measures) -> tuple[bool, bool]:
        """Whether the left page is covered by the right one, and the right by the left."""
        if measures.equal or not measures.followers:
            return super()._accepted(measures)
        return measures.aux[0] > self._config.min_aux, measures.aux[1] > self._config.min_aux

    def _score(self, measures: Measures) -> float:
        """The better side's share of followers where they are compared."""
        if measures.equal or not measures.followers:
            return super()._score(measures)
        return max(measures.aux[0], measures.aux[1])


class CharFrequencyBothLong(CharFrequency):
    """Followers are compared if both pages are long, as in the body of the source."""

    name = "char_frequency_both_long"

    def compares_followers(self, left: int, right: int) -> bool:
        """True when both pages are longer than ``long_chars``, or the shorter is less than ``min_length_ratio`` of the longer."""
        short, long = min(left, right), max(left, right)
        return short > self._config.long_chars or short < self._config.min_length_ratio * long
