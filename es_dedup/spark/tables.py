"""Schemas of the tables that steps give and take, and of those between them. 64-bit hashes stand in signed columns, bit by bit."""

from __future__ import annotations

from typing import Final

FEATURES: Final = (
    "page_id string, published string, site string, url string, title string, language string, length bigint, "
    "content_hash bigint, place_key bigint, payload binary, named string, skipped string, failed string"
)
"""One row a page.

- ``published``: ISO 8601 or empty; ``site``, ``url``, ``title``: as given or extracted, empty when unknown
- ``language``: ``zh``, ``en`` or ``und``
- ``length``, ``content_hash``: characters and hash that exact copies share
- ``place_key``: hash of the page id; statistics are learned from the pages with the smallest ones
- ``payload``: the features, packed as an index stores them
- ``named``: named fields of the features as JSON, for an index that keeps them; empty when they were not asked for
- ``skipped``: why the page has no features and so matches nothing; ``failed``: why it could not be processed, all else is empty then
"""

PAIRS: Final = (
    "left string, right string, relation string, score double, left_cover double, right_cover double"
)
"""One row a related pair, the smaller page id on the left.

- ``relation``: how the left page stands to the right one: exact, duplicate, contains, contained
- ``score``: agreement, in [0, 1]
- ``left_cover``: share of the left page that the right one has, template discounted, in [0, 1]; ``right_cover``: the reverse
"""

CLUSTERS: Final = (
    "page_id string, cluster_id string, canonical string, relation string, score double, duplicate_of string, "
    "cover double, canonical_cover double, failed string"
)
"""One row a page.

- ``cluster_id``, ``canonical``: of the page's cluster; a page without duplicates is its own
- ``duplicate_of``: the canonical document, null for the canonical document itself
- ``relation``, ``score``: to it: exact or duplicate, in [0, 1]; null for itself
- ``cover``: share of the page that the canonical document has; ``canonical_cover``: the reverse; null for itself
- ``failed``: why the page could not be processed; it is in no cluster, all else is null
"""

ORDER: Final = "page_id string, favour bigint, measure bigint, shortness bigint"
RANKS: Final = "page_id string, rank bigint"
COPIES: Final = "rank bigint, answering boolean, leader bigint"
TERMS: Final = (
    "method tinyint, term bigint, rank bigint, queried boolean, stored boolean, fresh boolean, fact bigint"
)
FACTS: Final = "method tinyint, rank bigint, facts array<bigint>, stored array<bigint>"
HITS: Final = "method tinyint, query bigint, stored bigint, shared bigint, needed tinyint"
CANDIDATES: Final = "left bigint, right bigint"
