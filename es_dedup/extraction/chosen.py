"""The extractor ``blocks``: main text as the blocks that the block model takes for it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np
from lxml import etree

from es_dedup.extraction.about import read_about
from es_dedup.extraction.blocks import read_blocks
from es_dedup.extraction.columns import read_page
from es_dedup.extraction.model import default_model
from es_dedup.extraction.seen.choice import Choice
from es_dedup.extraction.selection import choose
from es_dedup.model import PageKind

if TYPE_CHECKING:
    from es_dedup.config import ExtractionConfig
    from es_dedup.extraction.reading.document import Document

_EVEN: Final = 0.5
_NO_CHARACTER: Final = re.compile(rb"[\0-\x08\x0b\x0e-\x1f]")


def block_choice(document: Document, config: ExtractionConfig) -> Choice:  # noqa: ARG001 - a method has both
    """The blocks of the main text."""
    root = _root(document)
    blocks = read_blocks(root) if root is not None else None
    if blocks is None or not blocks.texts:
        return Choice((), PageKind.EMPTY, rule="no text")
    about = read_about(document.title, document.metas, document.structured.types, document.url)
    page = read_page(blocks, about)
    reading = default_model().read(page)
    text = "\n".join(
        blocks.text(int(place)) for place in np.flatnonzero(choose(reading, page.characters.lengths))
    )
    kind = PageKind.THREAD if reading.thread > _EVEN else PageKind.ARTICLE
    return Choice((), kind, rule="blocks by the block model", text=text)


def _root(document: Document) -> etree._Element | None:
    parser = etree.HTMLParser(
        encoding="utf-8", huge_tree=True, recover=True, no_network=True, remove_comments=True, remove_pis=True
    )
    try:
        found: etree._Element | None = etree.fromstring(_NO_CHARACTER.sub(b" ", document.tags.markup), parser)
    except etree.LxmlError:
        return None
    return found
