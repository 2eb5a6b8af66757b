"""``explain``: two pages against each other, with evidence, features and texts; the features of one page."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from es_dedup.cli.output import Output, clean, show_pair
from es_dedup.cli.session import Session
from es_dedup.errors import InputError, UnknownPage
from es_dedup.model import Page
from es_dedup.readers import InputFailure, ReadOptions, read_pages
from es_dedup.readers.file_ids import common_folder
from es_dedup.readers.locations import STDIN
from es_dedup.readers.streams import is_pipe

if TYPE_CHECKING:
    from es_dedup.decision.alignment import AlignedRow, Piece
    from es_dedup.deduplicator.deduplicator import Deduplicator
    from es_dedup.detectors.named_fields import PageFeatures

_HEAD_BYTES: Final = 4096
_TAG: Final = re.compile(rb"<(!doctype|html|head|body|div|p|meta)\b", re.IGNORECASE)
SHOWN: Final = 60
"""Characters of both ends of an equal stretch that are printed."""


def explain(
    session: Session,
    left: Annotated[str, typer.Argument(metavar="A")],
    right: Annotated[str | None, typer.Argument(metavar="B")] = None,
    *,
    evidence: bool = False,
    text: bool = False,
    features: bool = False,
    method: Annotated[list[str] | None, typer.Option(metavar="NAME")] = None,
) -> None:
    """Show in three lines the relation of two pages and its reason, on request with their texts, features and all evidence.

    A page id that is stored comes before a file of the same name. Files need no index.

    Args:
        left: Id or URL of a stored page, or a page file, or - for HTML or text on standard input.
        right: Id or URL of a stored page, or a page file.
        evidence: Show the result of every rule and method, with thresholds.
        text: Show both texts aligned, with what only one of them has in [-…-] and {+…+}.
        features: Show the named features of both pages side by side, or of A alone: what Elasticsearch stores.
        method: Compare with this method too; may be repeated.
    """
    from es_dedup.views.evidence import rule_rows
    from es_dedup.views.features import feature_rows

    output = session.output
    names = [left, *filter(None, [right])]
    if right is None and (evidence or text or not features):
        raise typer.BadParameter("name a second page, or ask for --features alone", param_hint="B")
    also = tuple(method or ())
    with _index(session, names) as dedup:
        root = dedup.root() or common_folder(name for name in names if Path(name).is_file())
        sides = [
            _page_on_stdin(session) if each == STDIN else _page_or_id(dedup, each, root) for each in names
        ]
        named = [dedup.features(side, also=also) for side in sides] if features else []
        if right is None:
            output.emit(named[0])
            output.facts({"page": named[0].page_id, **dict(feature_rows(named[0]))})
            return
        pair = dedup.explain(*sides, also=also)
        rows = dedup.aligned(*sides) if text else []
    output.emit(pair.as_dict() | ({"features": named} if features else {}) | ({"rows": rows} if text else {}))
    show_pair(output, pair, methods=None if evidence else also)
    if evidence and pair.rules:
        output.table(("rule", "outcome", "because"), rule_rows(pair.rules))
    if features:
        _show_features(output, *named)
    output.lines(_aligned_lines(rows))


def _index(session: Session, names: Sequence[str]) -> Deduplicator:
    """The index; one in memory where there is none and none is needed."""
    outside = all(name == STDIN or Path(name).is_file() for name in names)
    if outside and not session.exists:
        return session.scratch()
    return session.read(quiet=len(names) == 1)


def _page_on_stdin(session: Session) -> Page:
    """A page of standard input: HTML where there is a tag in its beginning, else text in UTF-8."""
    data = sys.stdin.buffer.read(session.settings.extraction.max_bytes + 1)
    if _TAG.search(data[:_HEAD_BYTES]):
        return Page(id=STDIN, html=data)
    return Page(id=STDIN, text=data.decode("utf-8-sig", "replace"))


def _page_or_id(dedup: Deduplicator, name: str, root: str | None) -> str | Page:
    """The id of a stored page, or the page of a file.

    Raises:
        UnknownPage, InputError: neither is there; the file has no page or several.
    """
    try:
        return dedup.record(name).page_id
    except UnknownPage:
        if not Path(name).is_file() and not is_pipe(name):
            return dedup.record(dedup.ids_of([name])[name][0]).page_id
    items = list(islice(read_pages([name], ReadOptions(root=root)), 2))
    if not items:
        raise InputError(name, None, "holds no page")
    if isinstance(items[0], InputFailure):
        raise InputError(items[0].source, items[0].line, items[0].problem)
    if len(items) > 1:
        raise InputError(name, None, "holds several pages: scan it, then name two of them by their ids")
    return items[0]


def _show_features(output: Output, left: PageFeatures, right: PageFeatures) -> None:
    """Named features of two pages: what both have, and what one has alone."""
    from es_dedup.views.features import compared_fields, listed

    for each in compared_fields(left, right):
        for side, texts in (("both", each.shared), ("only left", each.left), ("only right", each.right)):
            if texts:
                output.line(f"  {each.name:<24} {side:<10} {len(texts):>4}  {clean(listed(texts))}")


def _aligned_lines(rows: Iterable[AlignedRow]) -> Iterator[str]:
    """Aligned texts, one line a stretch: of equal ones both ends."""
    for row in rows:
        if row.same:
            text = clean(" ".join(row.left[0].text.split())) if len(row.left) == 1 else _text(row.left)
            yield f"  {text}" if len(text) <= 2 * SHOWN else f"  {text[:SHOWN]} … {text[-SHOWN:]}"
            continue
        for sign, pieces, marks in (("-", row.left, ("[-", "-]")), ("+", row.right, ("{+", "+}"))):
            text = _text(pieces, marks)
            if text:
                yield f"{sign} {text}"


def _text(pieces: Iterable[Piece], marks: tuple[str, str] = ("", "")) -> str:
    """Pieces on one line, those that only one text has between marks."""
    from es_dedup.views.compare import visible

    shown = ""
    for piece in pieces:
        if piece.only and piece.text:
            shown += f"{marks[0]}{clean(visible(piece.text.strip(chr(10))))}{marks[1]}"
        else:
            shown += clean(piece.text)
    return shown.strip()
