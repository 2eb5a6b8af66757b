"""Hits grouped by cluster, as a mode returns them before they become a ``GroupPage``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from es_dedup.collapse.model import Hit, Total


@dataclass(frozen=True, slots=True)
class HitGroup:
    """The fetched hits of one group, best first, at least one; and the groups whose pages are contained in its pages.

    ``members`` and ``members_total``: see ``Group``.
    """

    hits: list[Hit]
    cluster_id: str | None
    contained: tuple[HitGroup, ...] = ()
    members: tuple[Hit, ...] = ()
    members_total: Total | None = None

    @property
    def head(self) -> Hit:
        """The best hit, which is shown for the group."""
        return self.hits[0]


@dataclass(frozen=True, slots=True)
class GroupedHits:
    """Result of a mode; names as in ``GroupPage``.

    Attributes:
        complete: no further match follows the last group.
        more: further attributes of ``GroupPage``, from the response to the user's search.
    """

    groups: list[HitGroup]
    total_documents: Total | None = None
    total_groups: Total | None = None
    facets: Mapping[str, Any] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    took_ms: int = 0
    complete: bool = False
    more: Mapping[str, Any] = field(default_factory=dict)
