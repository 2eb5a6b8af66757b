"""What the benchmarks of single methods share: pages of one length, CPU time in batches, and the slow references."""

from __future__ import annotations

import importlib
import sys
import time
from typing import TYPE_CHECKING, Any, Final, TypeVar

from harness import ROOT, data_file, rows_of

from es_dedup.text.normalise import normalise_many

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from es_dedup.text.normalise import TextBatch

T = TypeVar("T")
SETS: Final = ("portal-zh", "news-zh-2025", "judged-en")
SHORTEST: Final = 500
LONGEST: Final = 2_000
BATCH: Final = 256
"""Pages handled together, as a worker process takes them."""
MILLISECONDS: Final = 1_000


def add_options(parser: ArgumentParser) -> None:
    """Options of every benchmark of a method."""
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--pages", type=int, default=512, help="pages of each set")
    parser.add_argument("--rounds", type=int, default=5, help="the best round counts")
    parser.add_argument("--checked", type=int, default=20, help="pages compared with the slow reference")


def texts_of(folder: Path | None, name: str, most: int) -> list[str]:
    """Texts of a set of 500 to 2,000 characters, the first ones; all lengths where too few have that."""
    texts = [row["text"] for row in rows_of(data_file(folder, f"{name}.jsonl.xz")) if row["text"]]
    fitting = [text for text in texts if SHORTEST <= len(text) <= LONGEST]
    return (fitting or texts)[:most]


def batches(texts: Sequence[str]) -> list[TextBatch]:
    """Normalised texts in batches."""
    return [normalise_many(texts[at : at + BATCH]) for at in range(0, len(texts), BATCH)]


def best_ms(call: Callable[[T], object], parts: Sequence[T], pages: int, rounds: int) -> float:
    """CPU milliseconds a page of a call on every part, the best of several rounds after one that is not counted."""
    spent = []
    for _ in range(rounds + 1):
        begun = time.process_time()
        for part in parts:
            call(part)
        spent.append(time.process_time() - begun)
    return round(MILLISECONDS * min(spent[1:]) / max(pages, 1), 4)


def reference(name: str) -> Any:
    """The slow implementation of a method in ``tests/reference``."""
    if str(ROOT) not in sys.path:
        sys.path.append(str(ROOT))
    return importlib.import_module(f"tests.reference.{name}")


def spread_out(items: Sequence[Any], count: int) -> Iterator[Any]:
    """About ``count`` items from all over a sequence."""
    yield from items[:: max(1, len(items) // max(count, 1))][:count]
