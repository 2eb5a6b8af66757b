"""What a mode finds, before it is shown: hits in piles, one pile a group."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from es_dedup.collapse.model import Hit, Total


@dataclass(frozen=True, slots=True)
class Pile:
    """The fetched hits of one group, best first, at least one; and the piles that stand in its pages."""

    hits: list[Hit]
    cluster_id: str | None
    contained: tuple[Pile, ...] = ()

    @property
    def head(self) -> Hit:
        """The hit that stands for the group."""
        return self.hits[0]


@dataclass(frozen=True, slots=True)
class Found:
    """Findings of a mode; names as in ``GroupPage``.

    Attributes:
        ended: nothing that matches lies behind the last pile.
        more: the further attributes of ``GroupPage``, out of the answer to the user's search.
    """

    piles: list[Pile]
    documents: Total | None = None
    groups: Total | None = None
    facets: Mapping[str, Any] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    took_ms: int = 0
    ended: bool = False
    more: Mapping[str, Any] = field(default_factory=dict)
