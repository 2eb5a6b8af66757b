"""``quality label``: pairs in doubt, each with what a reader says of it; what readers said in the console."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from es_dedup.cli.explaining import aligned_lines
from es_dedup.cli.group import ExitCode
from es_dedup.cli.inputs import Intake
from es_dedup.cli.output import Output
from es_dedup.cli.session import Session
from es_dedup.cli.targets import Target, output_target
from es_dedup.model.annotations import Label
from es_dedup.readers import ReadOptions

if TYPE_CHECKING:
    from es_dedup.deduplicator.deduplicator import Deduplicator
    from es_dedup.evaluation.uncertain import Uncertain

ANSWERS: Final = {
    **{word: label for label in Label for word in (label.key, str(label))},
    "yes": Label.DUP,
    "no": Label.DIFF,
}
LABELS_OF_READERS: Final = rb'\{"id_a": "[^\n]*"readers?": '
"""How files of readers' labels begin; those of answers name no reader."""
ASKED: Final = "y duplicate, n different, c contain, p partial, s skip, u undo, q quit: "


def label(
    session: Session,
    paths: Annotated[list[str] | None, typer.Argument(metavar="PATH…")] = None,
    *,
    options: ReadOptions,
    output: Annotated[Path | None, typer.Option("-o")] = None,
    count: Annotated[int, typer.Option(min=1)] = 50,
    chars: Annotated[int, typer.Option(min=100)] = 600,
    by_reader: bool = False,
    import_: Annotated[Path | None, typer.Option(exists=True, dir_okay=False)] = None,
) -> ExitCode:
    """Label pairs: shows those most in doubt with their texts aligned and adds your answers to a file. Without PATH, shows how far readers agree.

    Each answer is written at once, and pairs that the file holds are not asked again: run the same command to go on.
    Without PATH, the labels that readers gave in the console are written for `quality eval` and `quality tune`: a pair on which they
    differ is undecided (`?`); of two labels of one reader on one pair the later one counts.

    Args:
        paths: Input with pages, as that of `scan`. Without it, the labels of readers in the index are shown.
        output: JSONL file that answers are added to (labels.jsonl); without PATH, file for the labels (none).
        count: Maximum number of pairs to label.
        chars: Characters shown of a stretch that one text alone has.
        by_reader: Without PATH: write what each reader said and took back, as `--import` reads it.
        import_: Without PATH: first take over labels of a file that `--by-reader` wrote; all lines, or none where one is no label.
    """
    if not paths:
        return _show_agreement(session, output, import_, by_reader=by_reader)
    if by_reader or import_ is not None:
        problem = "they are for the labels in the index: name no PATH"
        raise typer.BadParameter(problem, param_hint="--by-reader, --import")
    from es_dedup.evaluation import read_labels
    from es_dedup.evaluation.uncertain import uncertain_pairs

    file = output or Path("labels.jsonl")
    target = output_target(file, session, "--output", b"", paths)  # what it holds is kept
    if file.suffix != ".jsonl":
        raise typer.BadParameter("the name must end in .jsonl", param_hint="--output")
    known = {each.pair for each in read_labels(file)} if file.exists() else set()
    intake = Intake(paths, options, session, leave=file)
    with session.scratch() as dedup:
        with session.progress() as progress:
            dedup.scan(intake.pages(), progress=progress)
        pairs = uncertain_pairs(dedup, dedup.page_ids(), count=count, known=known)
        if not pairs:
            session.output.note("no uncertain pairs: pass more pages, or more similar pages")
        written = _ask(session.output, dedup, pairs, target, chars)
    session.output.emit({"asked": len(pairs), "written": written, "known": len(known)})
    session.output.line(f"{written} labels written to {file}, {len(known)} were in it before")
    return ExitCode.LEFT_OUT if intake.failed else ExitCode.OK


