"""Where the page's blocks hold less than its data: article bodies in JSON-LD, in the state of a script, in the description.

Pages drawn by scripts carry their text as JSON. The longest text in it that reads like prose is taken, when it is longer
than what the blocks gave.
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Any, Final

from es_dedup.extraction.reading.document import clean
from es_dedup.extraction.reading.state import states

if TYPE_CHECKING:
    from collections.abc import Iterator

    from es_dedup.extraction.reading.document import Document

MIN_CHARS: Final = 80
"""A shorter text in a script is a label or a message."""

MAX_VALUES: Final = 20_000

_KEYS: Final = re.compile(
    r"^(?:article_?(?:body|content|text)|body(?:_?(?:html|text))?|content(?:_?(?:html|text|body))?|full_?text|html|main_?text|"
    r"post_?(?:body|content)|rich_?text|story|text|detail|maintext|raw_?content|description_?html)$",
    re.IGNORECASE,
)
_MORE: Final = re.compile(rb"""\bhas_?[nN]ext_?[pP]age\\{0,3}["']?\s{0,3}:\s{0,3}(?:true|!0)""")
_TAG: Final = re.compile(r"<[^>]{0,2000}>")
_BREAK: Final = re.compile(r"<(?:/p|/div|/h[1-6]|/li|br)\b[^>]{0,200}>", re.IGNORECASE)
_STOP: Final = re.compile(r"[。！？；]|[.!?](?=\s|$|<)")
_CODE: Final = re.compile(r"function\s?\(|=>|\{\s*[\w-]+\s*:|;\s*(?:var|return)\b|https?://\S+\s*$")
_DESCRIPTIONS: Final = ("og:description", "description", "twitter:description")
_MIN_STOPS: Final = 2
_NESTED: Final = (dict, list)  # asked of each value; a union takes three times as long
_TYPE_KEYS: Final = frozenset({"type", "_type", "tag", "kind", "blockType", "__typename"})
_PEOPLE_KEYS: Final = frozenset({"author", "user", "username", "nickname", "uid"})
_DRAWN: Final = frozenset({"p", "h2", "h3", "h4", "li", "blockquote"})
_PROPERTIES: Final = 3  # place of the properties in an element


def data_text(document: Document) -> str:
    """The longest article text in JSON-LD or in the state of a script; empty when there is none."""
    texts = [*document.structured.bodies, *_state_texts(document)]
    lines = max((_lines(text) for text in texts), key=len, default="")
    return lines if len(lines) >= MIN_CHARS else ""


def loads_more(document: Document) -> bool:
    """True when the data in the page's scripts say that what they list goes on: the rest is fetched when somebody scrolls."""
    return any(
        (b"hasNextPage" in source or b"has_next_page" in source) and _MORE.search(source)
        for _, source in document.scripts
    )


def description_text(document: Document) -> str:
    """The page's own description: the last resort of a page without text. Empty when there is none."""
    return next((text for key in _DESCRIPTIONS if (text := clean(document.metas.get(key, "")))), "")


def _state_texts(document: Document) -> Iterator[str]:
    for value in states(document.scripts, document.charset):
        yield from _texts(value)
        yield _drawn(value)


def _texts(value: Any) -> Iterator[str]:
    """Long strings under names that say text, from anywhere in a JSON value; of the items of a list together."""
    waiting: list[Any] = [value]
    for _ in range(MAX_VALUES):
        if not waiting:
            return
        value = waiting.pop()
        if isinstance(value, dict):
            for key, item in value.items():
                if isinstance(item, _NESTED):
                    waiting.append(item)
                elif isinstance(item, str) and len(item) >= MIN_CHARS and _KEYS.match(key):
                    yield item
        elif isinstance(value, list):
            items = [item for item in value if isinstance(item, _NESTED)]
            waiting.extend(items)
            if len(items) > 1:
                yield "\n".join(
                    text for item in items if isinstance(item, dict) and (text := _own_text(item))
                )


def _own_text(item: dict[str, Any]) -> str:
    """The text of one paragraph in a list of parts of a text: the string under a name that says text, in an object with a type."""
    if _TYPE_KEYS.isdisjoint(item) or not _PEOPLE_KEYS.isdisjoint(item):
        return ""
    return next(
        (text for key, text in item.items() if isinstance(text, str) and _KEYS.match(key) and text.strip()),
        "",
    )


def _drawn(value: Any) -> str:
    """Paragraphs in elements as React writes them: ``["$", "p", null, {"children": …}]``."""
    lines: list[str] = []
    waiting: list[tuple[Any, bool]] = [(value, False)]
    for _ in range(MAX_VALUES):
        if not waiting:
            break
        value, inside = waiting.pop()
        if isinstance(value, str) and inside:
            lines[-1] += value
        elif isinstance(value, list):
            element = len(value) > _PROPERTIES and value[0] == "$"
            if element and value[1] in _DRAWN:
                lines.append("")
            if element:
                properties = value[_PROPERTIES]
                children = properties.get("children") if isinstance(properties, dict) else None
                waiting.append((children, inside or value[1] in _DRAWN))
            else:
                waiting.extend((item, inside) for item in reversed(value))
        elif isinstance(value, dict):
            waiting.extend((item, False) for item in reversed(value.values()) if isinstance(item, _NESTED))
    return "\n".join(lines)


def _lines(text: str) -> str:
    """Text or markup as lines; empty when it is code or no prose."""
    head = text[:2000]
    if _CODE.search(head) or len(_STOP.findall(head)) < _MIN_STOPS:
        return ""
    if "<" in text or "&" in text:
        text = html.unescape(_TAG.sub("", _BREAK.sub("\n", html.unescape(text) if "&lt;" in text else text)))
    return "\n".join(line for raw in text.split("\n") if (line := clean(raw)))
