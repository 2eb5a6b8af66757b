"""``extract``: main texts of the page files of a folder, by one extractor or by several side by side."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads annotations at run time
from typing import TYPE_CHECKING, Annotated, Final

import typer

from es_dedup.cli.session import session_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from es_dedup.evaluation.extractors import ExtractorFigures, PageTexts

    _Table = tuple[tuple[str, ...], Sequence[Sequence[object]]]

MAX_PAGES: Final = 10_000
_WORST: Final = 10


def extract(
    context: typer.Context,
    folder: Annotated[
        Path,
        typer.Argument(
            help="Folder with page files (.htm, .html); gold texts are the .txt files beside them.",
            metavar="FOLDER",
            exists=True,
            file_okay=False,
            show_default=False,
        ),
    ],
    compare: Annotated[
        bool,
        typer.Option(
            "--compare", help="Also use trafilatura, readability and resiliparse, as far as installed."
        ),
    ] = False,
    extractor: Annotated[
        str | None, typer.Option(help="Extractor to use instead of the one in the settings.", metavar="NAME")
    ] = None,
) -> None:
    """Extract the main text of each page of a folder, and say how long it is, how long it took and how good it is.

    Quality is the F1 of character 5-grams: against a gold text where there is one, and against the first extractor.
    With --json each page is a line, and then each extractor.
    """
    from es_dedup.errors import InputError
    from es_dedup.evaluation.extractors import compare_pages, installed_peers, summarise

    session = session_of(context)
    config = session.settings.extraction
    own = extractor or config.extractor
    names = [own, *(name for name in installed_peers() if name != own)] if compare else [own]
    output = session.output
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
