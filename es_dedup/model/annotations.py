"""What readers say of pairs of pages, for measuring and tuning decisions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
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
        removed: when the reader took it back; empty while it counts.
        override: id of the override that was made with it; empty where none was.
    """

    left: str
    right: str
    label: Label
    reader: str
    time: str
    relation: Relation | None = None
    removed: str = ""
    override: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """Pair and reader: a later label of the same reader takes its place."""
        return self.left, self.right, self.reader

    @property
    def pair(self) -> tuple[str, str]:
        """The two ids, the smaller one first."""
        return self.left, self.right

    @property
    def reversed(self) -> Annotation:
        """The same with the two pages in the other order."""
        relation = None if self.relation is None else self.relation.reversed
        return replace(self, left=self.right, right=self.left, relation=relation)

    @property
    def changed(self) -> str:
        """When it was given or taken back."""
        return max(self.time, self.removed)

    def as_dict(self) -> dict[str, str]:
        """JSON-ready form, without empty fields; a file of such lines of one reader can be read as labels."""
        found = {"id_a": self.left, "id_b": self.right, "label": str(self.label)}
        further = {
            name: getattr(self, name) for name in ("relation", "reader", "time", "removed", "override")
        }
        return found | {name: str(value) for name, value in further.items() if value}


def just_now() -> str:
    """The time as annotations and overrides have it: ISO 8601 in UTC, to the microsecond."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
