"""How long each block is, and how much of it reads like prose.

Lengths are in units: ideographs, or three Latin letters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from es_dedup.extraction.reading.measures import STOPPED, STOPS, narrow_chars

if TYPE_CHECKING:
    from es_dedup.extraction.reading.columns import Columns
    from es_dedup.extraction.reading.document import Block, Document

LINKED: Final = 0.5
"""Share of link text from which a block is no prose."""

MANY_UNITS: Final = 50.0
"""Prose without any stop."""

LATIN_SHARE: Final = 3.0
"""Latin letters that say as much as one ideograph."""

FEW_UNITS: Final = 12.0
"""Prose with one stop."""

TOO_MANY_UNITS: Final = 400.0
"""Without any stop: words for search engines, data, code."""

LINKED_LEAST: Final = 4.0
"""Units that a block takes off the text, if more than ``LINKED`` of it are links."""

FURNITURE: Final = 0.3
"""What each unit of such a block takes off besides, and each unit of a block with too many of them."""

LINK_COST: Final = 1.5
"""Share of its prose that a block loses, for each share of it that is links."""

SHORT_LEAST: Final = 2.0
"""Units that a short block without stops takes off."""

SHORT_LINKED: Final = 4.0
"""What it takes off besides, were all of it links."""

_LONG_CHARS: Final = 1_000


def lengths(document: Document) -> tuple[list[float], list[float]]:
    """Of each block its units, and its prose: negative for what reads like furniture."""
    if document.columns is not None:
        return _counted(document.blocks, document.columns)
    units = list(map(_units, document.blocks))
    return units, list(map(_prose, document.blocks, units))


def _counted(blocks: list[Block], columns: Columns) -> tuple[list[float], list[float]]:
    """The same of what is counted already."""
    from es_dedup.extraction.seen.compiled.looking import lengths_of  # noqa: PLC0415 - only where numba is installed

    narrow = columns.narrow
    units, prose = lengths_of(columns.chars, columns.link_chars, narrow, columns.stops).tolist()
    for place in (narrow < 0).nonzero()[0].tolist():
        units[place] = _units(blocks[place])
        prose[place] = _prose(blocks[place], units[place])
    return units, prose


def _units(block: Block) -> float:
    if block.text.isascii():
        return block.chars / LATIN_SHARE
    narrow = narrow_chars(block.text, block.chars)
    return block.chars - narrow + narrow / LATIN_SHARE


def _prose(block: Block, units: float) -> float:
    if block.link_chars > LINKED * block.chars:
        return -(LINKED_LEAST + FURNITURE * units)
    linked = block.link_chars / block.chars
    if units >= FEW_UNITS:
        stops = 2 * _has_stop(block.text)  # one is enough
    elif block.text.replace(" ", "").isalnum():
        stops = 0
    else:
        stops = len(STOPS.findall(block.text))
    if stops > 1 or MANY_UNITS <= units <= TOO_MANY_UNITS:
        return units * (1 - LINK_COST * linked) if stops or units < TOO_MANY_UNITS else -FURNITURE * units
    return -(SHORT_LEAST + SHORT_LINKED * linked) if units < TOO_MANY_UNITS else -FURNITURE * units


def _has_stop(text: str) -> bool:
    """One is looked for in very long texts only where one of its characters stands."""
    if len(text) > _LONG_CHARS and not any(map(text.__contains__, STOPPED)):
        return False
    return STOPS.search(text) is not None
