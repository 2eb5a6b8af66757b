"""What each kind of job does, stage by stage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from es_dedup.maintenance.backfill import CatchUp, Features, MarkAll, Orphans, Rest, Settle
from es_dedup.maintenance.pending import Waiting

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from es_dedup.maintenance.stage import Stage

PLANS: Final[Mapping[str, Sequence[Stage]]] = {
    "backfill": (Features(), CatchUp(), Settle(), MarkAll(), Rest(), Orphans()),
    "refill": (Features(), CatchUp(), Settle()),
    "recluster": (Waiting(), Settle(), MarkAll(), Orphans()),
    "mark": (MarkAll(), Rest(), Orphans()),
}
