"""What a page is: an article, a list of links, a player with a line of text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from es_dedup.model import PageKind

if TYPE_CHECKING:
    from es_dedup.extraction.choice import Choice
    from es_dedup.extraction.view import View

SHORT_UNITS: Final = 100.0
"""Ideographs, or thirds of Latin letters: longer main texts make an article, whatever else is on the page."""

_HEADLINE_UNITS: Final = 6.0
_MANY_HEADLINES: Final = 15
_PLAYERS: Final = ("video", "audio", "object", "embed")


def kind_of(view: View, choice: Choice) -> PageKind:
    """``article``, or for a short main text ``media`` beside a player and ``list`` beside many linked headlines."""
    own = sum(view.units[place] for place in choice.places)
    units = max(own, float(len(choice.text)))
    if units >= SHORT_UNITS:
        return PageKind.ARTICLE
    declared = view.document.metas.get("og:type", "").lower()
    if declared.startswith(("video", "music")) or view.document.tags.places(*_PLAYERS):
        return PageKind.MEDIA
    headlines = sum(
        1
        for place, units in enumerate(view.units)
        if units >= _HEADLINE_UNITS and view.linked(place) and not view.is_negative(place)
    )
    return PageKind.LIST if headlines >= _MANY_HEADLINES else PageKind.ARTICLE
