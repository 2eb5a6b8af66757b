"""What is nobody's post: comments below posts, teasers of other pages, lists of other messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from es_dedup.extraction.seen.hints import HEADINGS
from es_dedup.extraction.seen.teasers import teasers
from es_dedup.extraction.threads.talk import talk_nodes

if TYPE_CHECKING:
    from es_dedup.extraction.seen.view import View

_ASIDE_SHARE: Final = 0.35  # of the posts' own length
_OF_ONE: Final = 0.8  # of the posts' own length stands in the first
_IN_MESSAGES: Final = 0.5  # of what was said, without such lists


def _name(view: View, place: int) -> tuple[str, str]:
    holder = view.around(place)
    return (view.nodes[holder].tag, view.nodes[holder].names) if holder >= 0 else ("", "")


def _is_one_post(view: View, posts: list[int], replies: int) -> bool:
    """Nearly all that was said, but for headings, stands in the first body above a place."""
    said = {
        place: view.units[place] for place in posts if view.nodes[view.blocks[place].node].tag not in HEADINGS
    }
    first = next((view.around(place) for place in said if view.prose[place] > 0), -1)
    own = sum(units for place, units in said.items() if place < replies and view.around(place) == first)
    return own >= _OF_ONE * sum(said.values())


def _is_in(view: View, place: int, bodies: set[tuple[str, str]]) -> bool:
    """The block stands in an element called like the posts' own, or in a part of one, such as a quotation."""
    name, index = _name(view, place), view.around(place)
    while name not in bodies or not (name[1] or index == view.around(place)):
        index = view.parents[index] if index >= 0 else -1
        if index < 0:
            return False
        name = view.nodes[index].tag, view.nodes[index].names
    return True


def without_asides(view: View, posts: list[int]) -> list[int]:
    """Without comments below posts, where they are far less than the posts themselves.

    What stands above all posts is the first, and what stands in elements with the name of theirs is one too.
    """
    talk = talk_nodes(view)
    own = [place for place in posts if view.blocks[place].node < 0 or not talk[view.blocks[place].node]]
    bodies = {_name(view, place) for place in own}
    asides = {place for place in posts if own and place > own[0] and not _is_in(view, place, bodies)}
    asides.difference_update(own)
    left = [place for place in posts if place not in asides]
    said = sum(view.units[place] for place in left)
    if asides and _is_one_post(view, left, min(asides)):
        return posts  # replies to it
    return left if sum(view.units[place] for place in asides) < _ASIDE_SHARE * said else posts


def without_teasers(view: View, said: list[int]) -> list[int]:
    """Without items with linked headlines below the first post that no name calls replies."""
    others = set(teasers(view))
    if not others or next((place for place in said if view.prose[place] > 0), -1) >= min(others):
        return said
    talk = talk_nodes(view)
    return [place for place in said if place not in others or talk[view.blocks[place].node]]


def of_messages(view: View, posts: list[int]) -> list[int]:
    """Without items with links beside preformatted messages that hold most of what else was said: archives list others there."""
    nodes, blocks = view.nodes, view.blocks
    messages = {place for place in posts if nodes[blocks[place].node].tag == "pre"}
    if not messages:
        return posts
    beside, end = [False] * (len(nodes) + 1), 0  # the last stands for no element
    for around in sorted({view.around(place) for place in messages}):
        if around >= end:  # others stand in the last
            end = view.ends[around]
            beside[around:end] = [True] * (end - around)
    items = {
        place
        for place in posts
        if beside[node := blocks[place].node] and blocks[place].link_chars and nodes[node].tag == "li"
    }
    left = [place for place in posts if place not in items]
    said = sum(view.units[place] for place in messages)
    return left if said >= _IN_MESSAGES * sum(view.units[place] for place in left) else posts
