"""Elasticsearch, 8.16.6 or later: features, clusters, texts and notes, each in an index of its own.

``ElasticIndex`` is the adapter. It needs nothing but the core of the server: no scripts, no server-side reindexing, no
paid feature. The mappings stand in the folder ``mappings`` of the repository; ``schema.load_mapping`` reads them.
"""

from typing import TYPE_CHECKING

from es_dedup import lazy

if TYPE_CHECKING:
    from es_dedup.index.elastic.adapter import ElasticIndex
    from es_dedup.index.elastic.address import Address, is_address, lacks_scheme, parse_address
    from es_dedup.index.elastic.connecting import Options
    from es_dedup.index.elastic.documents import TermFields
    from es_dedup.index.elastic.jobs import JobStore
    from es_dedup.index.elastic.server import Server
    from es_dedup.index.elastic.source_index import SourceIndex

__all__ = [
    "Address",
    "ElasticIndex",
    "JobStore",
    "Options",
    "Server",
    "SourceIndex",
    "TermFields",
    "is_address",
    "lacks_scheme",
    "parse_address",
]

# Who has an index in a file needs no more than the addresses.
if not TYPE_CHECKING:
    __getattr__ = lazy.attributes(
        __name__,
        {
            "adapter": ("ElasticIndex",),
            "address": ("Address", "is_address", "lacks_scheme", "parse_address"),
            "documents": ("TermFields",),
            "jobs": ("JobStore",),
            "connecting": ("Options",),
            "server": ("Server",),
            "source_index": ("SourceIndex",),
        },
    )
