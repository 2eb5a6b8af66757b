"""A parsed page as two flat lists: block elements, and the runs of text between them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from es_dedup.compiled import worthwhile
from es_dedup.extraction.reading.blocks import (
    Block,
    Elements,
    Node,
    clean,
    make_blocks,
    read_blocks,
    read_nodes,
)
from es_dedup.extraction.reading.markup import MAX_ATTRIBUTES_BYTES, cut, read_attributes
from es_dedup.extraction.reading.structured import Structured, read_structured
from es_dedup.extraction.reading.walk import walk

if TYPE_CHECKING:
    from es_dedup.extraction.reading.columns import Columns
    from es_dedup.extraction.reading.guard import Deadline
    from es_dedup.extraction.reading.markup import CutTags, Tags

__all__ = ["Block", "Document", "Node", "build", "build_shallow", "clean"]

_META: Final = re.compile(
    rb"""(?:\s++data-[a-z-]++="[^"]*+")*+\s++(?:property|name|itemprop|http-equiv)="([\w:.-]++)"\s++content="([^"&]*+)"\s*+/?"""
)
"""The attributes of nearly every ``<meta>`` that says something, under one name."""


@dataclass(slots=True)
class Document:
    """Block elements with text in them, and text blocks, in page order.

    Attributes:
        tags: all tags of the page, without the title's.
        elements: around the blocks.
        columns: the same in arrays, where they are at hand.
        url: where the page was found, if known.
        scripts: attributes and content of each script, where the scan kept them.
        charset: of the scripts.
        title: text of the title element; may be empty.
    """

    tags: Tags
    elements: Elements
    blocks: list[Block] = field(default_factory=list)
    columns: Columns | None = None
    url: str | None = None
    scripts: list[tuple[bytes, bytes]] = field(default_factory=list)
    charset: str = "utf-8"
    title: str = ""
    _metas: dict[str, str] | None = None
    _structured: Structured | None = None

    @property
    def nodes(self) -> list[Node]:
        """Block elements with text in them, each behind the one around it."""
        return self.elements.nodes

    @property
    def metas(self) -> dict[str, str]:
        """``name``, ``property``, ``itemprop`` and ``http-equiv`` to content; the first of equal names wins."""
        if self._metas is None:
            self._metas = _read_metas(self.tags)
        return self._metas

    @property
    def structured(self) -> Structured:
        """What the page says of itself in JSON-LD."""
        if self._structured is None:
            self._structured = read_structured(self.scripts, self.charset)
        return self._structured


def _read_metas(tags: Tags) -> dict[str, str]:
    found: dict[str, str] = {}
    for written in map(tags.attributes.__getitem__, tags.places("meta")):
        if (plain := _META.fullmatch(written)) and len(written) <= MAX_ATTRIBUTES_BYTES:
            if content := plain[2].decode("utf-8", "replace").strip():
                found.setdefault(plain[1].decode().lower()[:80], content)
            continue
        attributes = read_attributes(written)
        content = attributes.get("content", "").strip()
        if content:
            for attribute in ("property", "name", "itemprop", "http-equiv"):
                if key := attributes.get(attribute):
                    for name in {key, *key.split()}:
                        found.setdefault(name.strip().lower()[:80], content)
    return found


def build(tags: CutTags, deadline: Deadline) -> Document:
    """Read the tags of a page once.

    Args:
        tags: of trimmed markup.
        deadline: when to give up.

    Raises:
        DeadlineExceeded: the time is up.
    """
    document = build_shallow(tags, deadline, len(tags.numbers))
    return (
        Document(tags, Elements()) if document is None else document
    )  # None never comes: each open element has a tag


def read_shallow(markup: bytes, deadline: Deadline, max_depth: int) -> Document | None:
    """The same of trimmed markup, tag by tag: by the kernels where it is worth while."""
    if worthwhile(0):
        from es_dedup.extraction.reading.spans import read_spans  # noqa: PLC0415 - needs numpy and numba

        if (found := read_spans(markup, max_depth)) is not None:
            deadline.check()
            return found
    return build_shallow(cut(markup), deadline, max_depth)


def build_shallow(tags: CutTags, deadline: Deadline, max_depth: int) -> Document | None:
    """The same, or None where elements are nested deeper than ``max_depth``."""
    runs = walk(tags, deadline, max_depth)
    if runs is None:
        return None
    around, rows, depth = read_blocks(runs)
    if depth > max_depth:
        return None
    elements = read_nodes(tags, runs.elements, around)
    return Document(tags, elements, make_blocks(elements, zip(*rows, strict=True)))
