"""How long each block is, and how much of it reads like prose.

Lengths are in units: ideographs, or three Latin letters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from es_dedup.extraction.reading.measures import STOPPED, STOPS

if TYPE_CHECKING:
    from es_dedup.extraction.reading.columns import Columns
    from es_dedup.extraction.reading.document import Block, Document

LINKED: Final = 0.5
"""Share of link text from which a block is no prose."""

MANY_UNITS: Final = 50
"""Prose without any stop."""

_LATIN_SHARE: Final = 3.0  # Latin letters that say as much as one ideograph
_LONG_CHARS: Final = 1_000
_FEW_UNITS: Final = 12  # with one stop
_TOO_MANY_UNITS: Final = 400  # without any stop: words for search engines, data, code


def lengths(document: Document) -> tuple[list[float], list[float]]:
    """Of each block its units, and its prose: negative for what reads like furniture."""
    if document.columns is None:
        units = list(map(_units, document.blocks))
        return units, list(map(_prose, document.blocks, units))
    return _counted(document.blocks, document.columns)


def _counted(blocks: list[Block], columns: Columns) -> tuple[list[float], list[float]]:
    """The same of what is counted already."""
    import numpy as np  # noqa: PLC0415 - only where there are arrays

    chars, narrow, stops = columns.chars, columns.narrow, columns.stops
    lengths = chars - narrow + narrow / _LATIN_SHARE
    linked = columns.link_chars / chars
    stops = np.where(lengths >= _FEW_UNITS, 2 * stops, stops)
    is_short = lengths < _TOO_MANY_UNITS
    reads = (stops > 1) | ((lengths >= MANY_UNITS) & (lengths <= _TOO_MANY_UNITS))
    said = np.where(is_short | (reads & (stops > 0)), lengths * (1 - 1.5 * linked), -0.3 * lengths)
    said = np.where(is_short & ~reads, -(2.0 + 4.0 * linked), said)
    said = np.where(columns.link_chars > LINKED * chars, -(4.0 + 0.3 * lengths), said)
    units, prose = lengths.tolist(), said.tolist()
    for place in (narrow < 0).nonzero()[0].tolist():
        units[place] = _units(blocks[place])
        prose[place] = _prose(blocks[place], units[place])
    return units, prose


def _units(block: Block) -> float:
    text, chars = block.text, block.chars
    if text.isascii():
        return chars / _LATIN_SHARE
    narrow = len(text.encode("ascii", "ignore")) - (len(text) - chars)  # without spaces
    return chars - narrow + narrow / _LATIN_SHARE


def _prose(block: Block, units: float) -> float:
    if block.link_chars > LINKED * block.chars:
        return -(4.0 + 0.3 * units)
    linked = block.link_chars / block.chars
    if units >= _FEW_UNITS:
        stops = 2 * _has_stop(block.text)  # one is enough
    elif block.text.replace(" ", "").isalnum():
        stops = 0
    else:
        stops = len(STOPS.findall(block.text))
    if stops > 1 or MANY_UNITS <= units <= _TOO_MANY_UNITS:
        return units * (1 - 1.5 * linked) if stops or units < _TOO_MANY_UNITS else -0.3 * units
    return -(2.0 + 4.0 * linked) if units < _TOO_MANY_UNITS else -0.3 * units


def _has_stop(text: str) -> bool:
    """One is looked for in very long texts only where one of its characters stands."""
    if len(text) > _LONG_CHARS and not any(map(text.__contains__, STOPPED)):
        return False
    return STOPS.search(text) is not None
