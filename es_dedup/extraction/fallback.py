"""Where the page's blocks hold less than its data: article bodies in JSON-LD, in the state of a script, in the description.

Pages drawn by scripts carry their text as JSON. The longest text in it that reads like prose is taken, when it is longer
than what the blocks gave.
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Any, Final

from es_dedup.extraction.document import clean
from es_dedup.extraction.structured import parsed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from es_dedup.extraction.document import Document

MIN_CHARS: Final = 80
"""A shorter text in a script is a label or a message."""

MAX_SCRIPT_BYTES: Final = 2_000_000
MAX_VALUES: Final = 20_000

_KEYS: Final = re.compile(
    r"^(?:article_?(?:body|content|text)|body(?:_?(?:html|text))?|content(?:_?(?:html|text|body))?|full_?text|html|main_?text|"
    r"post_?(?:body|content)|rich_?text|story|text|detail|maintext|raw_?content|description_?html)$",
    re.IGNORECASE,
)
_STATE: Final = re.compile(
    r"^\s*(?:window\s*[.\[][^=]{1,80}|(?:var|let|const)\s+\w{1,60}|\w{1,40}(?:\.\w{1,40}){0,3})\s*=\s*(?=[{\[])"
)
_MORE: Final = re.compile(rb"""\bhas_?[nN]ext_?[pP]age\\{0,3}["']?\s{0,3}:\s{0,3}(?:true|!0)""")
_TAG: Final = re.compile(r"<[^>]{0,2000}>")
_BREAK: Final = re.compile(r"<(?:/p|/div|/h[1-6]|/li|br)\b[^>]{0,200}>", re.IGNORECASE)
_STOP: Final = re.compile(r"[。！？；]|[.!?](?=\s|$|<)")
_CODE: Final = re.compile(r"function\s?\(|=>|\{\s*[\w-]+\s*:|;\s*(?:var|return)\b|https?://\S+\s*$")
_DESCRIPTIONS: Final = ("og:description", "description", "twitter:description")
_MIN_STOPS: Final = 2


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
    for attributes, written in document.scripts:
        if len(written) > MAX_SCRIPT_BYTES or len(written) < MIN_CHARS or b"ld+json" in attributes:
            continue
        source = written.decode(document.charset, "replace")
        if b"json" in attributes:
            yield from _texts(parsed(source))
        elif found := _STATE.match(source):
            end = max(source.rfind("}"), source.rfind("]")) + 1
            yield from _texts(parsed(source[found.end() : end]))


def _texts(value: Any) -> Iterator[str]:
    """Long strings under names that say text, from anywhere in a JSON value."""
    waiting: list[Any] = [value]
    for _ in range(MAX_VALUES):
        if not waiting:
            return
        value = waiting.pop()
        if isinstance(value, dict):
            for key, item in value.items():
                if isinstance(item, dict | list):
                    waiting.append(item)
                elif isinstance(item, str) and len(item) >= MIN_CHARS and _KEYS.match(key):
                    yield item
        elif isinstance(value, list):
            waiting.extend(item for item in value if isinstance(item, dict | list))


def _lines(text: str) -> str:
    """Text or markup as lines; empty when it is code or no prose."""
    head = text[:2000]
    if _CODE.search(head) or len(_STOP.findall(head)) < _MIN_STOPS:
        return ""
    if "<" in text or "&" in text:
        text = html.unescape(_TAG.sub("", _BREAK.sub("\n", html.unescape(text) if "&lt;" in text else text)))
    return "\n".join(line for raw in text.split("\n") if (line := clean(raw)))
