"""Article text in the data of a page's scripts: a page that is drawn by a script carries its text as JSON.

Forms: JSON-LD; a script of a JSON type; an assignment of an object, or of ``JSON.parse("…")``; pieces pushed one after the other, as
React server components come; lists whose items name each other by place, as in Nuxt.
"""

from __future__ import annotations

import html
import json
import re
from typing import TYPE_CHECKING, Any, Final

from es_dedup.extraction.text import clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from es_dedup.extraction.reading.document import Document

MIN_CHARS: Final = 80
"""A shorter text in a script is a label or a message."""

MAX_SCRIPT_CHARS: Final = 2_000_000
MAX_VALUES: Final = 20_000

_ASSIGNED: Final = re.compile(
    r"^\s*(?:window\s*[.\[][^=]{1,80}|(?:var|let|const)\s+\w{1,60}|\w{1,40}(?:\.\w{1,40}){0,3})\s*=\s*(?=[\[{]|JSON\.parse\()"
)
_PARSE: Final = re.compile(r'JSON\.parse\(\s*(?=")')
_PUSH: Final = re.compile(r"\.push\(\s*(?=\[\s*\d+\s*,\s*\")")
_ROW: Final = re.compile(rb"[0-9a-f]{0,6}:|[^\n:]{0,40}\n|[^\n:]{1,40}:")
_LONG_ROW: Final = re.compile(rb"T([0-9a-f]{1,6}),")
_NO_VALUE: Final = re.compile(r"(?<=[:,\[])\s*(?:undefined|NaN|void 0)(?=\s*[,}\]])")
_DECODER: Final = json.JSONDecoder(strict=False)
_MORE: Final = re.compile(r"""\bhas_?[nN]ext_?[pP]age\\{0,3}["']?\s{0,3}:\s{0,3}(?:true|!0)""")

_KEYS: Final = re.compile(
    r"^(?:article_?(?:body|content|text)|body(?:_?(?:html|text))?|content(?:_?(?:html|text|body))?|full_?text|html|main_?text|"
    r"post_?(?:body|content)|rich_?text|story|text|detail|raw_?content|description_?html)$",
    re.IGNORECASE,
)
_TYPE_KEYS: Final = frozenset({"type", "_type", "tag", "kind", "blockType", "__typename"})
_PEOPLE_KEYS: Final = frozenset({"author", "user", "username", "nickname", "uid"})
_DRAWN: Final = frozenset({"p", "h2", "h3", "h4", "li", "blockquote"})
_PROPERTIES: Final = 3  # place of the properties in an element
_TAG: Final = re.compile(r"<[^>]{0,2000}>")
_BREAK: Final = re.compile(r"<(?:/p|/div|/h[1-6]|/li|br)\b[^>]{0,200}>", re.IGNORECASE)
_STOP: Final = re.compile(r"[。！？；]|[.!?](?=\s|$|<)")
_CODE: Final = re.compile(r"function\s?\(|=>|\{\s*[\w-]+\s*:|;\s*(?:var|return)\b|https?://\S+\s*$")
_MIN_STOPS: Final = 2
_NESTED: Final = (dict, list)


def data_text(document: Document) -> str:
    """The longest article text in the data of a page's scripts; empty when there is none."""
    texts = list(document.structured.bodies)
    for value in states(document.scripts):
        texts += [*_texts(value), _drawn(value)]
    lines = max(map(_lines, texts), key=len, default="")
    return lines if len(lines) >= MIN_CHARS else ""


def loads_more(document: Document) -> bool:
    """The data in the page's scripts say that what they list goes on: the rest is fetched when somebody scrolls."""
    return any("ext" in source and _MORE.search(source) for _, source in document.scripts)


def states(scripts: Iterable[tuple[Mapping[str, str], str]]) -> Iterator[Any]:
    """JSON values in the scripts of a page; what cannot be read is left out.

    Args:
        scripts: attributes and source text of each script.
    """
    pushed: list[str] = []
    for attributes, source in scripts:
        kind = attributes.get("type", "")
        if len(source) > MAX_SCRIPT_CHARS or "ld+json" in kind:
            continue
        if "json" in kind:
            value = first_value(source)
            yield _resolved(value) if "__NUXT" in attributes.get("id", "") else value
        elif found := _ASSIGNED.match(source):
            written = source[found.end() :]
            parse = _PARSE.match(written)
            inner = first_value(written[parse.end() :] if parse else written)
            yield first_value(inner) if isinstance(inner, str) else inner
        elif (found := _PUSH.search(source[:200])) and isinstance(
            value := first_value(source[found.end() :]), list
        ):
            pushed += filter(lambda piece: isinstance(piece, str), value[1:2])
    yield from _rows("".join(pushed))


def first_value(source: str) -> Any:
    """The JSON object, list or string with which a text begins, or None; never raises."""
    for text in (source, None):
        try:
            return _DECODER.raw_decode((_NO_VALUE.sub("null", source) if text is None else text).lstrip())[0]
        except (ValueError, RecursionError):
            continue
    return None


def _rows(source: str) -> Iterator[Any]:
    """Rows of React server components: a number, a colon, and JSON or the length of a text and the text."""
    data = source.encode("utf-8", "replace")
    place = 0
    while found := _ROW.match(data, place):
        if long := _LONG_ROW.match(data, found.end()):
            place = long.end() + int(long[1], 16)
            yield {"text": data[long.end() : place].decode("utf-8", "replace")}
        else:
            end = data.find(b"\n", place)
            place = end + 1 if end >= 0 else len(data)
            if data[found.end() : found.end() + 1] in (b"[", b"{"):
                yield first_value(data[found.end() : place].decode("utf-8", "replace"))


def _resolved(value: Any) -> Any:
    """A list of objects whose values are places in the list, with the strings there in their stead."""
    if not isinstance(value, list):
        return value
    return [
        {
            key: value[place]
            for key, place in item.items()
            if isinstance(place, int) and 0 <= place < len(value) and isinstance(value[place], str)
        }
        for item in value
        if isinstance(item, dict)
    ]


def _texts(value: Any) -> Iterator[str]:
    """Long strings under names that say text, from anywhere in a JSON value; of the items of a list together."""
    waiting: list[Any] = [value]
    for _ in range(MAX_VALUES):
        if not waiting:
            return
        value = waiting.pop()
        if isinstance(value, dict):
            waiting.extend(item for item in value.values() if isinstance(item, _NESTED))
            for key, item in value.items():
                if isinstance(item, str) and len(item) >= MIN_CHARS and _KEYS.match(key):
                    yield item
        elif isinstance(value, list):
            items = [item for item in value if isinstance(item, _NESTED)]
            waiting.extend(items)
            if len(items) > 1:
                yield "\n".join(filter(None, (_own_text(item) for item in items if isinstance(item, dict))))


def _own_text(item: dict[str, Any]) -> str:
    """The text of one paragraph in a list of parts of a text: the string under a name that says text, in an object with a type."""
    if _TYPE_KEYS.isdisjoint(item) or not _PEOPLE_KEYS.isdisjoint(item):
        return ""
    texts = (text for key, text in item.items() if isinstance(text, str) and _KEYS.match(key))
    return next(filter(str.strip, texts), "")


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
        elif isinstance(value, list) and len(value) > _PROPERTIES and value[0] == "$":
            is_line = isinstance(value[1], str) and value[1] in _DRAWN
            if is_line:
                lines.append("")
            properties = value[_PROPERTIES]
            children = properties.get("children") if isinstance(properties, dict) else None
            waiting.append((children, inside or is_line))
        elif isinstance(value, list):
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
