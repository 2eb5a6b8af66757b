"""What readers say of pairs of pages, for measuring and tuning decisions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

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

    @property
    def key(self) -> str:
        """The key that gives it, wherever readers are asked."""
        return {Label.DUP: "y", Label.DIFF: "n", Label.CONTAIN: "c", Label.PARTIAL: "p"}[self]

    def relation(self, left_length: int, right_length: int) -> Relation | None:
        """How the left page is related to the right one: of a pair labelled ``contain`` the longer page contains the other; else None."""
        if self is not Label.CONTAIN:
            return None
        return Relation.CONTAINS if left_length >= right_length else Relation.CONTAINED


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
