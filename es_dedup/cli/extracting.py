"""``quality extract``: what is read out of one page, and why; main texts of a folder, by one extractor or by several."""

from __future__ import annotations

import sys
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from es_dedup.cli.output import Output, clean
from es_dedup.cli.session import session_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from es_dedup.evaluation.extractors import ExtractorFigures, PageTexts
    from es_dedup.model import Content
    from es_dedup.model.extraction import BlockNote
    from es_dedup.settings.loading import ExtractionConfig

    _Table = tuple[tuple[str, ...], Sequence[Sequence[object]]]

MAX_PAGES: Final = 10_000
_WORST: Final = 10
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
            help="Page file, http(s) address, - for standard input, or a folder with page files (.htm, .html), beside them gold texts (.txt).",
            metavar="URL|FILE|FOLDER",
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
    compare: Annotated[
        bool,
        typer.Option(
            "--compare",
            help="Of a folder: also use trafilatura, readability and resiliparse, as far as installed.",
        ),
    ] = False,
) -> None:
    """Show the main text of a page, what is said of it, and why each block was kept or dropped; of the pages of a folder, figures.

    Of each page of a folder: how long the text is, how long extraction took and how good it is, as the F1 of character 5-grams against a
    gold text where there is one, and against the first extractor. With --json each page is a line, and then each extractor.
    """
    from es_dedup.extraction import extract as extract_

    session = session_of(context)
    config = session.settings.extraction
    if extractor is not None:
        config = config.model_copy(update={"extractor": extractor})
    if Path(source).is_dir():
        _extract_folder(session.output, Path(source), config, compare=compare)
        return
    if compare:
        raise typer.BadParameter("it needs a folder", param_hint="--compare")
    html, address, charset = _read(source, config.max_bytes)
    content = extract_(html, url=url or address, http_charset=charset, config=config, explain=True)
    session.output.emit(content)
    _show(session.output, content, blocks=blocks)


def _extract_folder(output: Output, folder: Path, config: ExtractionConfig, *, compare: bool) -> None:
    """Show figures of each page and of each extractor."""
    from es_dedup.errors import InputError
    from es_dedup.evaluation.extractors import compare_pages, installed_peers, summarise

    own = config.extractor
    names = [own, *(name for name in installed_peers() if name != own)] if compare else [own]
    found = []
    for page in compare_pages(_pages(folder, config.max_bytes), names, config):
        output.emit(page)
        found.append(page)
    if not found:
        raise InputError(str(folder), None, "no page files (.htm, .html) in it")
    figures = summarise(found)
    for figure in figures:
        output.emit(figure)
    output.table(*(_side_by_side(found, names) if compare else _by_page(found, own)), in_parts=True)
    output.line()
    output.table(*_by_extractor(figures))


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


def _side_by_side(found: Sequence[PageTexts], names: Sequence[str]) -> _Table:
    """The pages on which the extractors agree least."""
    least = sorted(found, key=lambda page: min(page.agreement.values()))[:_WORST]
    peers = names[1:]
    head = ("page", *(f"{name} chars" for name in names), *(f"{name} agreement" for name in peers))
    rows = [
        (page.page, *page.chars.values(), *(f"{page.agreement[name]:.2f}" for name in peers))
        for page in least
    ]
    return head, rows


def _by_page(found: Iterable[PageTexts], name: str) -> _Table:
    """Each page as one extractor reads it."""
    rows = [
        (page.page, page.chars[name], _share(page.gold.get(name)), f"{page.milliseconds[name]:.1f}")
        for page in found
    ]
    return ("page", "chars", "F1", "ms"), rows


def _by_extractor(figures: Iterable[ExtractorFigures]) -> _Table:
    """Each extractor over all pages."""
    head = ("extractor", "pages", "empty", "mean chars", "agreement", "gold pages", "gold F1", "ms median")
    rows = [
        (
            each.extractor,
            each.pages,
            each.empty,
            f"{each.mean_chars:.0f}",
            f"{each.agreement:.3f}",
            each.gold_pages,
            _share(each.gold_f1),
            f"{each.milliseconds:.1f}",
        )
        for each in figures
    ]
    return head, rows


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _pages(folder: Path, max_bytes: int) -> Iterator[tuple[str, bytes, str | None]]:
    """Name, bytes and gold text of each page file."""
    for path in sorted(folder.rglob("*.htm*"))[:MAX_PAGES]:
        gold = path.with_suffix(".txt")
        with path.open("rb") as file:
            html = file.read(max_bytes + 1)
        yield (
            path.relative_to(folder).as_posix(),
            html,
            gold.read_text("utf-8", "replace") if gold.is_file() else None,
        )
