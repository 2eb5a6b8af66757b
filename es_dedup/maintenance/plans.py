"""What each kind of job does, stage by stage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from es_dedup.maintenance.backfill import (
    CatchUp,
    Features,
    IgnoredPassages,
    Orphans,
    Recluster,
    Remaining,
    WriteDedupFields,
)
from es_dedup.maintenance.follow_stage import Follow
from es_dedup.maintenance.pending import PendingDocuments

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from es_dedup.maintenance.stage import Stage

PLANS: Final[Mapping[str, Sequence[Stage]]] = {
    "backfill": (Features(), CatchUp(), Recluster(), WriteDedupFields(), Remaining(), Orphans()),
    "refill": (Features(), CatchUp(), Recluster()),
    "recluster": (PendingDocuments(), IgnoredPassages(), Recluster(), WriteDedupFields(), Orphans()),
    "follow": (Follow(),),
    "update": (WriteDedupFields(), Remaining(), Orphans()),
}
