"""One SQLite file: postings, records, clusters, full text.

``EmbeddedIndex`` is the adapter; ``RecordBatch`` and ``compress_text`` serve those who write large batches.

Traps:
    - A large batch is far cheaper per page than many small ones: postings are written sorted by term.
    - A process that was forked must not use an index its parent opened; open the file again.
    - Beside the file ``x.db`` lie ``x.db.lock`` and, while it is open, ``x.db-wal`` and ``x.db-shm``. Copy an
      index when no process has it open, or with SQLite's own backup.
"""

from es_dedup.index.embedded.adapter import EmbeddedIndex
from es_dedup.index.embedded.postings import Postings
from es_dedup.index.records import RecordBatch
from es_dedup.index.texts import compress_text, decompress_text

__all__ = ["EmbeddedIndex", "Postings", "RecordBatch", "compress_text", "decompress_text"]
