"""Article text in the data of a page's scripts: a page that is drawn by a script carries its text as JSON.

Forms: JSON-LD, a script of a JSON type, an assignment of an object.
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Any, Final

from es_dedup.extraction.reading.json_ld import DECODER, objects_in
from es_dedup.extraction.white_space import clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from es_dedup.extraction.reading.document import Document

MIN_CHARS: Final = 80
"""A shorter text in a script is a label or a message."""

MAX_SCRIPT_CHARS: Final = 2_000_000
MAX_VALUES: Final = 20_000

_ASSIGNED: Final = re.compile(
    r"^\s*(?:window\s*[.\[][^=]{1,80}|(?:var|let|const)\s+\w{1,60}|\w{1,40}(?:\.\w{1,40}){0,3})\s*=\s*(?=[\[{])"
)
_KEYS: Final = re.compile(
    r"^(?:article_?(?:body|content|text)|body(?:_?(?:html|text))?|content(?:_?(?:html|text|body))?|full_?text|html|main_?text|"
    r"post_?(?:body|content)|rich_?text|story|text|detail|raw_?content|description_?html)$",
    re.IGNORECASE,
)
_TAG: Final = re.compile(r"<[^>]{0,2000}>")
_BREAK: Final = re.compile(r"<(?:/p|/div|/h[1-6]|/li|br)\b[^>]{0,200}>", re.IGNORECASE)
_STOP: Final = re.compile(r"[。！？；]|[.!?](?=\s|$|<)")
_CODE: Final = re.compile(r"function\s?\(|=>|\{\s*[\w-]+\s*:|;\s*(?:var|return)\b|https?://\S+\s*$")
_MIN_STOPS: Final = 2


def data_text(document: Document) -> str:
    """The longest article text in the data of a page's scripts; empty when there is none."""
    texts = list(document.structured.bodies)
    for value in states(document.scripts):
        texts += _texts(value)
    lines = max(map(_lines, texts), key=len, default="")
    return lines if len(lines) >= MIN_CHARS else ""


def states(scripts: Iterable[tuple[Mapping[str, str], str]]) -> Iterator[Any]:
    """JSON values in the scripts of a page; what cannot be read is left out.

    Args:
        scripts: attributes and source text of each script.
    """
    for attributes, source in scripts:
        kind = attributes.get("type", "")
        if len(source) > MAX_SCRIPT_CHARS or "ld+json" in kind:
            continue
        found = _ASSIGNED.match(source)
        if "json" in kind or found:
            try:
                yield DECODER.raw_decode((source[found.end() :] if found else source).lstrip())[0]
            except (ValueError, RecursionError):
                continue


def _texts(value: Any) -> Iterator[str]:
    """Long strings under names that say text, from anywhere in a JSON value."""
    return (
        item
        for found in objects_in(value, MAX_VALUES)
        for key, item in found.items()
        if isinstance(item, str) and len(item) >= MIN_CHARS and _KEYS.match(key)
    )


def _lines(text: str) -> str:
    """Text or markup as lines; empty when it is code or no prose."""
    head = text[:2000]
    if _CODE.search(head) or len(_STOP.findall(head)) < _MIN_STOPS:
        return ""
    if "<" in text or "&" in text:
        text = html.unescape(_TAG.sub("", _BREAK.sub("\n", html.unescape(text) if "&lt;" in text else text)))
    return "\n".join(line for raw in text.split("\n") if (line := clean(raw)))
