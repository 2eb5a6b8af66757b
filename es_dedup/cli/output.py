"""Results for people (tables) or machines (JSON lines), and notes on standard error."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final

from es_dedup.model import PairDecision
from es_dedup.model.plain import plain

if TYPE_CHECKING:
    from rich.console import Console, Group
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text


_PADDING: Final = 3  # beside a cell, its right edge among them
_EDGES: Final = 2  # of the table
_IDS: Final = frozenset({"cluster", "id", "job", "page"})
"""Columns whose cells people copy: the others are folded first."""
_NARROW: Final = 8  # to which other columns are folded before those of ids
COLOURS: Final = {
    **dict.fromkeys(("exact", "duplicate"), "green"),
    **dict.fromkeys(("contains", "contained"), "cyan"),
    **dict.fromkeys(("different", "unique"), "dim"),
    **dict.fromkeys(("inconclusive", "note"), "yellow"),
    "fault": "red",
}
"""Of relations, outcomes and states on a terminal."""
_CONTROLS: Final = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""What a page could steer a terminal with."""


class Output:
    """Where a command's results go.

    With ``as_json`` each result is one line of JSON on standard output and nothing else is written there.
    On a terminal tables are drawn; into a pipe they are written as tab-separated lines without colour.
    """

    def __init__(self, *, as_json: bool, quiet: bool) -> None:
        self.as_json, self.quiet = as_json, quiet
        self.command = ""

    @property
    def console(self) -> Console:
        """Standard output, for drawings."""
        from rich.console import Console

        return Console(file=sys.stdout, highlight=False)

    def emit(self, result: Any) -> None:
        """One result as a line of JSON; only with ``as_json``."""
        if self.as_json:
            sys.stdout.write(json.dumps(plain(result), ensure_ascii=False, allow_nan=False) + "\n")

    def result(self, facts: Mapping[str, object], said: Mapping[str, Any] | None = None) -> None:
        """What the command did: ``facts`` for people; with ``as_json`` its name and ``said``, or the same facts."""
        self.emit({"command": self.command, **(facts if said is None else said)})
        self.facts(facts)

    def line(self, text: str = "", relation: str = "") -> None:
        """A line for people, on standard output; on a terminal the word ``relation`` in it has its colour."""
        if self.as_json:
            return
        text = _storable(text)
        if not relation or not sys.stdout.isatty():
            sys.stdout.write(text + "\n")
            return
        from rich.text import Text

        shown = Text(text)
        shown.highlight_words([relation], COLOURS[relation])
        self.console.print(shown, soft_wrap=True)

    def lines(self, texts: Iterable[str]) -> None:
        """Lines for people, without characters that steer a terminal."""
        for text in texts:
            self.line(clean(text))

    def note(self, text: str) -> None:
        """A remark on standard error; not when quiet."""
        if not self.quiet:
            self.warn(text)

    def warn(self, text: str) -> None:
        """A remark on standard error, quiet or not."""
        sys.stderr.write(_storable(text) + "\n")

    def table(
        self, head: Sequence[str], rows: Iterable[Sequence[object]], objects: Iterable[object] = ()
    ) -> None:
        """A table for people: drawn on a terminal, tab-separated in a pipe; with ``as_json`` a line for each of ``objects``."""
        if self.as_json:
            for each in objects:
                self.emit(each)
            return
        if not sys.stdout.isatty():
            self.line("\t".join(head))
            for row in rows:
                self.line("\t".join(clean(cell) for cell in row))
            return
        console = self.console
        console.print(_drawn(head, [[clean(cell) for cell in row] for row in rows], console.width))

    def warn_each(self, what: str, reasons: Mapping[str, str], most: int) -> None:
        """A remark for each of the first pages or files, with the reason, and how many more there are."""
        for name, reason in islice(reasons.items(), most):
            self.warn(f"{what}: {clean(name)}: {reason}")
        if len(reasons) > most:
            self.warn(f"{what}: {len(reasons) - most:,} more; --json lists them")

    def facts(self, facts: Mapping[str, object]) -> None:
        """Names and values below each other."""
        width = max((len(name) for name in facts), default=0)
        for name, value in facts.items():
            self.line(f"{name:<{width}}  {clean(readable(value))}")


def show_pair(output: Output, pair: PairDecision, *, methods: Sequence[str] | None = None) -> None:
    """A decided pair for people: its relation and three lines, then one line for each method, or for each of ``methods``."""
    from es_dedup.views.evidence import measures

    first, *rest = pair.explanation
    output.line(f"{pair.relation}: {clean(first)}", str(pair.relation))
    for line in rest:
        output.line(f"  {clean(line)}")
    for verdict in pair.all_verdicts:
        if methods is None or verdict.detector in methods:
            shown = ", ".join(clean(measure) for measure in measures(verdict.evidence))
            line = f"  {verdict.detector:<10} {verdict.relation!s:<10} {verdict.score:.3f}  {shown}"
            output.line(line, str(verdict.relation))
    for name, reason in pair.skipped.items():
        if methods is None or name in methods:
            output.line(f"  {name:<10} not applicable: {clean(reason)}")


def _drawn(head: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> Table | Group:
    """The table; where it leaves too little room for whole ids, each row on lines of its own. Nothing is cut."""
    from rich import box
    from rich.cells import cell_len
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, header_style="bold")
    longest = [max(map(cell_len, column)) for column in zip(head, *rows, strict=True)]
    ids = [name in _IDS for name in head]
    others = sum(min(length, _NARROW) for length, is_id in zip(longest, ids, strict=True) if not is_id)
    wanted = sum(length for length, is_id in zip(longest, ids, strict=True) if is_id)
    if wanted + others + _PADDING * len(head) + _EDGES > width and any(ids):
        return Group(*chain.from_iterable(_row_by_itself(head, row) for row in rows))
    for name, length, is_id in zip(head, longest, ids, strict=True):
        table.add_column(name, overflow="fold", width=length if is_id else None)
    for row in rows:
        table.add_row(*(Text(cell, COLOURS.get(cell, "")) for cell in row))
    return table


def _row_by_itself(head: Sequence[str], row: Sequence[str]) -> Iterator[Text | Padding]:
    """The ids of a row on a line, then its other cells with their names."""
    from rich.padding import Padding
    from rich.text import Text

    cells = [(name, cell) for name, cell in zip(head, row, strict=True) if cell]
    yield Text("  ".join(cell for name, cell in cells if name in _IDS), "bold", overflow="fold")
    others = [
        Text.assemble((f"{name} ", "dim"), (cell, COLOURS.get(cell, "")))
        for name, cell in cells
        if name not in _IDS
    ]
    yield Padding(Text("; ").join(others), (0, 0, 0, 2))


def clean(value: object) -> str:
    """Text on one line, without characters that steer a terminal."""
    return _storable(_CONTROLS.sub(" ", str(value)))


def _storable(text: str) -> str:
    encoding = sys.stdout.encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def readable(value: object) -> str:
    """A value as people read it: ``name value, name value`` for a mapping, ``a, b`` for a list."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {readable(item)}".strip() for name, item in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(map(readable, value))
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, (int, float)):
        return "" if value is None else str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"
