"""How much of each of two pages stands in the other one, out of the evidence of a decision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

SIDES: Final = {"left": "right", "right": "left"}


class WithShares:
    """A decision with evidence."""

    __slots__ = ()
    evidence: Mapping[str, Any]

    @property
    def shares(self) -> tuple[float, float] | None:
        """Share of the left page that stands in the right one, and share of the right page that stands in the left one.

        In [0, 1], without template text. Of a member of a cluster, left is the canonical document. None where the deciding method
        does not measure it.
        """
        left, right = self.evidence.get("left_cover"), self.evidence.get("right_cover")
        return None if left is None or right is None else (left, right)


def turned(evidence: Mapping[str, Any]) -> dict[str, Any]:
    """Evidence with the numbers of the left and of the right page exchanged."""
    found = {}
    for name, value in evidence.items():
        side, _, what = name.partition("_")
        found[f"{SIDES[side]}_{what}" if side in SIDES else name] = value
    return found
