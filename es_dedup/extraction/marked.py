"""Which tags of a page have one of some words in their attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from es_dedup.extraction.markup import Tags

MAX_TAGS: Final = 4_000
"""What a page says of itself in its body stands near the head of the text."""


def places_with(tags: Tags, words: Iterable[bytes]) -> list[int]:
    """Places of the tags, among the first ``MAX_TAGS``, in whose attributes, as written, one of the words stands; in page order.

    All attributes are searched at once: asking each tag takes ten times as long.
    """
    written = b"\x00".join(tags.attributes[:MAX_TAGS])
    found: set[int] = set()
    for word in words:
        place = counted = 0
        at = written.find(word)
        while at >= 0:
            place += written.count(b"\x00", counted, at)
            counted = at
            found.add(place)
            at = written.find(word, at + len(word))
    return sorted(found)
