"""Blocks of a page by plain recursion over the tree of libxml2: the slow twin of ``extraction.document.build``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from lxml import etree

from es_dedup.extraction.reading.document import clean

if TYPE_CHECKING:
    from collections.abc import Iterator

INLINE = frozenset(
    "abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd label mark nobr o:p q rb rp rt ruby s samp small "
    "span strike strong sub sup time tt u var wbr g-emoji st1:chsdate".split()
)
LEFT_OUT = frozenset(
    "head title script style noscript template iframe object embed applet svg math canvas select option button input textarea "
    "datalist audio video map rp rt frameset noframes link meta".split()
)
Event: TypeAlias = (
    "tuple[str, str, bool]"  # text, or a break, or the beginning of a link; the text; whether it is in a link
)


def parse(markup: bytes) -> Any:
    """The element tree, or None when there is no element."""
    parser = etree.HTMLParser(
        encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True, no_network=True, recover=True
    )
    return etree.fromstring(markup, parser) if markup.strip() else None


def blocks(root: Any) -> list[tuple[str, int, int, int, bool]]:
    """Text, length, length of link text, number of links and whether it begins with a link, of each block."""
    found: list[tuple[str, int, int, int, bool]] = []
    parts: list[tuple[str, bool]] = []
    links = 0
    for what, text, linked in [*_events(root, linked=False, preformatted=False), ("break", "", False)]:
        if what == "link":
            links += 1
        elif what == "text":
            if parts or text.strip():
                parts.append((text, linked))
        elif parts:
            whole = clean("".join(part for part, _ in parts))
            if whole:
                chars = sum(1 for char in whole if char != " ")
                in_links = len("".join("".join(part for part, inside in parts if inside).split()))
                found.append((whole, chars, min(chars, in_links), links, parts[0][1]))
            parts, links = [], 0
    return found


def _events(element: Any, *, linked: bool, preformatted: bool) -> Iterator[Event]:
    tag = element.tag
    if tag not in LEFT_OUT:
        block = tag not in INLINE and tag not in ("a", "br")
        inside = linked or tag == "a"
        pre = preformatted or tag == "pre"
        if block or tag == "br":
            yield ("break", "", False)
        if tag == "a":
            yield ("link", "", True)
        yield from _text(element.text, linked=inside, preformatted=pre)
        for child in element:
            yield from _events(child, linked=inside, preformatted=pre)
            yield from _text(child.tail, linked=inside, preformatted=pre)
        if block:
            yield ("break", "", False)


def _text(text: str | None, *, linked: bool, preformatted: bool) -> Iterator[Event]:
    for line in (text or "").splitlines(keepends=True) if preformatted else [text or ""]:
        if line:
            yield ("text", line, linked)
        if preformatted and line.endswith("\n"):
            yield ("break", "", False)
