"""Which elements are furniture, by what names, roles, states and headings say of them, and which of these hold the text all the same."""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING, Final

from es_dedup.extraction.seen.boxes import WRAPPED, sections_by_headline, wraps_main
from es_dedup.extraction.seen.hints import BOX_HINT, LIST_HINT, NEGATIVE_TAGS

if TYPE_CHECKING:
    from es_dedup.extraction.seen.view import View

_FORGIVEN_SHARE: Final = 0.7  # of the page's prose; a container that holds it is none, whatever its name
_FORM_SHARE: Final = 0.25  # the same for forms: some wrap all posts of a thread
_BESIDE_UNITS: Final = 100.0  # of prose in a main part beside it: then it is furniture all the same
_BESIDE_SHARE: Final = 0.2  # and of the page's prose
_MOST_WRAPPERS: Final = 16  # elements of a page that are looked into
_TEXT_UNITS: Final = 20.0  # of prose
_FEW_LINKS: Final = 0.4  # of the characters
_HIDDEN_ROLES: Final = frozenset(
    "navigation complementary contentinfo search dialog alertdialog banner".split()
)


def hints_of(view: View, hints: list[int], *, talk: bool) -> list[int]:
    """For each element: names, role, state and what stands in it speak for or against it.

    Args:
        view: of the page; ``boxes`` and ``captions`` are known.
        hints: what its names say of each element, see ``hints.named_hint``; changed in place.
        talk: replies are main text.

    Returns:
        The list ``hints``.
    """
    nodes = view.nodes
    for index in sections_by_headline(view, hints):
        hints[index] = 0
    if any(view.by_look.hidden) or any(view.by_look.roles):
        roles, hidden = map(_HIDDEN_ROLES.__contains__, view.by_look.roles), view.by_look.hidden
        says = [role or hides for role, hides in zip(roles, hidden, strict=True)]
        look_of = view.document.elements.look_of
        for index in compress(range(len(look_of)), map(says.__getitem__, look_of)):
            node = nodes[index]
            if node.role in _HIDDEN_ROLES or not (node.parent >= 0 and nodes[node.parent].hidden):
                hints[index] = -1
    for index in _short_captions(view):
        hints[index] = -1
    for index in view.boxes:
        if not (talk and index in view.talk_boxes):
            hints[index] = BOX_HINT if hints[index] < 0 else -1
    return hints


def _short_captions(view: View) -> list[int]:
    """Captions of figures; one with several paragraphs of prose is a text."""
    if not view.captions:
        return []
    captions = dict.fromkeys(sorted(view.captions), 0)
    for block, prose in zip(view.blocks, view.prose, strict=True):
        if prose > 0 and block.node >= 0:
            inside = block.node if block.node in captions else view.parents[block.node]
            if inside in captions:
                captions[inside] += 1
    return [index for index, paragraphs in captions.items() if paragraphs <= 1]


def forgiven(view: View, hints: list[int]) -> list[bool]:
    """For each element, whether it is or stands in furniture: hints against a container of most of the page's prose do not count.

    Args:
        view: of the page; ``mass`` and ``total`` are known.
        hints: of each element; those of lists that are texts are taken back in place.
    """
    if LIST_HINT in hints:
        _forgive_texts(view, hints)
    negative = [False] * len(hints)
    looks = _MOST_WRAPPERS
    furniture = [index for index, hint in enumerate(hints) if hint < 0]
    mains = [index for index, hint in enumerate(hints) if hint == 1] if furniture else []
    least = max(_BESIDE_UNITS, _BESIDE_SHARE * view.total)
    beside = [main for main in mains if view.mass[main] >= least]
    for index in furniture:
        share = _FORM_SHARE if view.nodes[index].tag == "form" else _FORGIVEN_SHARE
        if negative[index] or (
            hints[index] != BOX_HINT
            and view.mass[index] >= share * view.total
            and not _stands_beside(view, index, beside)
        ):
            continue
        if looks and view.mass[index] >= WRAPPED * view.total and _is_named(view, index):
            looks -= 1
            if wraps_main(view, index, mains, furniture):
                continue
        end = view.ends[index]
        negative[index:end] = [True] * (end - index)
    return negative


def _stands_beside(view: View, index: int, mains: list[int]) -> bool:
    """One of some parts stands outside an element."""
    end = view.ends[index]
    return any(main >= end or view.ends[main] <= index for main in mains)


def _is_named(view: View, index: int) -> bool:
    """Nothing but its class or id says that an element is furniture."""
    node = view.nodes[index]
    return not (node.hidden or node.role in _HIDDEN_ROLES or node.tag in NEGATIVE_TAGS)


def _forgive_texts(view: View, hints: list[int]) -> None:
    """An element named after a list of links that holds prose and few links is none."""
    for index, hint in enumerate(hints):
        if hint != LIST_HINT or view.mass[index] < _TEXT_UNITS:
            continue
        held = [view.blocks[place] for place in view.inside(index)]
        if sum(block.link_chars for block in held) <= _FEW_LINKS * sum(block.chars for block in held):
            hints[index] = 0
