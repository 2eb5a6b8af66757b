"""``EmbeddedIndex``: features, clusters and statistics in one SQLite file, behind the port."""

from __future__ import annotations

import sqlite3
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from es_dedup.index.embedded import fulltext
from es_dedup.index.embedded.clusters import ClusterTables
from es_dedup.index.embedded.connection import Connection, online_copy
from es_dedup.index.embedded.fulltext import TextSearch
from es_dedup.index.embedded.records import PageTables
from es_dedup.index.embedded.tables import NAMED
from es_dedup.text.tokens import characters_apart

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from es_dedup.index.records import Assignment, FeatureRecord


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


class EmbeddedIndex(PageTables, TextSearch, ClusterTables):
    """The port ``Index`` over one file.

    One process writes at a time, any number read meanwhile. Threads may share one object: calls wait for each
    other. A call that writes is kept whole or not at all, and once it has returned it survives the death of
    the process; a power cut may take the last calls, back to the last checkpoint (``close`` makes one), but
    leaves a sound file.

    Use it in a ``with`` block, or call ``close``.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        features: Mapping[str, Any] | None,
        segment: Callable[[Sequence[str]], list[str]] | None = None,
        lock_seconds: float = 10.0,
        read_only: bool = False,
    ) -> None:
        """Open a file, or make it when it does not exist and its folder does.

        Args:
            path: the file, or ``:memory:`` for an index that lives as long as the object.
            features: the settings that shape features, JSON-ready by name; must equal those the file was made with. None: whatever
                these are.
            segment: makes words, separated by spaces, of a query. Without it each Chinese character counts as a word.
            lock_seconds: how long a write waits for another writer; 0 tries once.
            read_only: the file must exist and is never changed.

        Raises:
            NotAnIndex: a folder, another application's file, damaged, not readable, or missing while
                ``read_only``.
            SchemaMismatch: written in another format.
            SettingsMismatch: filled with other settings.
            IndexUnavailable: must be written and cannot be.
            IndexLocked: another process is making the same file.
        """
        self._connection = Connection(path, features=features, lock_seconds=lock_seconds, read_only=read_only)
        self._segment = segment or characters_apart

    @property
    def features(self) -> Mapping[str, Any]:
        """See ``Index.features``."""
        return self._connection.features

    def close(self) -> None:
        """Let go of the file; may be called twice. Later calls raise ``IndexUnavailable``."""
        self._connection.close()

    @contextmanager
    def writing(self) -> Iterator[bool]:
        """Keep other writers out over several calls; may be nested within one thread.

        Each call inside is still kept by itself: what it returned from stays when a later one fails.

        Raises:
            IndexLocked: another writer did not finish within ``lock_seconds``.
            IndexUnavailable: opened for reading only.
        """
        with self._connection.writing():
            yield False

    def pages_and_assignments(
        self, page_ids: Iterable[str], notes: Sequence[str] = ()
    ) -> tuple[dict[str, FeatureRecord], dict[str, Assignment], dict[str, str | None]]:
        """See ``Index.pages_and_assignments``: of one state of the file."""
        with self._connection.reading():
            return super().pages_and_assignments(page_ids, notes)

    def refresh(self) -> None:
        """See ``Index.refresh``: every reader sees what a call has returned from."""

    def copy_to(self, place: str | Path) -> AbstractContextManager[Path]:
        """A copy of the file as it is now, with all that was committed before; others may read and write meanwhile.

        Args:
            place: where the copy goes when the block ends without an error; in the block it is in another file, whose path is given.

        Raises:
            IndexUnavailable: it cannot be written, or is there and is not an earlier copy, unchanged since and open in no process.
            IndexLocked: another process writes to what is there.
            NotAnIndex: this file is damaged.
        """
        return online_copy(self._connection, place)

    def erase(self, page_ids: Iterable[str]) -> str:
        """See ``Index.erase``: the file is written anew.

        Pages get a name that says nothing; their numbers stay taken.
        """
        with self._connection.transaction() as connection:
            connection.executemany(
                f"""UPDATE pages SET page_id = 'forgotten-' || hex(randomblob(8))
                WHERE page_id = ? AND state = {NAMED}""",
                ((page_id,) for page_id in page_ids),
            )
            fulltext.clear(connection)
        done = self._connection.rewrite()
        return "" if done else "another process reads the index; repeat the command when it has ended"

    def sizes(self) -> dict[str, int]:
        """Bytes of the file per part, and their ``total``; see ``part_sizes``."""
        with self._connection.reading() as connection:
            return part_sizes(connection)


def part_sizes(connection: sqlite3.Connection) -> dict[str, int]:
    """Bytes per part; ``other`` is the rest of the file, free pages included, and ``total`` is the sum.

    ``features`` holds the payloads and the terms by page, ``postings`` the pages by term, ``pages`` ids and
    metadata. Reads the whole file; where SQLite was built without ``dbstat``, all of it is ``other``.
    """
    found = dict.fromkeys(PARTS, 0)
    with suppress(sqlite3.OperationalError):  # SQLite may be built without that table
        for name, size in connection.execute(_TABLE_BYTES):
            found[_PART_OF.get(name, "fulltext" if name.startswith("fulltext") else "other")] += size
    (file_bytes,) = connection.execute(
        "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
    ).fetchone()
    found["other"] += max(0, file_bytes - sum(found.values()))
    return found | {"total": sum(found.values())}
