"""Index-time hook: documents are decided on before they are written to Elasticsearch.

``dedup_bulk`` and its relatives take the place of ``elasticsearch.helpers.bulk``; ``DedupHook`` serves other writers.
"""

from es_dedup.hook.bulk import (
    async_dedup_bulk,
    async_dedup_streaming_bulk,
    dedup_bulk,
    dedup_parallel_bulk,
    dedup_streaming_bulk,
)
from es_dedup.hook.hook import DedupHook, Dispatcher
from es_dedup.hook.report import HookReport
from es_dedup.hook.run import BulkResult
from es_dedup.index.source_index import SourceFields

__all__ = [
    "BulkResult",
    "DedupHook",
    "Dispatcher",
    "HookReport",
    "SourceFields",
    "async_dedup_bulk",
    "async_dedup_streaming_bulk",
    "dedup_bulk",
    "dedup_parallel_bulk",
    "dedup_streaming_bulk",
]
