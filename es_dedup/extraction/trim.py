"""The short way to the parser: cut scripts, styles and comments out of an ordinary page.

Looking at every tag in Python costs as much as parsing. Nearly all pages have few tags, none of them huge, and are not
nested deeply: they only lose what holds no text. Every other page goes through ``guard``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

MAX_CHARS: Final = 2_000_000
"""After the cut; what is longer is looked at tag by tag."""

MAX_TAGS: Final = 20_000
FEW_EQUALS: Final = 5_000
"""So many attributes cost the parser a fifth of a second in one tag, which is quadratic there; no need to look closer."""

MAX_ATTRIBUTES: Final = 150
"""Of one tag."""

_RAW: Final = re.compile(r"<(?=[sSnN!])(?:(?i:(script|style|svg|noscript|select)(?=[\s/>]))|!--)")
_END: Final = {
    name: re.compile(f"</{name}(?=[\\s/>])", re.IGNORECASE)
    for name in ("script", "style", "svg", "noscript", "select")
}
_COMMENT_END: Final = re.compile(r"--!?>")
_MANY_ATTRIBUTES: Final = re.compile(
    r"""<[a-zA-Z][^\s/>]*+(?>[\s=/]*+[^\s=>/]++(?>\s*+=\s*+(?>"[^"]*+"|'[^']*+'|[^\s>]*+))?+)"""
    f"{{{MAX_ATTRIBUTES}}}"
)
_LONG_BARE_TAG: Final = re.compile("<[a-zA-Z][^>=]{2000,}+")
_INSIDE: Final = frozenset("\"'=\\`")
"""Before a ``<script`` that stands in an attribute or in a string of a script."""


@dataclass(slots=True)
class Trimmed:
    """Markup without scripts, styles and comments.

    Attributes:
        markup: ready for the parser.
        scripts: attributes and content of each script, in page order.
    """

    markup: str
    scripts: list[tuple[str, str]] = field(default_factory=list)


def trim(text: str) -> Trimmed | None:
    """Cut out what holds no text, or None when the page must be looked at tag by tag.

    Args:
        text: decoded page without null bytes; time and memory are linear in its length.
    """
    kept: list[str] = []
    scripts: list[tuple[str, str]] = []
    unclosed: set[str] = set()
    copied = position = 0
    while found := _RAW.search(text, position):
        start, position = found.span()
        if start and text[start - 1] in _INSIDE:
            continue
        name = found[1]
        if name is None:
            # ``<!-->`` and ``<!--->`` are whole comments
            closed = _COMMENT_END.search(
                text, position - 2 if text.startswith((">", "->"), position) else position
            )
            end = closed.end() if closed else len(text)
        else:
            end = _after_raw(text, position, name.lower(), scripts, unclosed)
        kept.append(text[copied:start])
        copied = position = end
    kept.append(text[copied:])
    markup = "".join(kept)
    return None if _is_odd(markup) else Trimmed(markup, scripts)


def _after_raw(
    text: str, position: int, name: str, scripts: list[tuple[str, str]], unclosed: set[str]
) -> int:
    """Where such an element ends: of one that is never closed, behind its tag; scripts and styles take the rest of the page."""
    opened = text.find(">", position) + 1 or len(text)
    found = None if name in unclosed else _END[name].search(text, opened)
    if found is None:
        unclosed.add(name)  # searching again would be quadratic
        return len(text) if name in ("script", "style") else opened
    if name == "script" and found.start() > opened:
        scripts.append((text[position : opened - 1], text[opened : found.start()]))
    return text.find(">", found.end()) + 1 or len(text)


def _is_odd(markup: str) -> bool:
    if len(markup) > MAX_CHARS or markup.count("<") > MAX_TAGS or _LONG_BARE_TAG.search(markup):
        return True
    return markup.count("=") > FEW_EQUALS and bool(_MANY_ATTRIBUTES.search(markup))
