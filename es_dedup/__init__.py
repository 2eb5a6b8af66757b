"""Finds near-duplicate web pages, with evidence, before they are indexed and in what is already there.

The public names, nothing else; see the tutorial for how they work together. Each is imported when it is first asked
for, so that ``es-dedup --help`` need not wait for the packages behind them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

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

_MODULES: Final = {
    "DeduplicationResult": "es_dedup.tables.result",
    "Deduplicator": "es_dedup.deduplicator.deduplicator",
    "Override": "es_dedup.model.overrides",
    "OverrideKind": "es_dedup.model.overrides",
    "OverrideReport": "es_dedup.model.overrides",
    "Settings": "es_dedup.settings.loading",
    "deduplicate": "es_dedup.tables.call",
    "extract": "es_dedup.extraction",
    "load_settings": "es_dedup.settings.loading",
}  # of the public names that are not in es_dedup.model


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_MODULES.get(name, "es_dedup.model")), name)
    globals()[name] = value  # asked for once
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
