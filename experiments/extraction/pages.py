"""Labelled pages for training: JSON lines with markup and gold text, read into blocks with labels."""

from __future__ import annotations

import base64
import hashlib
import json
import lzma
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import numpy as np

from es_dedup.errors import InputError
from es_dedup.extraction.blocks_extractor import page_of
from es_dedup.extraction.reading.document import read_document
from es_dedup.extraction.reading.parser_limits import Deadline, DeadlineExceeded
from es_dedup.settings.loading import ExtractionConfig
from experiments.extraction.labels import block_labels, head_lines
from experiments.extractors import agreement

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from es_dedup.extraction.page_columns import Page

FOLDS: Final = 5
_MAX_SECONDS: Final = 60.0
MOST_BOILERPLATE: Final = 3.0
"""Weight of what is no main text, at most, beside that of the main text: short articles are to be found on long pages, too."""
_KEPT: Final = 0.4
_MIN_REACHABLE: Final = 0.6
_TITLED: Final = frozenset(("blogs", "blogs+comments", "news-google", "portal"))
"""Sources whose gold text begins with title and byline, which are no main text here: those lines get no label."""
_HEADED: Final = frozenset(("older", "readable"))
"""Sources whose gold text has the page's heading, mostly: it gets no label."""
_SECOND_LEVEL: Final = frozenset("ac co com edu gov net org ne or go".split())


@dataclass(slots=True)
class LabelledPage:
    """A page with its gold text.

    Attributes:
        page: its blocks.
        labels: share of each block that stands in the gold text.
        weights: of each block; 0: no label.
        gold: the gold text.
        id: of the page.
        source: set or source it is from.
        site: pages of one site are never on both sides of a split.
        kind: ``thread`` or another.
        reached: F1 of the blocks that stand in the gold text, against it.
    """

    page: Page
    labels: NDArray[np.float64]
    weights: NDArray[np.float64]
    gold: str
    id: str
    source: str
    site: str
    kind: str
    reached: float

    @property
    def usable(self) -> bool:
        """Whether the gold text can be made from the page's blocks."""
        return self.reached >= _MIN_REACHABLE


def site_of(row: dict[str, Any]) -> str:
    """Registered domain of the page, or what the row says; sites of one publisher stay together."""
    site = str(row.get("site") or urlsplit(row.get("url") or "").hostname or "").lower()
    if not site:
        parts = str(row["id"]).split("/")
        return parts[1] if parts[2:] else parts[0]
    host = site.split()[0].split("/")[0]
    labels = host.split(".")
    if labels[2:]:
        labels = labels[-3:] if labels[-2] in _SECOND_LEVEL else labels[-2:]
    return ".".join(labels)


def fold_of(site: str) -> int:
    """Fold of a site, the same in every run."""
    return hashlib.sha256(site.encode()).digest()[0] % FOLDS


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """Rows with gold text; a row without ``id`` gets file and line for one.

    Raises:
        InputError: the file cannot be read, or a line is no JSON object.
    """
    number = 0
    try:
        with (lzma.open if path.suffix == ".xz" else open)(path, "rt", encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, 1):
                row = dict(json.loads(line)) if line.strip() else {}
                if isinstance(row.get("text"), str) and row["text"].strip():
                    yield {"id": f"{path.name}:{number}"} | row
    except (OSError, EOFError, lzma.LZMAError, UnicodeDecodeError) as error:
        raise InputError(str(path), None, getattr(error, "strerror", None) or str(error)) from error
    except (ValueError, TypeError, RecursionError) as error:
        raise InputError(str(path), number, f"is no JSON object: {error}") from error


def label(page: Page, row: dict[str, Any], source: str) -> LabelledPage:
    """Labels of a page's blocks from its gold text."""
    texts = [page.blocks.text(place) for place in range(len(page.blocks.texts))]
    labels, places = block_labels(texts, row["text"])
    weights = np.array([min(max(len(text), 4), 600) for text in texts], np.float64) ** 0.7
    kept, left = float((weights * labels).sum()), float((weights * (1 - labels)).sum())
    most = MOST_BOILERPLATE * kept
    if kept and left > most:
        weights *= labels + (1 - labels) * (most / left)
    if source in _TITLED:
        weights[head_lines(texts, labels, places)] = 0
    elif source in _HEADED:
        weights[[page.blocks.tags[holder] == "h1" for holder in page.blocks.holders]] = 0
    reached = agreement(
        row["text"], "\n".join(text for text, share in zip(texts, labels, strict=True) if share > _KEPT)
    )
    return LabelledPage(
        page, labels, weights / max(kept, weights.sum() / MOST_BOILERPLATE / 2, 1e-9), row["text"], str(row["id"]), source, site_of(row), str(row.get("kind") or ""),
        reached,
    )  # fmt: skip


def source_of(row: dict[str, Any], stem: str) -> str:
    """The row's source, else the first part of its id, else its file; with the kind where that is the set's name."""
    if source := row.get("source"):
        return str(source)
    first, _, rest = str(row["id"]).partition("/")
    if rest and first != stem:
        return first
    return f"{stem}-{row['kind']}" if rest and row.get("kind") else stem


def read_labelled(path: Path) -> Iterator[LabelledPage]:
    """Labelled pages of a file; those without any block are left out."""
    stem = path.name.split(".")[0].removeprefix("pages-")
    for row in rows(path):
        if page := page_of_row(row, path.parent):
            yield label(page, row, source_of(row, stem))


def read_rendered(path: Path, most: int) -> Iterator[LabelledPage]:
    """Pages of one program and theme (``program-theme.jsonl.xz``), evenly spaced; the site is the program.

    Args:
        path: of the file.
        most: so many pages at most.
    """
    stem = path.name.split(".")[0]
    found = list(rows(path))
    for row in found[:: -(-len(found) // most) or 1]:
        if page := page_of_row(row, path.parent):
            kind = "thread" if row.get("kind") == "thread" else "article"
            yield label(
                page,
                {**row, "site": f"program-{stem.split('-')[0]}", "kind": kind},
                f"rendered-{kind}/{stem}",
            )


def page_of_row(row: dict[str, Any], folder: Path) -> Page | None:
    """The blocks of a row's page, read as the extractor reads them; None where it has none.

    Args:
        row: with its markup as ``html``, ``html_base64`` or the name of a ``file``.
        folder: that the file's name is relative to.

    Raises:
        InputError: the row has no markup, or it cannot be read.
    """
    try:
        document = read_document(
            _markup(row, folder),
            ExtractionConfig(),
            Deadline(_MAX_SECONDS),
            url=str(row.get("url") or "") or None,
            http_charset=None,
        )
    except (ValueError, TypeError, OSError, DeadlineExceeded) as error:
        raise InputError(f"page {row['id']}", None, str(error)) from error
    return page_of(document) if document is not None and document.blocks.texts else None


def _markup(row: dict[str, Any], folder: Path) -> bytes | str:
    if isinstance(html := row.get("html"), str):
        return html
    if "html_base64" in row:
        return base64.b64decode(str(row["html_base64"]), validate=True)
    if "file" in row:
        return (folder / str(row["file"])).read_bytes()
    raise ValueError("has no markup: html, html_base64 or file")
