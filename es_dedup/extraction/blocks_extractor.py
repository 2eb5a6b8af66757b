"""The extractor ``blocks``: main text as the blocks that the block model takes for it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import numpy as np

from es_dedup.extraction.block_characters import UNITS
from es_dedup.extraction.block_model import Reading, load_model
from es_dedup.extraction.block_selection import SHORT_UNITS, Declared, choose, page_kind
from es_dedup.extraction.metadata.addresses import canonical_url
from es_dedup.extraction.notices import without_notices
from es_dedup.extraction.page_columns import Page, read_page
from es_dedup.extraction.page_hints import read_about
from es_dedup.extraction.page_to_content import Choice
from es_dedup.extraction.plain_extractor import plain_text
from es_dedup.extraction.reading.script_data import data_text
from es_dedup.model import PageKind

if TYPE_CHECKING:
    from es_dedup.extraction.reading.document import Document
    from es_dedup.settings.loading import ExtractionConfig

MAX_BLOCKS: Final = 20_000
"""Of a page whose blocks are classified; time and memory for its numbers grow with them."""

_LITTLE_CHARS: Final = 300  # of main text; then the page's data are looked at
_MORE_DATA: Final = 2.0  # times as long as the blocks' text
_PLAYERS: Final = ("video", "audio", "object", "embed")
_ARTICLE_TYPES: Final = frozenset(
    "article blogposting newsarticle product reportagenewsarticle recipe socialmediaposting".split()
)
_ARTICLE_OG: Final = ("article", "news", "product", "og:product", "blog:post")
_FRONT: Final = re.compile(r"/?(?:(?:index|default|home|main)(?:\.\w{2,5})?)?/?", re.IGNORECASE)
_LISTING: Final = re.compile(
    r"/(?:tags?|categor(?:y|ies)|rubrik|search|browse|archives?|channel|list)(?:[/.?_]|$)|/forums?(?:\.php)?/?$|-f\d+\.html$|"
    r"(?:viewforum|forumdisplay|showcategory|list_\d+)\b|[?&](?:cat|category|tag|q|s|search|query|keyword)=",
    re.IGNORECASE,
)
"""Addresses of lists, by the words that sites and their programs use everywhere."""


def page_of(document: Document) -> Page:
    """What the block model is given of a page that has at least one block."""
    metas = document.metas
    address = f"{document.url or ''} {canonical_url(document) or ''}".strip()
    return read_page(document.blocks, read_about(document.title, metas, document.structured.types, address))


def block_choice(document: Document, config: ExtractionConfig) -> Choice:
    """The blocks of the main text.

    Returns:
        The blocks with the highest expected agreement with the main text. Where they are next to nothing, what the page's scripts
        hold as data; nothing where they are notices of rights or consent; where no block is likely to be main text, all visible text,
        with a doubt.
    """
    blocks = document.blocks
    if not blocks.texts:
        return _or_data(document, Choice((), PageKind.EMPTY))
    if len(blocks.texts) > MAX_BLOCKS:
        doubt = f"more than {MAX_BLOCKS} blocks: none was classified"
        return Choice((), text=plain_text(document, config), doubt=doubt)
    page = page_of(document)
    reading = load_model(config.model).read(page)
    units = page.characters.units
    selected = choose(reading, page.characters.lengths)
    kind = _kind(document, page, reading, selected, units)
    places = np.flatnonzero(selected).tolist()
    if kind is PageKind.ARTICLE:
        places = _without_headline(document, places)
    kept = places if kind is PageKind.THREAD else without_notices(places, document.lines)
    choice = _or_data(document, Choice(kept, kind))
    if choice.text or choice.places:
        return choice
    if places:  # only notices
        return Choice((), PageKind.EMPTY)
    doubt = "no block is likely to be main text"
    return Choice((), choice.kind, text=plain_text(document, config), doubt=doubt)


def _without_headline(document: Document, places: list[int]) -> list[int]:
    """Places without those in a first-level heading above the text: the title is no part of it, whatever it says."""
    tags, holders = document.blocks.tags, document.blocks.holders
    below = next((rank for rank, place in enumerate(places) if tags[holders[place]] != "h1"), 0)
    return places[below:]


def _kind(
    document: Document, page: Page, reading: Reading, selected: np.ndarray, units: np.ndarray
) -> PageKind:
    linked = page.characters.linked @ UNITS
    declared = document.metas.get("og:type", "").lower()
    try:
        parts = urlsplit(document.url or "")
    except ValueError:
        parts = urlsplit("")
    says = Declared(
        front=bool(parts.netloc) and not parts.query and _FRONT.fullmatch(parts.path) is not None,
        listing=_LISTING.search(f"{parts.path}?{parts.query}") is not None,
        article=declared in _ARTICLE_OG or not document.structured.types.isdisjoint(_ARTICLE_TYPES),
        media=float(units[selected].sum()) < SHORT_UNITS
        and (
            declared.startswith(("video", "music")) or next(document.root.iter(*_PLAYERS), None) is not None
        ),
    )
    return page_kind(reading, selected, units, linked / np.maximum(units, 1e-9), says)


def _or_data(document: Document, choice: Choice) -> Choice:
    """Text from the page's data where its blocks hold far less."""
    own = sum(len(document.lines[place]) for place in choice.places)
    if own < _LITTLE_CHARS and len(text := data_text(document)) > _MORE_DATA * own:
        kind = PageKind.ARTICLE if choice.kind is PageKind.EMPTY else choice.kind
        return Choice((), kind, text=text)
    return choice
