"""Escaped HTML pieces: the only place where text becomes markup."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

DISCOUNTED_BELOW: Final = 0.5
"""A shared clause with less weight counts as template and is greyed."""
_CONTROLS: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, and direction marks that could turn the order of what follows."""


def escape(value: object) -> str:
    """Text that is safe in content and in quoted attributes, without control characters."""
    return html.escape(_CONTROLS.sub("", str(value)), quote=True)


def element(name: str, *content: str, **attributes: object) -> str:
    """An element; content is markup, attribute values are escaped; ``class_`` stands for ``class``."""
    marks = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{marks}>{''.join(content)}</{name}>"


def link(url: str, text: str) -> str:
    """A link for http and https addresses, plain text for everything else."""
    if not url.lower().startswith(("http://", "https://")):
        return escape(text)
    return element("a", escape(text), href=url, rel="noopener noreferrer nofollow")


def highlighted(text: str, spans: Iterable[tuple[int, int, float]], max_chars: int) -> str:
    """Text with shared stretches marked, and greyed where their weight is below ``DISCOUNTED_BELOW``.

    Args:
        text: the whole text.
        spans: start, end and weight; may overlap (the earlier one wins) and be out of order.
        max_chars: the text is cut here, with a note of what is left.
    """
    parts: list[str] = []
    position, end = 0, min(len(text), max_chars)
    for start, stop, weight in _apart(spans, end):
        parts.append(escape(text[position:start]))
        name, title = (
            ("s", "shared, discounted as template") if weight < DISCOUNTED_BELOW else ("mark", "shared")
        )
        parts.append(element(name, escape(text[start:stop]), title=f"{title} (weight {weight:.2f})"))
        position = stop
    parts.append(escape(text[position:end]))
    if end < len(text):
        parts.append(element("p", f"… {len(text) - end:,} more characters", class_="note"))
    return "".join(parts)


def table(head: Sequence[str], rows: Iterable[Sequence[str]], **attributes: object) -> str:
    """A table; cells are markup, headings are text, or empty above cells that need none."""
    top = element(
        "tr", *(element("th", escape(name), scope="col") if name else element("td") for name in head)
    )
    body = (element("tr", *(element("td", cell) for cell in row)) for row in rows)
    inner = element("table", element("thead", top), element("tbody", *body), **attributes)
    return element("div", inner, class_="scroll")


def _apart(spans: Iterable[tuple[int, int, float]], end: int) -> Iterable[tuple[int, int, float]]:
    position = 0
    for left, right, weight in sorted(spans):
        start, stop = max(left, position), min(right, end)
        if start < stop:
            yield start, stop, weight
            position = stop
