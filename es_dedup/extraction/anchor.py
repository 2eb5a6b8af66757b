"""The block that the page's own description quotes: where an article begins, however short it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from es_dedup.extraction.view import View

_KEYS: Final = ("og:description", "description", "twitter:description")
_NARROW_PROBE: Final = 40
_WIDE_PROBE: Final = 14
_MIN_PROBE: Final = 10


def anchor_of(view: View) -> int:
    """Place of the block that holds the beginning of the page's description, -1 for none."""
    metas = view.document.metas
    for key in _KEYS:
        text = metas.get(key)
        if not text:
            continue
        squeezed = "".join(text[:300].split())
        probe = squeezed[: _NARROW_PROBE if squeezed[:_NARROW_PROBE].isascii() else _WIDE_PROBE].rstrip(".…")
        if len(probe) < _MIN_PROBE:
            continue
        head = text.split(None, 1)[0][:6]
        for place, block in enumerate(view.blocks):
            if (
                head in block.text
                and block.chars >= len(probe)
                and probe in "".join(block.text[:2000].split())
                and not view.is_negative(place)
                and not view.linked(place)
                and (block.node < 0 or view.nodes[block.node].tag != "h1")
            ):
                return place
    return -1
