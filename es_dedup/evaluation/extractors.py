"""Extractors side by side on the same pages: lengths of their texts, agreement, time, and F1 where there is gold."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from statistics import fmean, median
from typing import TYPE_CHECKING, Final

from es_dedup.errors import DedupError
from es_dedup.extraction import create_extractor, extractor_names
from es_dedup.model import Content

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from es_dedup.settings.loading import ExtractionConfig

PEERS: Final = ("trafilatura", "readability", "resiliparse")
"""Extractors of other packages, in the order of the table."""

GRAM: Final = 5
"""Characters of a gram of the agreement."""


def grams(text: str) -> Counter[str]:
    """Multiset of character 5-grams without white space; a shorter text is one gram."""
    text = "".join(text.split())
    return Counter(text[place : place + GRAM] for place in range(max(bool(text), len(text) - GRAM + 1)))


def agreement(gold: str, found: str) -> float:
    """F1 of the 5-gram multisets of two texts, in [0, 1]; 1 for two empty texts."""
    wanted, given = grams(gold), grams(found)
    total = wanted.total() + given.total()
    return 2 * (wanted & given).total() / total if total else 1.0


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


def installed_peers() -> tuple[str, ...]:
    """The peers whose packages are installed."""
    return tuple(name for name in PEERS if name in extractor_names() and _works(name))


def _works(name: str) -> bool:
    from es_dedup.settings.loading import ExtractionConfig  # noqa: PLC0415 - loaded already where it is called

    try:
        create_extractor(ExtractionConfig(extractor=name))
    except DedupError:
        return False
    return True


def compare_pages(
    pages: Iterable[tuple[str, bytes, str | None]], names: Iterable[str], config: ExtractionConfig
) -> Iterator[PageTexts]:
    """Read each page with each extractor.

    Args:
        pages: name, bytes as served, and gold text where it is known.
        names: of extractors; the first is what the others are compared with.
        config: limits and options of all.

    Raises:
        ConfigError: no extractor of a name.
        MissingExtra: the package of one is not installed.
    """
    extractors = [create_extractor(config.model_copy(update={"extractor": name})) for name in names]
    for page, html, gold in pages:
        found, texts = PageTexts(page), {}
        for extractor in extractors:
            start = time.process_time()
            content = extractor.extract(html)
            found.milliseconds[extractor.name] = 1e3 * (time.process_time() - start)
            texts[extractor.name] = content.text if isinstance(content, Content) else ""
        first = texts[extractors[0].name]
        for name, text in texts.items():
            found.chars[name] = len(text)
            found.agreement[name] = agreement(first, text)
            if gold is not None:
                found.gold[name] = agreement(gold, text)
        yield found


@dataclass(frozen=True, slots=True)
class ExtractorFigures:
    """An extractor over all pages.

    Attributes:
        extractor: its name.
        pages: number of pages.
        empty: pages without text.
        mean_chars: mean length of a text.
        agreement: mean agreement with the first extractor, in [0, 1].
        gold_pages: pages with a gold text.
        gold_f1: mean F1 against gold, in [0, 1]; None without gold.
        milliseconds: processor time a page, median.
    """

    extractor: str
    pages: int
    empty: int
    mean_chars: float
    agreement: float
    gold_pages: int
    gold_f1: float | None
    milliseconds: float


def summarise(found: list[PageTexts]) -> list[ExtractorFigures]:
    """Figures of each extractor, in the order they were named; none for no pages."""
    return [
        ExtractorFigures(
            extractor=name,
            pages=len(found),
            empty=sum(not page.chars[name] for page in found),
            mean_chars=fmean(page.chars[name] for page in found),
            agreement=fmean(page.agreement[name] for page in found),
            gold_pages=sum(name in page.gold for page in found),
            gold_f1=fmean(scores) if (scores := [page.gold[name] for page in found if page.gold]) else None,
            milliseconds=median(page.milliseconds[name] for page in found),
        )
        for name in (found[0].chars if found else ())
    ]
