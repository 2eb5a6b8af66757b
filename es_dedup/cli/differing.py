"""``diff``: two pages beside each other, with what only one of them has marked."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from es_dedup.cli.checking import page_or_id, show_pair
from es_dedup.cli.output import clean
from es_dedup.cli.session import session_of
from es_dedup.cli.targets import HTML, Target, output_target

if TYPE_CHECKING:
    from collections.abc import Iterable

    from es_dedup.decision.alignment import AlignedRow, Piece
    from es_dedup.deduplicator.index_reader import IndexReader
    from es_dedup.model import Page
    from es_dedup.report.data import MemberComparison, PageView

SHOWN: Final = 60
"""Characters of both ends of an equal stretch that are printed."""


def diff(
    context: typer.Context,
    left: Annotated[
        str, typer.Argument(help="Id of a stored page, or a page file.", metavar="A", show_default=False)
    ],
    right: Annotated[
        str, typer.Argument(help="Id of a stored page, or a page file.", metavar="B", show_default=False)
    ],
    html: Annotated[
        str | None,
        typer.Option("--html", help="Write both texts side by side, with all evidence, to this HTML file."),
    ] = None,
) -> None:
    """Show the texts of two pages aligned, with what only one of them has in [-…-] and {+…+}.

    Clauses are compared as the methods compare them: width, case, script and punctuation make no difference.
    A page id that is stored comes before a file of the same name. Two files need no index.
    """
    from es_dedup.decision.alignment import distinguishing_words
    from es_dedup.report.data import MemberComparison
    from es_dedup.report.features import compared_fields

    session = session_of(context)
    target = output_target(html, session, "--html", HTML, (left, right)) if html else None
    files = Path(left).is_file() and Path(right).is_file()
    with session.scratch() if files and not session.exists else session.read() as dedup:
        roots = dedup.roots().covering([path for path in (left, right) if Path(path).is_file()])
        sides = [page_or_id(dedup, name, roots) for name in (left, right)]
        pair, rows = dedup.explain(*sides), dedup.aligned(*sides)
        views = [_view(dedup, side) for side in sides]
        if target is not None:
            fields = compared_fields(*(dedup.features(side) for side in sides))
            _write(views[0], MemberComparison(views[1], pair, rows, fields), target)
    words = distinguishing_words((views[0].record.title, views[1].record.title), rows)
    session.output.emit(
        {**pair.as_dict(), "distinguishing_words": {"left": words[0], "right": words[1]}, "rows": rows}
    )
    if session.output.as_json:
        return
    show_pair(session.output, pair, methods=())
    if any(words):
        said = "; ".join(", ".join(side) or "–" for side in words)
        session.output.line(f"  title-distinguishing terms only in unshared text: {clean(said)}")
    for line in _lines(rows):
        session.output.line(line)
    if html is not None:
        session.output.note(f"written to {html}")


def _lines(rows: Iterable[AlignedRow]) -> Iterable[str]:
    for row in rows:
        if row.same:
            text = clean(" ".join(row.left[0].text.split())) if len(row.left) == 1 else _text(row.left)
            yield f"  {text}" if len(text) <= 2 * SHOWN else f"  {text[:SHOWN]} … {text[-SHOWN:]}"
            continue
        if row.left:
            yield f"- {_text(row.left, ('[-', '-]'))}"
        if row.right:
            yield f"+ {_text(row.right, ('{+', '+}'))}"


def _text(pieces: Iterable[Piece], marks: tuple[str, str] = ("", "")) -> str:
    """Pieces on one line, those that only one text has between marks."""
    from es_dedup.report.alignment import visible

    return "".join(
        f"{marks[0]}{clean(visible(piece.text.strip(chr(10))))}{marks[1]}"
        if piece.only
        else clean(piece.text)
        for piece in pieces
        if piece.text
    ).strip()


def _view(dedup: IndexReader, side: str | Page) -> PageView:
    """A page as it is shown, stored or not."""
    from es_dedup.index.records import FeatureRecord
    from es_dedup.report.data import PageView

    if isinstance(side, str):
        return PageView(dedup.record(side), dedup.text(side))
    content = dedup.content_of(side)
    assert content is not None  # noqa: S101 - a page has content
    record = FeatureRecord(
        side.id,
        len(content.text),
        0,
        (),
        b"",
        url=content.url or "",
        site=content.site or "",
        title=content.title,
        language=content.language,
    )
    return PageView(record, content.text)


def _write(left: PageView, right: MemberComparison, target: Target) -> None:
    from es_dedup.decision.alignment import MOST_CHARS
    from es_dedup.report.alignment import legend
    from es_dedup.report.compare import comparison
    from es_dedup.report.markup import element, escape
    from es_dedup.report.shell import document

    title = f"{left.record.page_id} – {right.page.record.page_id}"
    head = element("header", element("p", "es-dedup diff", class_="kicker"), element("h1", escape(title)))
    foot = element(
        "footer", element("p", f"Written {datetime.now().astimezone():%Y-%m-%d %H:%M}", class_="note")
    )
    shown = comparison(left, right, MOST_CHARS, roles=("A", "B"))
    target.write(document(title, head + legend() + shown + foot).encode("utf-8", "replace"))
