"""Lists of clusters: what is wanted, in which order, and what is known of each without reading all its pages."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, TypeAlias

from es_dedup.model import Relation, Scope

Place: TypeAlias = tuple[Any, str]
"""Where a cluster stands in an order: the value it is ordered by, and its id."""
MOST_PAGES: Final = 2**31 - 1
"""The largest number of pages of a cluster that every index compares."""


class ClusterOrder(StrEnum):
    """The order of a list of clusters; equal ones are ordered by id."""

    ID = "id"
    LARGEST = "largest"
    NEWEST = "newest"
    """By ``ClusterSummary.newest``, the latest first and those without a time last."""
    CONFIDENCE = "confidence"
    """By ``ClusterSummary.confidence``, the lowest first."""

    @property
    def descending(self) -> bool:
        """Whether greater values come first."""
        return self in (ClusterOrder.LARGEST, ClusterOrder.NEWEST)


@dataclass(frozen=True, slots=True)
class ClusterQuery:
    """Which clusters are listed.

    Attributes:
        min_size: pages that a cluster has at least, from 1.
        relation: ``exact`` or ``duplicate``, of at least one page to the canonical document; None: any.
        scope: at least one page of the cluster, the canonical document or another, lies in it.
        order: of the list.
    """

    min_size: int = 2
    relation: Relation | None = None
    scope: Scope = field(default_factory=Scope)
    order: ClusterOrder = ClusterOrder.ID

    def place_of(self, summary: ClusterSummary) -> Place:
        """Where a cluster stands in the order."""
        field_name = "size" if self.order is ClusterOrder.LARGEST else str(self.order)
        return getattr(summary, field_name), summary.id

    def follows(self, place: Place, after: Place | None) -> bool:
        """Whether a place comes after another one."""
        if after is None or place[0] == after[0]:
            return after is None or place[1] > after[1]
        less: bool = place[0] < after[0]
        return less is self.order.descending

    def cursor(self, summary: ClusterSummary) -> str:
        """From where the list goes on after a cluster; in the order of ids the id itself."""
        value, name = self.place_of(summary)
        return name if self.order is ClusterOrder.ID else f"{value}~{name}"

    def after(self, cursor: str | None) -> Place | None:
        """The place that a cursor names; None without one.

        Raises:
            ValueError: it is no cursor of this order.
        """
        if cursor is None or self.order is ClusterOrder.ID:
            return None if cursor is None else (cursor, cursor)
        value, mark, name = cursor.partition("~")
        kinds = {ClusterOrder.LARGEST: int, ClusterOrder.CONFIDENCE: float, ClusterOrder.NEWEST: str}
        with suppress(ValueError):
            place = kinds[self.order](value)
            # not nan, and what indices can store
            if mark and (isinstance(place, str) or abs(place) < MOST_PAGES):
                return place, name
        raise ValueError(f"{cursor!r} is no cursor of the order {self.order}")


@dataclass(frozen=True, slots=True)
class ClusterSummary:
    """A cluster in a list.

    Attributes:
        id: of the cluster.
        canonical: page id of the canonical document.
        size: pages, with the canonical document.
        newest: the latest time of publication among the pages that lie in the scope; empty when none is known.
        confidence: the lowest stored agreement of a page with the canonical document, in [0, 1]; 1.0 of a single page.
        weakest: the page with that agreement, of several the first by id; the canonical document of a single page.
    """

    id: str
    canonical: str
    size: int
    newest: str
    confidence: float
    weakest: str
