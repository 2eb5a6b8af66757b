"""What sharing a term counts: how much of an answer to a probe each of its terms is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from es_dedup.model import Probe

ENOUGH: Final = 2_520
"""A page that has so much answers: divisible by 1 to 10, so that sums stay whole numbers, on every kind of index alike."""


def weights_of(probe: Probe) -> dict[int, int]:
    """For each distinct term of a probe its part of ``ENOUGH``, rounded up; of several groups the one where it counts most."""
    weights: dict[int, int] = {}
    for group in sorted(probe.groups, key=lambda group: -group.min_shared):  # where it weighs most comes last
        weights |= dict.fromkeys(group.terms, -(-ENOUGH // max(1, group.min_shared)))
    return weights
