"""``quality extract``: what is read out of one page, and why."""

from __future__ import annotations

import sys
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from es_dedup.cli.output import Output, clean
from es_dedup.cli.session import session_of

if TYPE_CHECKING:
    from es_dedup.model import Content
    from es_dedup.model.extraction import BlockNote

FETCH_SECONDS: Final = 20.0
_STDIN: Final = "-"
_SHOWN_CHARS: Final = 90
_SHORT_CHARS: Final = 24  # of a block that stands beside others
_SHOWN_BLOCKS: Final = 3  # dropped in a row


def extract(
    context: typer.Context,
    source: Annotated[
        str,
        typer.Argument(
            help="Page file, http(s) address, or - for standard input.",
            metavar="URL|FILE",
            show_default=False,
        ),
    ],
    url: Annotated[
        str | None,
        typer.Option(help="URL of a page read from a file: gives its site and kind.", metavar="URL"),
    ] = None,
    extractor: Annotated[
        str | None, typer.Option(help="Extractor to use instead of the one in the settings.", metavar="NAME")
    ] = None,
    blocks: Annotated[bool, typer.Option(help="Show for each block of text whether it was selected.")] = True,
) -> None:
    """Show the main text of a page, its metadata, and why each block was kept or dropped."""
    from es_dedup.extraction import extract as extract_

    session = session_of(context)
    config = session.settings.extraction
    if extractor is not None:
        config = config.model_copy(update={"extractor": extractor})
    html, address, charset = _read(source, config.max_bytes)
    content = extract_(html, url=url or address, http_charset=charset, config=config, explain=True)
    session.output.emit(content)
    _show(session.output, content, blocks=blocks)


def _show(output: Output, content: Content, *, blocks: bool) -> None:
    why = content.why
    output.facts(
        {
            "title": content.title,
            "kind": str(content.kind),
            "language": content.language,
            "url": content.url,
            "next page": content.next_page,
            "site": content.site,
            "site name": content.site_name,
            "author": content.author,
            "published": content.published.isoformat() if content.published else None,
            "charset": content.charset,
            "links": content.links,
            "notes": "; ".join(content.notes),
        }
    )
    if why is not None:
        chosen = f"{why.chosen}, mean probability {why.score:.2f}" if why.chosen else "no element"
        output.facts(
            {
                "rule": why.rule,
                "chosen": chosen,
                "doubt": why.doubt,
                "kept": f"{why.kept} of {why.kept + why.dropped} blocks, {why.dropped_chars:,} characters dropped",
            }
        )
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
        likely = max(notes, key=lambda block: block.probability or 0.0)
        shown = [likely]
    for block in shown:
        sign, odds = (
            "+" if block.kept else "-",
            "" if block.probability is None else f"{block.probability:.2f} ",
        )
        output.line(
            f"{sign} {odds}{clean(block.text)[:_SHOWN_CHARS]}  [{clean(block.reason)}]  ({clean(block.path)})"
        )
    if rest := [block for block in notes if block not in shown]:
        texts = " · ".join(clean(block.text)[:_SHORT_CHARS] for block in rest)
        more = " …" if len(texts) > _SHOWN_CHARS else ""
        output.line(f"- {len(rest)} more, none likelier  {texts[:_SHOWN_CHARS]}{more}")


def _read(source: str, max_bytes: int) -> tuple[bytes, str | None, str | None]:
    """The page's bytes, its address and the charset its server names."""
    from es_dedup.errors import InputError

    if source == _STDIN:
        return sys.stdin.buffer.read(max_bytes + 1), None, None
    if source.startswith(("http://", "https://")):
        return _fetch(source, max_bytes)
    try:
        with Path(source).open("rb") as file:
            return file.read(max_bytes + 1), None, None
    except OSError as error:
        raise InputError(source, None, error.strerror or str(error)) from error


def _fetch(source: str, max_bytes: int) -> tuple[bytes, str | None, str | None]:
    from urllib.error import URLError
    from urllib.request import Request, urlopen

    from es_dedup.errors import InputError

    request = Request(source, headers={"User-Agent": "es-dedup", "Accept-Encoding": "identity"})  # noqa: S310 - http(s) alone comes here
    try:
        with urlopen(request, timeout=FETCH_SECONDS) as answer:  # noqa: S310
            charset = answer.headers.get_content_charset()
            return answer.read(max_bytes + 1), answer.geturl(), charset
    except (URLError, OSError, ValueError) as error:
        raise InputError(source, None, f"cannot be fetched: {error}") from error
