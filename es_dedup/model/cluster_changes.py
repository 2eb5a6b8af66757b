"""Changes of clusters, page by page, as others follow them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from es_dedup.model import Relation


@dataclass(frozen=True, slots=True)
class ClusterChange:
    """The present cluster of a page whose cluster has changed; or a reset.

    To apply it: keep ``cluster_id`` and ``canonical`` under ``page_id``, or forget the page where ``cluster_id`` is None. On a reset
    forget all pages; all that are clustered follow. Applying a change again changes nothing.

    Attributes:
        cursor: continues after this change.
        page_id: the page; None for a reset.
        cluster_id: its cluster; None for a page that is not clustered any more, because it was removed.
        canonical: page id of the cluster's canonical document.
        relation: of the page to the canonical document.
        score: agreement with it, in [0, 1].
    """

    cursor: str
    page_id: str | None = None
    cluster_id: str | None = None
    canonical: str | None = None
    relation: Relation | None = None
    score: float | None = None

    @property
    def reset(self) -> bool:
        """Whether everything known so far is to be forgotten."""
        return self.page_id is None

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        if self.reset:
            return {"reset": True, "cursor": self.cursor}
        return {
            "page": self.page_id,
            "cluster": self.cluster_id,
            "canonical": self.canonical,
            "relation": None if self.relation is None else str(self.relation),
            "score": self.score,
            "cursor": self.cursor,
        }


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place in the changes of one index.

    Attributes:
        log: which log of changes; another one after all clusters were replaced on a server, or in another index.
        place: number of the last change that was read; -1 before all.
    """

    log: str
    place: int

    @classmethod
    def parse(cls, text: str) -> Cursor:
        """Of its text.

        Raises:
            ValueError: it is none.
        """
        log, colon, place = text.rpartition(":")
        if not (log and colon and place.removeprefix("-").isascii() and place.removeprefix("-").isdigit()):
            raise ValueError(f"{text!r} is no cursor: pass the cursor of the last change, or none for all")
        return cls(log, int(place))

    def __str__(self) -> str:
        return f"{self.log}:{self.place}"
