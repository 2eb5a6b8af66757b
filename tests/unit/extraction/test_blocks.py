"""Blocks and containers of a page, against a slow recursive reading of the same tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import html

from es_dedup.extraction.blocks import (
    _BREAKS,
    _INLINE,
    _SKIPPED,
    CONTEXTS,
    LINK_END,
    LINK_START,
    Blocks,
    read_blocks,
)
from es_dedup.extraction.text import fold

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import _Element


def _events(
    element: _Element, path: tuple[int, ...], *, in_link: bool
) -> Iterator[tuple[tuple[int, ...], str, bool] | None]:
    """Pieces of text with the path of their container and whether they are linked; None: a border of blocks."""
    if element.text:
        yield path, element.text, in_link
    for place, child in enumerate(element):
        tag = child.tag
        if type(tag) is str and tag not in _SKIPPED:
            if tag in _BREAKS:
                yield None
            elif tag in _INLINE:
                yield from _events(child, path, in_link=in_link or tag == "a")
            else:
                yield None
                yield from _events(child, (*path, place), in_link=in_link)
                yield None
        if child.tail:
            yield path, child.tail, in_link


def _slowly(root: _Element) -> list[tuple[str, str]]:
    """Text and link text of each block, by recursion."""
    found: list[tuple[str, str]] = []
    pieces: list[tuple[str, bool]] = []

    def end() -> None:
        text = fold("".join(piece for piece, _ in pieces))
        if text:
            found.append((text, "".join("".join(piece for piece, linked in pieces if linked).split())))
        pieces.clear()

    for event in _events(root, (), in_link=False):
        if event is None:
            end()
        else:
            pieces.append(event[1:])
    end()
    return found


def _fast(blocks: Blocks) -> list[tuple[str, str]]:
    found = []
    for place, marked in enumerate(blocks.texts):
        linked = "".join(part.split(LINK_END)[0] for part in marked.split(LINK_START)[1:])
        found.append((" ".join(blocks.text(place).split()), "".join(linked.split())))
    return found


_TEXTS = st.sampled_from(["one", " two ", "\n", "三四", ""])
_PIECES = st.recursive(
    _TEXTS,
    lambda inner: (
        st.builds(
            lambda tag, parts: f"<{tag}>{''.join(parts)}</{tag}>",
            st.sampled_from(
                ["div", "p", "a", "b", "span", "ul", "li", "td", "section", "script", "custom-tag"]
            ),
            st.lists(inner, max_size=4),
        )
        | st.just("<br>")
    ),
    max_leaves=25,
)


@settings(max_examples=200, deadline=None)
@given(st.lists(_PIECES, min_size=1, max_size=5))
def test_blocks_and_link_text_are_those_of_a_slow_reading(parts: list[str]) -> None:
    root = html.document_fromstring(f"<body><div>{''.join(parts)}</div></body>")

    assert _fast(read_blocks(root)) == _slowly(root)


@settings(max_examples=100, deadline=None)
@given(st.lists(_PIECES, min_size=1, max_size=5))
def test_the_blocks_of_a_container_are_those_of_the_containers_in_it_and_its_own(parts: list[str]) -> None:
    blocks = read_blocks(html.document_fromstring(f"<body>{''.join(parts)}</body>"))

    for container in range(len(blocks.tags)):
        inside = set()
        for place, holder in enumerate(blocks.holders):
            above = holder
            while above > container:
                above = blocks.parents[above]
            if above == container:
                inside.add(place)
        assert inside == set(range(blocks.first[container], blocks.last[container]))


@pytest.mark.parametrize(
    ("markup", "context"),
    [("<nav><p>a", "nav"), ("<div role=navigation>a", "nav"), ("<div style='display: none'><p>a", "hidden"), ("<div hidden>a", "hidden"),
     ("<a href=/><div>a</div></a>", "link"), ("<ul><li>a", "list")],
)  # fmt: skip
def test_what_stands_around_a_block_is_known(markup: str, context: str) -> None:
    blocks = read_blocks(html.document_fromstring(f"<body>{markup}"))

    assert blocks.contexts[blocks.holders[0]] >> CONTEXTS.index(context) & 1


def test_preformatted_text_is_cut_at_blank_lines_and_at_quotations() -> None:
    blocks = read_blocks(html.document_fromstring("<pre>one\ntwo\n\n&gt; said\nanswer</pre>"))

    assert blocks.texts == ["one\ntwo", "> said", "answer"]


def test_depth_costs_no_recursion() -> None:
    root = html.document_fromstring(
        "<body>" + "<div>" * 1_500 + "deep", parser=html.HTMLParser(huge_tree=True)
    )

    assert read_blocks(root).texts == ["deep"]
