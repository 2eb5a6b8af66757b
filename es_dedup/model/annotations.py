"""What readers say of pairs of pages, for measuring and tuning decisions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from es_dedup.model import Relation


class Label(StrEnum):
    """What a reader says of two pages.

    ``dup``: the same article; ``contain``: nearly all of one stands in the other, which has much of its own;
    ``partial``: a real passage is shared, but neither of these; ``diff``: other text, or only boilerplate is
    shared.
    """

    DUP = "dup"
    CONTAIN = "contain"
    PARTIAL = "partial"
    DIFF = "diff"

    @property
    def positive(self) -> bool:
        """True for ``dup`` and ``contain``: the pairs that have to be found."""
        return self in (Label.DUP, Label.CONTAIN)


@dataclass(frozen=True, slots=True)
class Annotation:
    """One reader's label of one pair; clusters do not follow it.

    Attributes:
        left, right: page ids; ``left`` < ``right``.
        label: the reader's.
        reader: who says so; not empty.
        time: when, ISO 8601 in UTC.
        relation: seen from ``left``, of a pair labelled ``contain``; None elsewhere.
    """

    left: str
    right: str
    label: Label
    reader: str
    time: str
    relation: Relation | None = None

    @property
    def pair(self) -> tuple[str, str]:
        """The two ids, the smaller one first."""
        return self.left, self.right
