"""``extractors``: main texts of a folder of pages by several extractors, and how far they agree with each other and with gold texts."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, Annotated, Final

import typer

from es_dedup.cli.command import as_command
from es_dedup.cli.session import Session
from es_dedup.errors import InputError
from es_dedup.extraction import HtmlExtractor, create_extractor
from es_dedup.model import Content
from experiments.peers import PEERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from es_dedup.settings.loading import ExtractionConfig

GRAM: Final = 5
"""Characters of a gram of the agreement."""
MAX_PAGES: Final = 10_000
SHOWN_PAGES: Final = 10


@dataclass(frozen=True, slots=True)
class PageTexts:
    """What each extractor makes of one page.

    Attributes:
        page: its name.
        chars: length of each text, by extractor; 0 for a page that was skipped.
        agreement: F1 of character 5-grams of each text and that of the first extractor, in [0, 1].
        gold: F1 of each text and the gold text; empty where there is none.
        milliseconds: processor time of each, from bytes to content.
    """

    page: str
    chars: dict[str, int] = field(default_factory=dict)
    agreement: dict[str, float] = field(default_factory=dict)
    gold: dict[str, float] = field(default_factory=dict)
    milliseconds: dict[str, float] = field(default_factory=dict)


def grams(text: str) -> Counter[str]:
    """Multiset of character 5-grams without white space; a shorter text is one gram."""
    text = "".join(text.split())
    return Counter(text[place : place + GRAM] for place in range(max(bool(text), len(text) - GRAM + 1)))


def agreement(gold: str, text: str) -> float:
    """F1 of the 5-gram multisets of two texts, in [0, 1]; 1 for two empty texts."""
    gold_grams, text_grams = grams(gold), grams(text)
    total = gold_grams.total() + text_grams.total()
    return 2 * (gold_grams & text_grams).total() / total if total else 1.0


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command()(as_command(extractors))


def extractors(
    session: Session, folder: Annotated[Path, typer.Argument(exists=True, file_okay=False)]
) -> None:
    """Compare the extractor of the settings with those of other packages that are installed, on the first 10,000 page files of a folder.

    The first table has the pages on which they agree least, the second each extractor over all pages. With --json each page is a
    line, and then each extractor.

    Args:
        folder: Folder with page files (.htm, .html), beside them gold texts (.txt).
    """
    output, config = session.output, session.settings.extraction
    peers = _extractors(config)
    pages = list(_compared(folder, peers, config.max_bytes))
    if not pages:
        raise InputError(str(folder), None, "no page files (.htm, .html) in it")
    names = list(peers)
    head = ("page", *(f"{name} chars" for name in names), *(f"{name} agreement" for name in names[1:]))
    rows = [
        (page.page, *page.chars.values(), *(f"{page.agreement[name]:.2f}" for name in names[1:]))
        for page in sorted(pages, key=lambda page: min(page.agreement.values()))[:SHOWN_PAGES]
    ]
    output.table(head, rows, pages)
    output.line()
    figures = [_figures(name, pages) for name in names]
    output.table(
        [name.replace("_", " ") for name in figures[0]],
        ([_shown(value) for value in each.values()] for each in figures),
        figures,
    )


def _shown(value: object) -> object:
    if isinstance(value, float):
        return f"{value:.3f}"
    return "-" if value is None else value


def _extractors(config: ExtractionConfig) -> dict[str, HtmlExtractor]:
    """The extractor of the settings, then those of other packages that are installed."""
    extractors = {config.extractor: create_extractor(config)}
    for name, method in PEERS.items():
        if find_spec(name):
            extractors[name] = HtmlExtractor(name, method, config)
    return extractors


def _compared(folder: Path, extractors: dict[str, HtmlExtractor], max_bytes: int) -> Iterator[PageTexts]:
    for path in sorted(folder.rglob("*.htm*"))[:MAX_PAGES]:
        with path.open("rb") as file:
            html = file.read(max_bytes + 1)
        gold = path.with_suffix(".txt")
        page, texts = PageTexts(path.relative_to(folder).as_posix()), {}
        for name, extractor in extractors.items():
            start = time.process_time()
            content = extractor.extract(html)
            page.milliseconds[name] = 1e3 * (time.process_time() - start)
            texts[name] = content.text if isinstance(content, Content) else ""
        first = next(iter(texts.values()))
        for name, text in texts.items():
            page.chars[name] = len(text)
            page.agreement[name] = agreement(first, text)
            if gold.is_file():
                page.gold[name] = agreement(gold.read_text("utf-8", "replace"), text)
        yield page


def _figures(name: str, pages: Iterable[PageTexts]) -> dict[str, object]:
    """An extractor over all pages."""
    pages = list(pages)
    scores = [page.gold[name] for page in pages if page.gold]
    return {
        "extractor": name,
        "pages": len(pages),
        "empty": sum(not page.chars[name] for page in pages),
        "mean_chars": round(fmean(page.chars[name] for page in pages)),
        "agreement": fmean(page.agreement[name] for page in pages),
        "gold_pages": len(scores),
        "gold_f1": fmean(scores) if scores else None,
        "milliseconds": median(page.milliseconds[name] for page in pages),
    }
