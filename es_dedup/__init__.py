"""Finds near-duplicate web pages, with evidence, before they are indexed and in what is already there.

The public names, nothing else; see the tutorial for how they work together. Each is imported when it is first asked
for, so that ``es-dedup --help`` need not wait for the packages behind them.
"""

from typing import TYPE_CHECKING

from es_dedup import lazy

if TYPE_CHECKING:
    from es_dedup.deduplicator.deduplicator import Deduplicator
    from es_dedup.extraction import extract
    from es_dedup.model import (
        AddReport,
        Cluster,
        Content,
        Decision,
        Member,
        Outcome,
        Page,
        PairDecision,
        Progress,
        Relation,
        RemoveReport,
        SearchHit,
        SearchResult,
        Skipped,
        Verdict,
        WritePolicy,
    )
    from es_dedup.model.overrides import Override, OverrideKind, OverrideReport
    from es_dedup.settings import Settings, load_settings
    from es_dedup.tables.call import deduplicate
    from es_dedup.tables.result import DeduplicationResult

__all__ = [
    "AddReport",
    "Cluster",
    "Content",
    "Decision",
    "DeduplicationResult",
    "Deduplicator",
    "Member",
    "Outcome",
    "Override",
    "OverrideKind",
    "OverrideReport",
    "Page",
    "PairDecision",
    "Progress",
    "Relation",
    "RemoveReport",
    "SearchHit",
    "SearchResult",
    "Settings",
    "Skipped",
    "Verdict",
    "WritePolicy",
    "deduplicate",
    "extract",
    "load_settings",
]
__version__ = "0.2.0"

if not TYPE_CHECKING:
    __getattr__ = lazy.attributes(__name__)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
