"""Cuts scripts, styles, comments and what else holds no text out of a page, in one pass over its bytes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from es_dedup.compiled import worthwhile

_RAW: Final = re.compile(
    rb"<(?:(?=[sSnNtTiI])(?i:(script|style|svg|noscript|select|textarea|title|iframe)(?=[\s/>]))|!(?:--)?+|\?|/(?=[^a-zA-Z]))"
)
_END: Final = {
    name: re.compile(rb"</" + name + rb"(?=[\s/>])", re.IGNORECASE)
    for name in (b"script", b"style", b"svg", b"noscript", b"select", b"textarea", b"title", b"iframe")
}
_COMMENT_END: Final = re.compile(rb"--!?>")
_OPEN_TAG: Final = re.compile(rb"</?[a-zA-Z]")
_INSIDE: Final = frozenset(b"\"'=\\`")
"""Before a ``<script`` that stands in an attribute."""


@dataclass(slots=True)
class Trimmed:
    """Markup without scripts, styles, comments, declarations and the title.

    Attributes:
        markup: start and end tags, and text between them; in the charset of the page.
        scripts: attributes and content of each script, in page order.
        title: of the page; None when there is none.
    """

    markup: bytes
    scripts: list[tuple[bytes, bytes]] = field(default_factory=list)
    title: bytes | None = None


def trim(data: bytes) -> Trimmed:
    """Cut out what holds no text.

    Args:
        data: page without null bytes, in any charset in which ASCII bytes stand for themselves; time and memory are linear in its length.
    """
    return trim_fast(data) if worthwhile(0) else trim_plainly(data)


def trim_plainly(data: bytes) -> Trimmed:
    """``trim`` without kernels."""
    kept: list[bytes] = []
    trimmed = Trimmed(b"")
    unclosed: set[bytes] = set()
    copied = position = 0
    while found := _RAW.search(data, position):
        start, position = found.span()
        if start and data[start - 1] in _INSIDE and _is_in_tag(data, start):
            continue
        name = found[1]
        if name is not None:
            end = _after_raw(data, position, name.lower(), trimmed, unclosed)
        elif data.startswith(b"--", position - 2):
            # ``<!-->`` and ``<!--->`` are whole comments
            closed = _COMMENT_END.search(
                data, position - 2 if data.startswith((b">", b"->"), position) else position
            )
            end = closed.end() if closed else len(data)
        else:
            end = data.find(b">", position) + 1 or len(data)
        kept.append(data[copied:start])
        copied = position = end
    kept.append(data[copied:])
    trimmed.markup = _without_open_end(b"".join(kept))
    return trimmed


def trim_fast(data: bytes) -> Trimmed:
    """``trim`` by its kernel."""
    import numpy as np  # noqa: PLC0415 - only where numba is installed

    from es_dedup.extraction.reading.compiled.trimming import SCRIPT, TITLE, cuts_of  # noqa: PLC0415

    kept: list[bytes] = []
    trimmed = Trimmed(b"")
    copied = 0
    cuts = zip(*cuts_of(np.frombuffer(data, dtype=np.uint8)).T.tolist(), strict=True)
    for start, end, name, attributes, opened, inner in cuts:
        if name == SCRIPT and inner > opened:
            trimmed.scripts.append((data[attributes : opened - 1], data[opened:inner]))
        elif name == TITLE and inner >= 0 and not (trimmed.title and trimmed.title.strip()):
            trimmed.title = data[opened:inner]
        kept.append(data[copied:start])
        copied = end
    kept.append(data[copied:])
    trimmed.markup = _without_open_end(b"".join(kept))
    return trimmed


def _is_in_tag(data: bytes, place: int) -> bool:
    opened = data.rfind(b"<", 0, place)
    return opened >= 0 and data.find(b">", opened, place) < 0


def _after_raw(data: bytes, position: int, name: bytes, trimmed: Trimmed, unclosed: set[bytes]) -> int:
    """Where such an element ends: of one that is never closed, behind its tag; scripts and styles take the rest of the page."""
    opened = data.find(b">", position) + 1 or len(data)
    found = None if name in unclosed else _END[name].search(data, opened)
    if found is None:
        unclosed.add(name)  # searching again would be quadratic
        return len(data) if name in (b"script", b"style") else opened
    if name == b"script" and found.start() > opened:
        trimmed.scripts.append((data[position : opened - 1], data[opened : found.start()]))
    elif name == b"title" and not (trimmed.title and trimmed.title.strip()):
        trimmed.title = data[opened : found.start()]
    return data.find(b">", found.end()) + 1 or len(data)


def _without_open_end(markup: bytes) -> bytes:
    """Without tags that the end of the page cuts through; each tag that is left ends somewhere, which keeps reading them linear."""
    found = _OPEN_TAG.search(markup, markup.rfind(b">") + 1)
    return markup[: found.start()] if found else markup
