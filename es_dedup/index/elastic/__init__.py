"""Elasticsearch, 8.16.6 or later: features, clusters, texts and notes, each in an index of its own.

``adapter.ElasticIndex`` is the adapter. It needs nothing but the core of the server: no scripts, no server-side reindexing, no
paid feature. The mappings stand in the folder ``mappings`` of the repository; ``schema.load_mapping`` reads them.
"""

from typing import TYPE_CHECKING

from es_dedup import lazy

if TYPE_CHECKING:
    from es_dedup.index.elastic import (
        adapter,
        address,
        connecting,
        documents,
        jobs,
        schema,
        server,
        source_index,
    )

__all__ = ["adapter", "address", "connecting", "documents", "jobs", "schema", "server", "source_index"]

# Who has an index in a file needs no more than the addresses.
if not TYPE_CHECKING:
    __getattr__ = lazy.attributes(__name__)
