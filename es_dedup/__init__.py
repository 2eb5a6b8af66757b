"""Finds near-duplicate web pages, with evidence, before they are indexed and in what is already there.

The public names, nothing else; see the tutorial for how they work together.
"""

from es_dedup.config import Settings, load_settings
from es_dedup.extraction import extract
from es_dedup.model import (
    AddReport,
    Cluster,
    Content,
    Decision,
    JudgedPair,
    Member,
    Outcome,
    Page,
    Progress,
    Relation,
    RemoveReport,
    SearchHit,
    SearchResult,
    Skipped,
    Verdict,
    WritePolicy,
)
from es_dedup.pipeline import Deduplicator

__all__ = [
    "AddReport",
    "Cluster",
    "Content",
    "Decision",
    "Deduplicator",
    "JudgedPair",
    "Member",
    "Outcome",
    "Page",
    "Progress",
    "Relation",
    "RemoveReport",
    "SearchHit",
    "SearchResult",
    "Settings",
    "Skipped",
    "Verdict",
    "WritePolicy",
    "extract",
    "load_settings",
]
__version__ = "0.1.0"
