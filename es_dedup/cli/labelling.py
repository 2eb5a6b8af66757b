"""``quality labels``: what readers said of stored pairs, and how far they agree."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from es_dedup.cli.session import Session
from es_dedup.cli.targets import OutputFile, output_target, write_target


def labels(
    session: Session,
    *,
    output: OutputFile = None,
    by_reader: bool = False,
    import_: Annotated[Path | None, typer.Option(exists=True, dir_okay=False)] = None,
) -> None:
    """Show how far the readers agree who labelled stored pairs in the console, and write their labels for `quality eval` and `quality tune`.

    A pair on which readers differ is undecided (`?`); of two labels of one reader on one pair the later one counts.

    Args:
        output: File for the labels (none).
        by_reader: Write what each reader said and took back, as `--import` reads it.
        import_: First take over labels of a file that `--by-reader` wrote; all lines, or none where one is no label.
    """
    from es_dedup.evaluation.agreement import agreements, as_jsonl, consensus
    from es_dedup.evaluation.labels import UNDECIDED

    inputs = [] if import_ is None else [import_]
    target = output_target(output, session, "--output", inputs) if output else None
    if import_ is not None:
        _import(session, import_)
    with session.read(quiet=True) as dedup:
        annotations, history = dedup.annotations(), dedup.annotations(removed=True)
    rows, found = consensus(annotations), agreements(annotations)
    if target is not None:
        lines = as_jsonl([each.as_dict() for each in history] if by_reader else rows)
        write_target(target, lines.encode())
    undecided = sum(row["label"] == UNDECIDED for row in rows)
    session.output.emit({"pairs": len(rows), "undecided": undecided, "agreement": found})
    kappas = ("" if each.kappa is None else f"{each.kappa:.2f}" for each in found)
    cells = (
        (" ".join(each.readers), each.pairs, f"{each.share:.2f}", kappa)
        for each, kappa in zip(found, kappas, strict=True)
    )
    session.output.table(("readers", "pairs", "agreement", "kappa"), cells)
    place = f" in {output}" if output else ""
    session.output.note(f"{len(rows):,} labelled pairs, {undecided:,} undecided{place}")


def _import(session: Session, source: Path) -> None:
    from es_dedup.batch.annotations import read_jsonl

    with source.open(encoding="utf-8") as lines:
        given = list(read_jsonl(lines, str(source)))
    session.read(quiet=True).close()
    with session.write() as dedup:
        count = dedup.import_annotations(given)
    session.output.note(f"{count:,} of {len(given):,} labels taken over")
