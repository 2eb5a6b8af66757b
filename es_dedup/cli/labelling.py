"""``label``: shows pairs in doubt side by side and writes down what a reader says of them."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from es_dedup.cli.group import ExitCode
from es_dedup.cli.inputs import Intake, Paths, with_input_options
from es_dedup.cli.progress import ProgressDisplay
from es_dedup.cli.session import session_of
from es_dedup.readers import ReadOptions  # noqa: TC001 - typer reads annotations at run time

if TYPE_CHECKING:
    from es_dedup.cli.output import Output
    from es_dedup.evaluation.uncertain import Uncertain
    from es_dedup.model import Cluster
    from es_dedup.pipeline import Deduplicator

ANSWERS: Final = {
    "y": "dup", "yes": "dup", "dup": "dup", "n": "diff", "no": "diff", "diff": "diff",
    "c": "contain", "contain": "contain", "p": "partial", "partial": "partial",
}  # fmt: skip
ASKED: Final = "y duplicate, n different, c contain, p partial, s skip, u take back, q quit: "


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(label)


@with_input_options
def label(
    context: typer.Context,
    paths: Paths,
    options: ReadOptions,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="JSONL file that labels are added to.")
    ] = Path("labels.jsonl"),
    count: Annotated[int, typer.Option(min=1, help="Most pairs to ask about.")] = 50,
    seed: Annotated[int, typer.Option(help="Chooses the pages that pairs are drawn from.")] = 1,
    chars: Annotated[int, typer.Option(min=100, help="Characters shown of each text.")] = 1200,
) -> None:
    """Label pairs: shows those most in doubt side by side and adds your answers to a file of labels.

    Each answer is written at once, and pairs that the file holds are not asked again: run the same command to go on.
    """
    from es_dedup.evaluation import read_labels
    from es_dedup.evaluation.uncertain import uncertain_pairs

    session = session_of(context)
    if output.suffix != ".jsonl":
        raise typer.BadParameter("the name must end in .jsonl", param_hint="--output")
    known = {each.pair for each in read_labels(output)} if output.exists() else set()
    intake = Intake(paths, options, session)
    with session.scratch() as dedup:
        with ProgressDisplay(quiet=session.output.quiet) as progress:
            dedup.scan(intake.pages(), progress=progress)
        pages = [page for cluster in dedup.clusters() for page in _members(cluster)]
        pairs = uncertain_pairs(dedup, pages, count=count, known=known, seed=seed)
        written = _ask(session.output, dedup, pairs, output, chars)
    session.output.emit({"asked": len(pairs), "written": written, "known": len(known)})
    session.output.line(f"{written} labels written to {output}, {len(known)} were there")
    if intake.failed:
        raise typer.Exit(ExitCode.LEFT_OUT)


def _members(cluster: Cluster) -> list[str]:
    return [cluster.representative, *(member.page_id for member in cluster.members)]


def _ask(output: Output, dedup: Deduplicator, pairs: list[Uncertain], target: Path, chars: int) -> int:
    """Ask about each pair until all are answered, or the reader stops; gives the number of labels written."""
    sizes: list[tuple[int, int]] = []  # places in ``pairs`` answered here, and the file's size before each
    place = 0
    while place < len(pairs):
        _show(output, dedup, pairs[place], f"{place + 1} of {len(pairs)}", chars)
        sys.stderr.write(ASKED)
        sys.stderr.flush()
        answer = sys.stdin.readline()
        word = answer.strip().lower()
        if not answer or word in ("q", "quit"):
            break
        if word in ("u", "undo") and sizes:
            place, size = sizes.pop()
            os.truncate(target, size)
        elif word in ("s", "skip"):
            place += 1
        elif word in ANSWERS:
            sizes.append((place, _write(target, dedup, pairs[place], ANSWERS[word])))
            place += 1
        else:
            output.warn(f"no such answer: {word!r}")
    return len(sizes)


def _write(target: Path, dedup: Deduplicator, each: Uncertain, said: str) -> int:
    """Add one line; gives the size of the file before it."""
    left, right = each.pair
    row = {"id_a": left, "id_b": right, "label": said}
    if said == "contain":
        longer = dedup.record(left).length >= dedup.record(right).length
        row["relation"] = "contains" if longer else "contained"
    with target.open("ab") as stream:
        size = stream.tell()
        stream.write((json.dumps(row, ensure_ascii=False) + "\n").encode())
        stream.flush()
        os.fsync(stream.fileno())
    return size


def _show(output: Output, dedup: Deduplicator, each: Uncertain, place: str, chars: int) -> None:
    """Both pages, side by side on a terminal and below each other elsewhere, shared clauses marked."""
    left, right = each.pair
    output.line()
    output.line(f"{place}: {each.judged.relation} {each.judged.score:.2f} – {each.judged.reason}")
    spans = dedup.shared_clauses(left, right)
    sides = (
        (left, [(span.left_start, span.left_end) for span in spans]),
        (right, [(span.right_start, span.right_end) for span in spans]),
    )
    if output.as_json:
        return
    if not sys.stdout.isatty():
        for page, _ in sides:
            output.line(f"[{page}] {dedup.record(page).title}")
            output.line(dedup.text(page)[:chars])
        return
    _draw(output, dedup, sides, chars)


def _draw(
    output: Output, dedup: Deduplicator, sides: tuple[tuple[str, list[tuple[int, int]]], ...], chars: int
) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from es_dedup.cli.output import clean

    table = Table(box=box.SIMPLE_HEAD, expand=True)
    cells = []
    for page, spans in sides:
        table.add_column(Text(clean(f"{page}  {dedup.record(page).title}")), ratio=1)
        text = Text("\n".join(clean(line) for line in dedup.text(page).split("\n")))
        for start, end in spans:
            text.stylize("green", start, end)
        cells.append(text[:chars])
    table.add_row(*cells)
    output.console.print(table)
