"""What the clusters of an index rest on: corpus statistics, and the decision settings in force."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from es_dedup.decision.statistics import Statistics
from es_dedup.settings.recorded import decision_differences, decisions_in, with_recorded

if TYPE_CHECKING:
    from es_dedup.errors import Difference
    from es_dedup.index.port import Index
    from es_dedup.settings import Settings


@dataclass(frozen=True, slots=True)
class EffectiveSettings:
    """Statistics and settings that the clusters of an index were made with, so that new pages are decided on alike.

    Attributes:
        note: text of the note ``STATISTICS`` that they were read by.
        settings: those of the caller, with the decision settings that the index records.
        differences: the decision settings of the caller that are not in force.
        statistics: as stored.
    """

    note: str | None
    settings: Settings
    differences: tuple[Difference, ...]
    statistics: Statistics

    @classmethod
    def read(
        cls, index: Index, given: Settings, note: str | None, known: EffectiveSettings | None = None
    ) -> EffectiveSettings:
        """What is stored; ``known`` while the note still is what it was.

        Raises:
            ValueError: the statistics are damaged.
        """
        if known is not None and known.note == note:
            return known
        recorded = decisions_in(note)
        stored = index.load_statistics()
        return cls(
            note,
            with_recorded(given, recorded),
            decision_differences(recorded, given),
            Statistics.from_bytes(stored) if stored else Statistics.empty(),
        )
