"""Decisions of people that go before the rules."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class OverrideKind(StrEnum):
    """What was decided: two pages never share a cluster, two pages always do, or a page is the canonical document of its cluster."""

    DIFFERENT = "different"
    SAME = "same"
    CANONICAL = "canonical"


@dataclass(frozen=True, slots=True)
class Override:
    """One decision of a person, with its record.

    Attributes:
        id: unique in an index.
        kind: what was decided.
        pages: ids of the two pages, ascending; of the one page for ``canonical``.
        reason, author: as given; not empty.
        time: when it was decided, ISO 8601 in UTC.
        undone: when it was undone; empty while it is in force.
        undone_by, undone_reason: who undid it, and why; may be empty.
    """

    id: str
    kind: OverrideKind
    pages: tuple[str, ...]
    reason: str
    author: str
    time: str
    undone: str = ""
    undone_by: str = ""
    undone_reason: str = ""

    @property
    def in_force(self) -> bool:
        """Whether it has not been undone."""
        return not self.undone


@dataclass(frozen=True, slots=True)
class OverrideReport:
    """What recording, undoing or importing overrides did.

    Attributes:
        overrides: those that the call names, as they are stored now.
        changed: stored pages whose cluster has changed (other members, or another canonical document), ascending.
    """

    overrides: tuple[Override, ...]
    changed: tuple[str, ...] = ()
