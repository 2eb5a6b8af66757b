"""What blocks of one kind have in common: text elements with the same place in the page's pattern.

A block's kind is the tag and first class word of the elements around it. Paragraphs of one article are of one kind, and so
are the bodies of all posts of a thread, however short one of them is: the average over a kind says more than one block.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_dedup.extraction.document import Block, Node

LEVELS: Final = 3
"""Elements around a block that make up its kind."""

_DIGITS: Final = {ord(digit): None for digit in "0123456789"}


@lru_cache(maxsize=16_384)
def _mark(tag: str, names: str) -> str:
    """Tag and first word of class or id, without digits."""
    words = names[:100].split(None, 1)
    return f"{tag}.{words[0].translate(_DIGITS)}" if words else tag


def kinds_of(nodes: Sequence[Node], blocks: Sequence[Block]) -> list[int]:
    """A number for the kind of each block; blocks of one kind have the same."""
    marks = [_mark(node.tag, node.names) for node in nodes]
    paths: dict[int, tuple[str, ...]] = {-1: ()}
    numbers: dict[tuple[str, ...], int] = {}
    kinds: list[int] = []
    for block in blocks:
        path = paths.get(block.node)
        if path is None:
            path, index = (), block.node
            while index >= 0 and len(path) < LEVELS:
                path, index = (*path, marks[index]), nodes[index].parent
            paths[block.node] = path
        kinds.append(numbers.setdefault(path, len(numbers)))
    return kinds
