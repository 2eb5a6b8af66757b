"""``quality extract``: what is read out of one page, and why."""

from __future__ import annotations

import shlex
import sys
from itertools import groupby
from pathlib import Path
from typing import Annotated, Final

import typer

from es_dedup.cli.group import CommandFailed
from es_dedup.cli.output import Output, clean
from es_dedup.cli.session import Session
from es_dedup.model import Content
from es_dedup.model.extraction import BlockNote
from es_dedup.readers.locations import STDIN

_SHOWN_CHARS: Final = 90
_SHORT_CHARS: Final = 24  # of a block that stands beside others
_SHOWN_BLOCKS: Final = 3  # dropped in a row


def extract(
    session: Session,
    source: Annotated[str, typer.Argument(metavar="FILE")],
    *,
    url: Annotated[str | None, typer.Option(metavar="URL")] = None,
    blocks: bool = True,
) -> None:
    """Show the main text of a page, its metadata, and why each block was kept or dropped.

    Args:
        source: Page file, or - for standard input.
        url: URL of the page: gives its site and kind.
        blocks: Show for each block of text whether it was selected.
    """
    from es_dedup.extraction import extract as extract_

    config = session.settings.extraction
    html = _read(source, config.max_bytes)
    content = extract_(html, url=url, config=config, explain=True)
    session.output.emit(content)
    _show(session.output, content, blocks=blocks)


def _show(output: Output, content: Content, *, blocks: bool) -> None:
    why = content.why
    names = ("title", "kind", "language", "url", "site", "published", "charset")
    facts = {name: getattr(content, name) for name in names}
    output.facts({**facts, "notes": "; ".join(content.notes)})
    if why is not None:
        chosen = f"{why.chosen}, mean probability {why.score:.2f}" if why.chosen else "no element"
        kept = f"{why.kept} of {why.kept + why.dropped} blocks, {why.dropped_chars:,} characters dropped"
        output.facts({"rule": why.rule, "chosen": chosen, "doubt": why.doubt, "kept": kept})
    output.line()
    if why is None or not blocks:
        output.line(content.text)
        return
    for _, notes in groupby(why.blocks, lambda block: block.kept):
        _show_run(output, list(notes))
    if not any(block.kept for block in why.blocks):  # the text stands elsewhere in the page
        for text in content.text.split("\n"):
            output.line(f"+ {clean(text)[:_SHOWN_CHARS]}  ({why.rule})")


def _show_run(output: Output, notes: list[BlockNote]) -> None:
    """Blocks in a row that were kept, or dropped; of many dropped ones the likeliest, and the beginnings of the rest in one line."""
    shown = notes
    if not notes[0].kept and len(notes) > _SHOWN_BLOCKS:
        shown = [max(notes, key=lambda block: block.probability or 0.0)]
    for block in shown:
        sign = "+" if block.kept else "-"
        odds = "" if block.probability is None else f"{block.probability:.2f} "
        text = clean(block.text)[:_SHOWN_CHARS]
        output.line(f"{sign} {odds}{text}  [{clean(block.reason)}]  ({clean(block.path)})")
    if rest := [block for block in notes if block not in shown]:
        texts = " · ".join(clean(block.text)[:_SHORT_CHARS] for block in rest)
        more = " …" if len(texts) > _SHOWN_CHARS else ""
        output.line(f"- {len(rest)} more, none likelier  {texts[:_SHOWN_CHARS]}{more}")


def _read(source: str, max_bytes: int) -> bytes:
    """A page, with one byte more where it is too large."""
    if source == STDIN:
        return sys.stdin.buffer.read(max_bytes + 1)
    if source.startswith(("http://", "https://")):
        url = shlex.quote(source)
        problem = f"pages are not fetched; use: curl -s {url} | es-dedup quality extract - --url {url}"
        raise CommandFailed(problem)
    with Path(source).open("rb") as file:
        return file.read(max_bytes + 1)
