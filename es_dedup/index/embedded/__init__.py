"""One SQLite file: postings, records, clusters, full text.

``EmbeddedIndex`` is the adapter.

Traps:
    - A large batch is far cheaper per page than many small ones: postings are written sorted by term.
    - A process that was forked must not use an index its parent opened; open the file again.
    - Beside the file ``x.db`` lie ``x.db.lock`` and, while it is open, ``x.db-wal`` and ``x.db-shm``. Copy an
      index when no process has it open, or with SQLite's own backup.
"""

from es_dedup.index.embedded.adapter import EmbeddedIndex

__all__ = ["EmbeddedIndex"]