def _show_agreement(
    session: Session, output: Path | None, source: Path | None, *, by_reader: bool
) -> ExitCode:
    """Show how far readers agree on stored pairs, and write their labels."""
    from es_dedup.evaluation.agreement import agreements, as_jsonl, consensus
    from es_dedup.evaluation.labels import UNDECIDED

    inputs = [] if source is None else [source]
    target = output_target(output, session, "--output", LABELS_OF_READERS, inputs) if output else None
    if source is not None:
        _import(session, source)
    with session.read(quiet=True) as dedup:
        annotations, history = dedup.annotations(), dedup.annotations(removed=True)
    rows, found = consensus(annotations), agreements(annotations)
    if target is not None:
        target.write(as_jsonl([each.as_dict() for each in history] if by_reader else rows).encode())
    undecided = sum(row["label"] == UNDECIDED for row in rows)
    session.output.emit({"pairs": len(rows), "undecided": undecided, "agreement": found})
    cells = (
        (" ".join(each.readers), each.pairs, f"{each.share:.2f}", _two_places(each.kappa)) for each in found
    )
    session.output.table(("readers", "pairs", "agreement", "kappa"), cells)
    place = f" in {output}" if output else ""
    session.output.note(f"{len(rows):,} labelled pairs, {undecided:,} undecided{place}")
    return ExitCode.OK


def _two_places(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _import(session: Session, source: Path) -> None:
    from es_dedup.batch.annotations import read_jsonl

    with source.open(encoding="utf-8") as lines:
        given = list(read_jsonl(lines, str(source)))
    session.read(quiet=True).close()
    with session.write() as dedup:
        count = dedup.import_annotations(given)
    session.output.note(f"{count:,} of {len(given):,} labels taken over")


def _ask(output: Output, dedup: Deduplicator, pairs: list[Uncertain], target: Target, chars: int) -> int:
    """Ask about each pair until all are answered, or the reader stops; gives the number of labels written."""
    file = Path(str(target))
    answered: list[
        tuple[int, bytes]
    ] = []  # index of each pair in ``pairs``, and the content of the file before its answer
    place = 0
    while place < len(pairs):
        _show(output, dedup, pairs[place], f"{place + 1} of {len(pairs)}", chars)
        sys.stderr.write(ASKED)
        sys.stderr.flush()
        answer = sys.stdin.readline()
        word = answer.strip().lower()
        if not answer or word in ("q", "quit"):
            break
        if word in ("u", "undo") and answered:
            place, before = answered.pop()
            target.write(before)
        elif word in ("u", "undo"):
            output.warn(
                f"nothing to undo: no pair was labelled since this start; earlier ones stand in {file}"
            )
        elif word in ("s", "skip"):
            place += 1
        elif word in ANSWERS:
            before = file.read_bytes() if file.exists() else b""
            line_end = (
                b"" if before.endswith(b"\n") or not before else b"\n"
            )  # which an editor may have left out
            target.write(before + line_end + _line(dedup, pairs[place], ANSWERS[word]))
            answered.append((place, before))
            place += 1
        else:
            output.warn(f"no such answer: {word!r}")
    return len(answered)


def _line(dedup: Deduplicator, each: Uncertain, label: Label) -> bytes:
    left, right = each.pair
    row = {"id_a": left, "id_b": right, "label": str(label)}
    if relation := label.relation(dedup.record(left).length, dedup.record(right).length):
        row["relation"] = str(relation)
    return (json.dumps(row, ensure_ascii=False) + "\n").encode()


def _show(output: Output, dedup: Deduplicator, each: Uncertain, place: str, chars: int) -> None:
    """What was decided on a pair, by how little, and both texts aligned."""
    from es_dedup.evaluation.rule_thresholds import deciding_conditions

    nearest = [str(one) for one in deciding_conditions(each.decision.rules)[:1]]
    left, right = ({"page": page, "title": dedup.record(page).title} for page in each.pair)
    rows = dedup.aligned(*each.pair)
    names = ("shares", "relation", "score", "reason", "explanation")
    said = {name: getattr(each.decision, name) for name in names}
    output.emit({"pair": place, "left": left, "right": right, **said, "nearest": nearest, "rows": rows})
    output.line(f"\n{place}:")
    reasons = (*each.decision.explanation, *(f"nearest threshold: {one}" for one in nearest))
    output.lines(f"  {line}" for line in reasons)
    output.lines(f"{sign} {side['page']}  {side['title']}" for sign, side in (("-", left), ("+", right)))
    output.lines(aligned_lines(rows, chars))
