"""Escaped HTML pieces: the only place where text becomes markup."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Final

from es_dedup.model.translations import ENGLISH, translate

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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


def table(head: Sequence[str], rows: Iterable[Sequence[str]], **attributes: object) -> str:
    """A table; cells are markup, headings are text, or empty above cells that need none."""
    top = element(
        "tr", *(element("th", escape(name), scope="col") if name else element("td") for name in head)
    )
    body = (element("tr", *(element("td", cell) for cell in row)) for row in rows)
    inner = element("table", element("thead", top), element("tbody", *body), **attributes)
    return element("div", inner, class_="scroll")


def relation_tag(name: str, language: str = ENGLISH) -> str:
    """A relation as a small label."""
    return element("span", escape(translate(language, name)), class_=f"tag {name if name.isalpha() else ''}")
