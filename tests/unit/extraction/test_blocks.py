"""Bytes of any kind as a tree, and its blocks and containers, against a slow recursive reading of the same tree."""

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import html
from lxml.etree import _Element

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
from es_dedup.extraction.reading.document import Document, read_document
from es_dedup.extraction.reading.parser_limits import Deadline
from es_dedup.extraction.white_space import clean, fold
from es_dedup.settings.loading import ExtractionConfig
from tests.reference.cleaning import cleaned


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


@settings(max_examples=200)
@given(st.lists(_PIECES, min_size=1, max_size=5))
def test_blocks_and_link_text_are_those_of_a_slow_reading(parts: list[str]) -> None:
    root = html.document_fromstring(f"<body><div>{''.join(parts)}</div></body>")

    assert _fast(read_blocks(root)) == _slowly(root)


@settings(max_examples=100)
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


PIECES = ["<p>", "</p>", "<div class=a>", "</div>", "<b>", "</b>", "<a href=/x>", "</a>", "<br>", "<li>", "<ul>", "</ul>", "<td>", "</table>", "<h1>",
          "</h1>", "</body>", "</html>", "<body>", "<p/>", "</nosuch>", "<span title='>'>", "x, and y.", "&nbsp;", " ", "\n", "<!-- c -->",
          "<script>a<b</script>", "<x-y>"]  # fmt: skip


def read(html: bytes | str, *, max_depth: int = 1000, max_nodes: int = 300_000) -> Document:
    config = ExtractionConfig(max_depth=max_depth, max_nodes=max_nodes)
    document = read_document(html, config, Deadline(60), url=None, http_charset=None)
    assert document is not None
    return document


@given(st.lists(st.sampled_from(PIECES), max_size=40))
@settings(max_examples=300)
def test_text_between_broken_tags_is_in_some_line(pieces: list[str]) -> None:
    document = read(f"<body>x{''.join(pieces)}")
    assert "".join(document.lines).count("x, and y.") == pieces.count("x, and y.")


def test_preformatted_text_keeps_its_lines() -> None:
    assert "\n".join(read("<pre>a = 1\n  b = 2\n\nc</pre>").lines) == "a = 1\nb = 2\nc"


def test_meta_elements_scripts_and_title() -> None:
    document = read(
        "<svg><title>drawing</title></svg><title> </title><title>A &amp; B</title><meta property='og:title dc:title' content=' C '>"
        "<meta name=Author content=''><meta http-equiv=Refresh content=1><meta name=author content=D><meta name=author content=E>"
        '<script id=x type=\'application/ld+json\'>{"@type": "Article"}</script><script src=y></script>'
    )
    assert document.title == "A & B"
    assert document.metas["og:title"] == document.metas["dc:title"] == "C"
    assert document.metas["author"] == "D"
    assert document.metas["refresh"] == "1"
    assert document.scripts == [({"id": "x", "type": "application/ld+json"}, '{"@type": "Article"}')]
    assert document.structured.types == {"article"}


def test_a_title_without_its_end_does_not_take_the_page() -> None:
    document = read("<html><head><title>A page\n<script>document.write('<b>x</b>')</script><body><p>one</p>")
    assert document.title == "A page"
    assert document.lines == ["one"]
    assert read("<title>On <b> and <i></title><p>one").title == "On <b> and <i>"


def test_a_json_document_is_a_script_of_an_empty_page() -> None:
    document = read(b' {"a": [1]}')
    assert document.lines == []
    assert document.scripts == [({"type": "application/json"}, ' {"a": [1]}')]


def test_elements_are_found_by_what_they_are_called() -> None:
    document = read("<p class='a b' id=c>1</p><p class='a b'>2</p><i rel=d itemprop=e>3</i><p id=c>4</p>")
    asked: list[str] = []

    def says(name: str) -> bool:
        asked.append(name)
        return True

    assert [element.text for element in document.marked(says)] == ["1", "2", "4"]
    assert asked == ["a b", "c"], "equal values are asked about once"
    assert [element.text for element in document.declaring] == ["3"]


def test_limits_are_noted_and_text_survives_them() -> None:
    deep = read("<div>" * 3000 + "x" + "</div>" * 3000 + "<p>y")
    assert deep.lines == ["x", "y"]
    assert deep.notes == ("nested deeper than 1000, flattened",)
    allowed = read("<div>" * 500 + "x" + "</div>" * 500 + "<p>y")
    assert allowed.lines == ["x", "y"]
    assert allowed.notes == ()
    shallow = read("<div>" * 30 + "x" + "</div>" * 30 + "<p>y", max_depth=16)
    assert shallow.lines == ["x", "y"]
    assert shallow.notes == ("nested deeper than 16, flattened",)
    most = read("<div>" * 1_990 + "x" + "</div>" * 1_990, max_depth=10_000)
    assert most.lines == ["x"]
    assert most.notes == ()
    assert read("<div>" * 2_500 + "x", max_depth=10_000).notes == ("nested deeper than 2000, flattened",)
    items = read("<li><td>" * 5_000 + "x")
    assert items.lines == ["x"]
    assert items.notes == ("nested deeper than 1000, flattened",)
    bold = read("<div class=a>x" + "<b><i>" * 2_000 + "y<p class=b>z")
    assert bold.root.xpath("string(//p[@class='b'])") == "z"
    many = read("<p>x</p>" * 2000, max_nodes=1000)
    assert len(many.lines) == 1000
    assert many.notes == ("more than 1000 elements, the rest was cut",)


@given(st.text(alphabet="ab 一、\n\r\t\u00a0\u200b\u3000\u2028.", max_size=40))
def test_white_space_is_folded_as_expressions_say(text: str) -> None:
    assert clean(text) == cleaned(text)
