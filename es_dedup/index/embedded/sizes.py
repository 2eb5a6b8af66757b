"""How many bytes of the file each part takes."""

from __future__ import annotations

import sqlite3
from typing import Final

_PART_OF: Final = {
    "pages": "pages",
    "pages_hash": "pages",
    "sqlite_autoindex_pages_1": "pages",
    "features": "features",
    "postings": "postings",
    "texts": "texts",
    "texts_doc": "texts",
    "edges": "clusters",
    "edges_right": "clusters",
    "assignments": "clusters",
    "assignments_cluster": "clusters",
}
PARTS: Final = ("pages", "features", "postings", "texts", "fulltext", "clusters", "other")
_TABLE_BYTES: Final = "SELECT name, sum(pgsize) FROM dbstat WHERE aggregate = TRUE GROUP BY name"

# Without the dbstat table: bytes of the values and what SQLite's rows and half-filled pages add on average.
_ESTIMATES: Final = {
    "pages": "SELECT sum(2 * length(page_id) + length(url) + length(site) + length(title) + 60) FROM pages",
    "features": "SELECT sum(length(terms) + length(payload) + 12) * 1.1 FROM features",
    "postings": "SELECT count(*) * 16.7 FROM postings",
    "texts": "SELECT sum(length(body) + 22) * 1.05 FROM texts",
    "fulltext": "SELECT sum(length(block) + 8) * 1.05 FROM fulltext_data",
    "clusters": "SELECT (SELECT count(*) FROM edges) * 50 + (SELECT count(*) FROM assignments) * 40",
}


def sizes(connection: sqlite3.Connection) -> dict[str, int]:
    """Bytes per part; ``other`` is the rest of the file, free pages included, and ``total`` is the sum.

    ``features`` holds the payloads and the terms by page, ``postings`` the pages by term, ``pages`` ids and
    metadata. Reads the whole file, or estimates where SQLite was built without ``dbstat``.
    """
    found = dict.fromkeys(PARTS, 0)
    try:
        for name, size in connection.execute(_TABLE_BYTES):
            found[_PART_OF.get(name, "fulltext" if name.startswith("fulltext") else "other")] += size
    except sqlite3.OperationalError:
        for part, query in _ESTIMATES.items():
            found[part] = int(connection.execute(query).fetchone()[0] or 0)
    (file_bytes,) = connection.execute(
        "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
    ).fetchone()
    found["other"] += max(0, file_bytes - sum(found.values()))
    return found | {"total": sum(found.values())}
