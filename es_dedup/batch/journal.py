"""What people have said of stored pages, as an index keeps it: rows in notes that are never rewritten."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from es_dedup.errors import InputError, SchemaMismatch, reading_stored
from es_dedup.index.port import NO_NOTES, ClusterUpdates, Index, Notes

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence

    from es_dedup.model.annotations import Annotation
    from es_dedup.model.overrides import Override

    Entry = Annotation | Override  # a later one with the same ``key`` takes its place

MAX_ROW_ENTRIES: Final = 1_000
MAX_CHARS: Final = 1_000
"""Characters of a name, a reason and any other string of an entry but a passage."""
CACHED_JOURNALS: Final = 8
"""Indices whose journals a process keeps in memory."""


EntryT = TypeVar("EntryT")


@dataclass(frozen=True)
class Recorded(Generic[EntryT]):
    """The entries of a journal as they were read.

    Attributes:
        rows: how many rows they are in.
        mark: of the last row; no two rows have the same.
        entries: the last of each key, by time.
    """

    rows: int = 0
    mark: str = ""
    entries: Mapping[Any, EntryT] = field(default_factory=dict)


Known = TypeVar("Known", bound=Recorded[Any])


class Journal(Generic[Known]):
    """Entries of one kind. A note has how many rows there are and the mark of the last one; each row is a note.

    Args:
        name: of the first note; rows have a number from 1 behind it, in the order in which they were recorded.
        form: number of the stored format.
        nothing: what is read of an index that has no entries.
        entry_of: makes an entry of what its ``as_dict`` gave; raises ``LookupError``, ``TypeError`` or ``ValueError``.
        what: an entry is called so.
    """

    def __init__(
        self, name: str, form: int, nothing: Known, entry_of: Callable[[Mapping[str, Any]], Entry], what: str
    ) -> None:
        self.name, self.form, self._nothing, self._entry_of = name, form, nothing, entry_of
        self._what = what
        self.cached: dict[str, Known] = {}  # what this process has read, by the random name of a journal

    def row(self, number: int) -> str:
        """Name of the note of a row."""
        return f"{self.name}:{number}"

    def recorded(self, index: ClusterUpdates, notes: Notes = NO_NOTES) -> Known:
        """The entries of an index; only rows that this process has not read yet are read.

        Args:
            index: has them.
            notes: what was read of its notes, maybe that of this journal.

        Raises:
            SchemaMismatch: they are of another format.
            DamagedData: they cannot be read.
        """
        head = notes[self.name] if self.name in notes else index.note(self.name)
        if head is None:
            return self._nothing
        with reading_stored(self.name):
            values: dict[str, Any] = json.loads(head)
            if values["format"] != self.form:
                raise SchemaMismatch(f"the note of {self.name}", self.form, int(str(values["format"])))
            rows, mark, journal = int(values["rows"]), str(values["mark"]), str(values["journal"])
            recorded = self.cached.get(journal, self._nothing)
            if (recorded.rows, recorded.mark) != (rows, mark):
                if json.loads(index.note(self.row(rows)) or "{}")["mark"] != mark:
                    raise ValueError(f"row {rows} is another one")
                known = recorded if recorded.rows <= rows else self._nothing
                recorded = self._later(index, known, int(values.get("first", 1)), rows)
                if journal not in self.cached and len(self.cached) >= CACHED_JOURNALS:
                    self.cached.clear()
                self.cached[journal] = recorded
        return recorded

    def _later(self, index: ClusterUpdates, known: Known, first: int, rows: int) -> Known:
        """The rows that came after those known, added; all rows are read where the known ones are no longer there."""
        start = max(known.rows, first)  # the last known row again
        names = [self.row(number) for number in range(start, rows + 1)]
        read = index.notes(names)
        later = [json.loads(read[name] or "null") for name in names]
        if known.rows and later[0]["mark"] != known.mark:
            return self._later(index, self._nothing, first, rows)
        entries: dict[Hashable, Entry] = dict(known.entries)
        for row in later:
            entries.update((each.key, each) for each in map(self._entry_of, row[self.name]))
        by_time = sorted(entries.values(), key=lambda each: each.time)  # those of one second as they came
        return replace(known, rows=rows, mark=later[-1]["mark"], entries={each.key: each for each in by_time})

    def record(
        self, index: Index, changes: Sequence[Entry], notes: Mapping[str, str] = MappingProxyType({})
    ) -> Known:
        """Store entries that are new or have changed, and other notes before; the caller keeps other writers out.

        They count, all of them, when the first note is written at the end.
        """
        self._append(index, changes, json.loads(index.note(self.name) or "{}"), notes)
        return self.recorded(index)

    def erase(self, index: Index, kept: Sequence[Entry]) -> None:
        """Store these entries in place of all: of the others nothing is left. To repeat it, after it was interrupted too, is safe."""
        head = json.loads(index.note(self.name) or "{}")
        if not head:
            return
        first = head["rows"] + 1
        self._append(index, kept, {"first": first, "rows": head["rows"]}, {}, least=1)
        for number in range(1, first):
            index.set_note(self.row(number), None)

    def _append(
        self,
        index: Index,
        changes: Sequence[Entry],
        head: dict[str, Any],
        before: Mapping[str, str],
        least: int = 0,
    ) -> None:
        """Add rows behind those that a head counts, at least ``least`` of them, and then replace the head."""
        rows, mark = head.get("rows", 0), head.get("mark", "")
        notes: dict[str, str | None] = {**before}
        for start in range(0, max(len(changes), least), MAX_ROW_ENTRIES):
            rows, mark = rows + 1, secrets.token_hex(6)
            some = changes[start : start + MAX_ROW_ENTRIES]
            row = {"mark": mark, self.name: [each.as_dict() for each in some]}
            notes[self.row(rows)] = json.dumps(row, ensure_ascii=False)
        journal = head.get("journal") or secrets.token_hex(6)
        first = {"first": head["first"]} if "first" in head else {}
        head = {"format": self.form, "journal": journal, "rows": rows, "mark": mark, **first}
        index.set_notes({**notes, self.name: json.dumps(head)})

    def read_jsonl(self, lines: Iterable[str], source: str) -> Iterator[Any]:
        """Entries of a file, one JSON object a line, as their ``as_dict`` gives them; empty lines are passed over.

        Args:
            lines: of the file.
            source: its name.

        Raises:
            InputError: a line that is none; names the file and the line.
        """
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    entry = self._entry_of(json.loads(line))
                    datetime.fromisoformat(entry.time)  # entries are ordered by it
                except (LookupError, TypeError, ValueError, RecursionError) as error:
                    raise InputError(source, number, f"no {self._what} ({error})") from error
                yield entry


def problem_of(entries: Sequence[Entry]) -> str:
    """Why some entries cannot be stored: a string is too long, or has half a surrogate pair; empty where they can."""
    for each in entries:
        for name, value in each.as_dict().items():
            if name != "text" and isinstance(value, str) and len(value) > MAX_CHARS:
                return f"{name} has {len(value):,} characters, more than {MAX_CHARS:,}"
    try:
        json.dumps([each.as_dict() for each in entries], ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return "a string is no text"
    return ""
