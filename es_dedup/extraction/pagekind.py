"""What a page is: an article, a list of links, a player with a line of text.

A list leads elsewhere: it is the front page of a site, its address says so, its headlines are longer than its text, or they cut its
text into pieces. None of this counts where the page declares itself an article.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from es_dedup.model import PageKind

if TYPE_CHECKING:
    from es_dedup.extraction.reading.document import Document
    from es_dedup.extraction.seen.choice import Choice
    from es_dedup.extraction.seen.view import View

SHORT_UNITS: Final = 100.0
"""Ideographs, or thirds of Latin letters: a shorter main text beside a player or many headlines makes no article."""

_HEADLINE_UNITS: Final = 6.0
_MANY_HEADLINES: Final = 15  # beside a short text
_SOME_HEADLINES: Final = 10  # with twice as much text as the main text
_LITTLE_UNITS: Final = 200.0  # of main text; a front page introduces itself, an article says more
_THREAD_HEADINGS: Final = 10  # linked; a thread has fewer
_PIECES: Final = 4  # of the text, with headlines between
_LARGEST: Final = 0.5  # of the prose is the largest piece of a list, at most
_LINKED_SHARE: Final = 0.5  # of the main text, that the links of a front page have at least
_PLAYERS: Final = ("video", "audio", "object", "embed")
_HEADINGS: Final = frozenset({"h1", "h2", "h3", "h4", "h5"})
_ARTICLE_TYPES: Final = (
    "article",
    "blogposting",
    "newsarticle",
    "product",
    "reportagenewsarticle",
    "recipe",
    "socialmediaposting",
)
_ARTICLE_OG: Final = ("article", "news", "product", "og:product", "blog:post")
_FRONT: Final = re.compile(r"/?(?:(?:index|default|home|main)(?:\.\w{2,5})?)?/?", re.IGNORECASE)
_LISTING: Final = re.compile(
    r"/(?:tags?|categor(?:y|ies)|rubrik|search|browse|archives?|channel|list)(?:[/.?_]|$)|/forums?(?:\.php)?/?$|-f\d+\.html$|"
    r"(?:viewforum|forumdisplay|showcategory|list_\d+)\b|[?&](?:cat|category|tag|q|s|search|query|keyword)=",
    re.IGNORECASE,
)
"""Addresses of lists, by the words that sites and their programs use everywhere."""


def kind_of(view: View, choice: Choice) -> PageKind:
    """The kind of a page.

    Returns:
        ``list`` for pages that lead elsewhere; else ``thread`` where the choice is one; for a short main text ``media`` beside a
        player; else ``article``.
    """
    document = view.document
    own = max(sum(view.units[place] for place in choice.places), float(len(choice.text)))
    is_article = _declares_article(document)
    if not is_article and _leads_elsewhere(view, choice, own):
        return PageKind.LIST
    if choice.kind is PageKind.THREAD:
        return PageKind.THREAD
    if own >= SHORT_UNITS:
        return PageKind.ARTICLE
    declared = document.metas.get("og:type", "").lower()
    if declared.startswith(("video", "music")) or document.tags.places(*_PLAYERS):
        return PageKind.MEDIA
    return PageKind.LIST if not is_article and len(_headlines(view)) >= _MANY_HEADLINES else PageKind.ARTICLE


def _declares_article(document: Document) -> bool:
    return document.metas.get(
        "og:type", ""
    ).lower() in _ARTICLE_OG or not document.structured.types.isdisjoint(_ARTICLE_TYPES)


def _leads_elsewhere(view: View, choice: Choice, own: float) -> bool:
    url = view.document.url
    if _is_front(url) and _linked_units(view) > _LINKED_SHARE * own:
        return True
    if _LISTING.search(_path(url)) and _linked_units(view) > own:
        return True
    headlines = _headlines(view)
    if choice.kind is PageKind.THREAD:
        headings = sum(1 for place in headlines if view.nodes[view.blocks[place].node].tag in _HEADINGS)
        return headings >= _THREAD_HEADINGS and _is_cut(view, choice, headlines)
    if (
        own < _LITTLE_UNITS
        and len(headlines) >= _SOME_HEADLINES
        and sum(view.units[place] for place in headlines) >= 2 * own
    ):
        return True
    return _is_cut(view, choice, headlines)


def _headlines(view: View) -> list[int]:
    """Linked lines that are long enough for headlines and stand in no furniture."""
    return [
        place
        for place, units in enumerate(view.units)
        if units >= _HEADLINE_UNITS and view.linked(place) and not view.is_negative(place)
    ]


def _linked_units(view: View) -> float:
    return sum(units for place, units in enumerate(view.units) if view.linked(place))


def _is_cut(view: View, choice: Choice, headlines: list[int]) -> bool:
    """Headlines cut the main text into several pieces, none of which is most of it."""
    if len(headlines) < _PIECES or not choice.places:
        return False
    pieces: list[float] = []
    piece = 0.0
    between = iter([*headlines, len(view.units)])
    following = next(between)
    for place in choice.places:
        while following < place:
            pieces.append(piece)
            piece, following = 0.0, next(between)
        piece += max(0.0, view.prose[place])
    pieces = [units for units in (*pieces, piece) if units]
    return len(pieces) >= _PIECES and len(headlines) >= len(pieces) and max(pieces) < _LARGEST * sum(pieces)


def _is_front(url: str | None) -> bool:
    try:
        parts = urlsplit(url or "")
    except ValueError:
        return False
    return bool(parts.netloc) and not parts.query and _FRONT.fullmatch(parts.path) is not None


def _path(url: str | None) -> str:
    """Path and query of an address; empty where there is none."""
    return "/" + (url or "").partition("://")[2].partition("/")[2]
