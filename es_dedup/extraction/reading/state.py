"""What the scripts of a page hold as data, as JSON values: the page is drawn from them when a browser runs it.

Forms: a script of a JSON type; an assignment of an object; ``JSON.parse("…")``; pieces pushed one after the other, as React server
components come; lists whose items name each other by place, as in Nuxt. Of data that are code, strings behind names of texts are left.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_SCRIPT_BYTES: Final = 2_000_000
MIN_CHARS: Final = 80
"""A shorter script holds no text."""

MAX_STRINGS: Final = 2_000

_ASSIGNED: Final = re.compile(
    r"^\s*(?:window\s*[.\[][^=]{1,80}|(?:var|let|const)\s+\w{1,60}|\w{1,40}(?:\.\w{1,40}){0,3})\s*=\s*"
)
_PARSE: Final = re.compile(r"""JSON\.parse\(\s*(?=["'])""")
_PUSH: Final = re.compile(r"\.push\(\s*(?=\[\s*\d+\s*,\s*\")")
_ROW: Final = re.compile(rb"[0-9a-f]{0,6}:|[^\n:]{0,40}\n|[^\n:]{1,40}:")
_LONG_ROW: Final = re.compile(rb"T([0-9a-f]{1,6}),")
_NO_VALUE: Final = re.compile(r"(?<=[:,\[])\s*(?:undefined|NaN|void 0)(?=\s*[,}\]])")
_SINGLE: Final = re.compile(r"'((?:[^'\\]|\\.)*+)'")
_STRING: Final = re.compile(
    r"""(?:^|[{,\s])["']?(article_?(?:body|content|text)|body(?:html|text)?|content(?:html|text|body)?|full_?text|html|text|description)["']?\s*:\s*("(?:[^"\\]|\\.){40,}+")""",
    re.IGNORECASE,
)
_DECODER: Final = json.JSONDecoder(strict=False)


def states(scripts: list[tuple[bytes, bytes]], charset: str) -> Iterator[Any]:
    """JSON values in the scripts of a page; what cannot be read is left out.

    Args:
        scripts: attributes and content of each script.
        charset: of both.
    """
    pushed: list[str] = []
    for attributes, written in scripts:
        if len(written) > MAX_SCRIPT_BYTES or b"ld+json" in attributes:
            continue
        if len(written) < MIN_CHARS and b".push(" not in written:
            continue
        source = written.decode(charset, "replace")
        if b"json" in attributes:
            value = first_value(source)
            yield _resolved(value) if b"__NUXT" in attributes else value
        elif found := _ASSIGNED.match(source):
            written_value = source[found.end() :]
            value = _assigned(written_value)
            if value is None and written_value.startswith(("{", "[", "(function")):
                value = _strings(written_value)
            if value is not None:
                yield value
        elif piece := _pushed(source):
            pushed.append(piece)
    if pushed:
        yield from _rows("".join(pushed))


def first_value(source: str) -> Any:
    """The JSON object, list or string with which a text begins, or None; never raises."""
    for text in (source, None):
        try:
            return _DECODER.raw_decode((_NO_VALUE.sub("null", source) if text is None else text).lstrip())[0]
        except (ValueError, RecursionError):
            continue
    return None


def _assigned(source: str) -> Any:
    if found := _PARSE.match(source):
        return _unquoted(source[found.end() :])
    return first_value(source) if source[:1] in "{[" else None


def _unquoted(source: str) -> Any:
    """The value in a string literal."""
    if source.startswith("'"):
        literal = _SINGLE.match(source)
        inner = literal[1].replace("\\'", "'").replace("\\\\", "\\") if literal else ""
    else:
        inner = first_value(source)
    return first_value(inner) if isinstance(inner, str) else None


def _strings(source: str) -> list[dict[str, Any]]:
    """Strings behind names of texts, where the data are code."""
    found = zip(range(MAX_STRINGS), _STRING.finditer(source), strict=False)
    return [{match[1]: first_value(match[2])} for _, match in found]


def _pushed(source: str) -> str:
    found = _PUSH.search(source[:200])
    value = first_value(source[found.end() :]) if found else None
    return value[1] if isinstance(value, list) and len(value) > 1 and isinstance(value[1], str) else ""


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
