"""Both parsers give the blocks that recursion over a tree gives; of broken markup no text is lost."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from es_dedup.extraction import extract
from es_dedup.extraction.reading.document import Document, build, build_shallow, clean
from es_dedup.extraction.reading.guard import Deadline
from es_dedup.extraction.reading.markup import CutTags, cut
from es_dedup.extraction.reading.source import read_source
from es_dedup.extraction.reading.tree import read_tree
from es_dedup.extraction.reading.trim import trim
from tests.reference.blocks import blocks, parse
from tests.reference.cleaning import cleaned

if TYPE_CHECKING:
    from collections.abc import Callable

    Parser = Callable[[bytes], CutTags | None]

TEXTS = st.sampled_from(
    [" ", "\n", "one line\nanother", "一行\n又一行", "text, and more.", "&nbsp;", "&#8203;", "\u3000", "a &amp; b", "<br>", "<img alt=x>", "<hr>",
     "<ruby>字<rt>zi</rt></ruby>", "<button>b<p>c</button>"]
)  # fmt: skip
TAGS = st.sampled_from(
    ["p", "div class=a", "span", "b", "pre", "ul", "li", "section id=x", "h2", "dl", "dd", "table", "tr", "td", "x-y", "blockquote", "DIV", "noscript"]
)  # fmt: skip
PIECES = ["<p>", "</p>", "<div class=a>", "</div>", "<b>", "</b>", "<a href=/x>", "</a>", "<br>", "<pre>", "</pre>", "<li>", "<ul>", "</ul>", "<td>", "</table>",
          "<h1>", "</h1>", "</body>", "</html>", "<body>", "<p/>", "</nosuch>", "<span title='>'>"]  # fmt: skip
OPEN_PAGE = [piece for piece in PIECES if piece not in {"</body>", "</html>", "<a href=/x>"}]
THROUGH_INLINE = re.compile(rb"<pre>.*<(?:b|span)>.*<(?:ul|li|dl|dd|table)>", re.DOTALL)
"""What is meant to be read unlike libxml2: there the inline element keeps the preformatted one open."""

SAMPLES = sorted((Path(__file__).parents[3] / "samples" / "pages").glob("*/*.html"))


CLOSES_PARAGRAPH = re.compile("<(?:p|div|pre|ul|li|section|h2|hr|dl|dd|table|blockquote)", re.IGNORECASE)


def element(tag: str, inside: list[str]) -> str:
    """Without the end of a paragraph that ends before: it would stand for an empty one, which libxml2 sees only at times."""
    content, name = "".join(inside), tag.split(maxsplit=1)[0]
    ended = name == "p" and CLOSES_PARAGRAPH.search(content)
    return f"<{tag}>{content}" if ended else f"<{tag}>{content}</{name}>"


TREES = st.recursive(
    TEXTS, lambda inner: st.builds(element, TAGS, st.lists(inner, max_size=4)), max_leaves=25
)
UNCLOSED = st.sampled_from(
    [
        "<p>never closed",
        "<li>item",
        "<ul><li>a<li>b</ul>",
        "<table><tr><td>a<td>b<tr><td>c</table>",
        "<dl><dt>a<dd>b</dl>",
    ]
)
LINKS = st.builds(
    lambda text: f"<a href=/x>{text}</a>", st.sampled_from(["a link", "<b>一个</b>链接", "&nbsp;x", "<img>"])
)


both_parsers = pytest.mark.parametrize("parser", [cut, read_tree])


def read(markup: bytes, parser: Parser = cut) -> Document:
    tags = parser(markup)
    assert tags is not None
    return build(tags, Deadline(60))


def seen(document: Document) -> list[tuple[str, int, int, int, bool]]:
    return [(block.text, block.chars, block.link_chars, block.links, block.led) for block in document.blocks]


def check(markup: bytes, parser: Parser) -> None:
    root = parse(markup)
    if root is not None:
        assert seen(read(markup, parser)) == blocks(root)


@cache
def sample(path: Path) -> bytes:
    return read_source(path.read_bytes(), None).trimmed.markup


@both_parsers
@settings(max_examples=400, deadline=None)
@given(pieces=st.lists(st.one_of(TREES, LINKS, UNCLOSED), max_size=6))
def test_trees_of_any_kind(parser: Parser, pieces: list[str]) -> None:
    markup = trim(("<body>" + "".join(pieces)).encode()).markup
    assume(not THROUGH_INLINE.search(markup))
    check(markup, parser)


def test_the_end_of_a_paragraph_that_was_closed_before_stands_for_an_empty_one() -> None:
    """By the HTML standard, section 13.2.6.4.7; libxml2 leaves it out where elements of inline text do not lie between."""
    for inner in ("<p></p>", "<span><p></p></span>", "<div></div>"):
        document = read(f"<body><p>{inner}one line</p><a href=/x>a link</a>".encode())
        assert [block.text for block in document.blocks] == ["one line", "a link"]


def test_links_before_an_empty_line_of_preformatted_text_begin_in_the_line_below() -> None:
    document = read(b"<body><a href=/x><img></a><pre>\n&nbsp;\none line\n\nanother</pre>")
    assert [(block.text, block.links) for block in document.blocks] == [("one line", 1), ("another", 0)]


def test_white_space_of_any_kind_begins_no_text() -> None:
    spaces = [chr(code) for code in range(0x80, 0x110000) if chr(code).isspace()]
    page = "".join(f"<p><a href=/x><img></a>{space} &nbsp;<br><i> {space}</i><b>x</b>" for space in spaces)
    blocks = read(page.encode()).blocks
    assert [(block.text, block.links, block.link_chars) for block in blocks] == [("x", 1, 0)] * len(spaces)


@settings(max_examples=500, deadline=None)
@given(st.text("字。 \n\r\t\u3000\xa0\u2028a.\u200b\x1c\x85\x0bｗ\xad"))
def test_white_space_is_folded_as_expressions_say(text: str) -> None:
    assert clean(text) == cleaned(text)


@both_parsers
@settings(max_examples=300, deadline=None)
@given(pieces=st.lists(st.one_of(st.sampled_from(PIECES), st.integers(100, 999).map(str)), max_size=40))
def test_broken_markup_loses_no_text(parser: Parser, pieces: list[str]) -> None:
    text = "".join(block.text.replace(" ", "") for block in read("".join(pieces).encode(), parser).blocks)
    assert text == "".join(piece for piece in pieces if piece.isdigit())


@settings(max_examples=400, deadline=None)
@given(st.lists(st.one_of(st.sampled_from(OPEN_PAGE), st.integers(100, 999).map(str)), max_size=40))
def test_of_broken_markup_the_tree_decides(pieces: list[str]) -> None:
    check("".join(pieces).encode(), read_tree)


@both_parsers
@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_sample_pages(path: Path, parser: Parser) -> None:
    check(sample(path), parser)


def test_there_are_sample_pages() -> None:
    assert len(SAMPLES) > 20


@pytest.mark.parametrize(
    ("markup", "linked"),
    [
        ("<a href=/x>one</a> two", 3),
        ("<div><a href=/x>one</div>two", 3),
        ("<a href=/x><div>one</div></a><p>two", 3),
        ("<div><a href=/x>one<div>two</a></div>three", 6),
        ("<a name=x/>one", 3),
        ("<a name='x'/>one", 0),
    ],
)
def test_a_link_ends_with_its_tag_or_with_the_element_around_it(markup: str, linked: int) -> None:
    assert sum(block.link_chars for block in read(markup.encode()).blocks) == linked


@both_parsers
def test_what_is_left_out_ends_with_the_element_around_it(parser: Parser) -> None:
    found = read(b"<div>a<button>b<div>c</div>d</div>e<button/>f", parser)
    assert [block.text for block in found.blocks] == ["a", "ef"]


@both_parsers
def test_names_and_hidden_parts(parser: Parser) -> None:
    found = read(
        b"<body class=page><div ID='a' Class=\"b c\" class=d><p style='display: none'>x</p><p hidden>y<b>z",
        parser,
    )
    assert [(node.tag, node.names, node.hidden) for node in found.nodes] == [
        ("html", "", False),
        ("body", "page", False),
        ("div", "b c a", False),
        ("p", "", True),
        ("p", "", True),
    ]
    assert [block.text for block in found.blocks] == ["x", "yz"]


@both_parsers
def test_the_whole_page_is_open_whatever_its_tags_say(parser: Parser) -> None:
    found = read(b"<html class=a/><body id=b /><p>x</html></body></p>y</body></html><li>z", parser)
    assert [block.text for block in found.blocks] == ["x", "y", "z"]
    assert [node.names for node in found.nodes[:2]] == ["a", "b"]


@both_parsers
@pytest.mark.parametrize("end", ["</html>", "</HTML>", "</Html>", "</BODY></HTML>"])
def test_the_end_of_the_page_ends_nothing_however_it_is_written(parser: Parser, end: str) -> None:
    found = read(f"<BODY CLASS=a><P>x</P>{end}<DIV>y</DIV>{end}z".encode(), parser)
    assert [block.text for block in found.blocks] == ["x", "y", "z"]
    assert found.nodes[1].names == "a"


@both_parsers
def test_deeper_than_allowed(parser: Parser) -> None:
    tags = parser(b"<div>" * 50 + b"x")
    assert tags is not None
    assert build_shallow(tags, Deadline(60), 40) is None
    assert build_shallow(tags, Deadline(60), 60) is not None


@pytest.mark.parametrize("end", ["</HTML>", "</Html>", "</html>", "</BODY></HTML>"])
@pytest.mark.parametrize(
    "behind", ["", "<", "<p>The second paragraph is a sentence, too.</p>", "\n<SCRIPT></SCRIPT>\n</HTML>"]
)
def test_the_page_never_ends_however_its_end_is_written(end: str, behind: str) -> None:
    first = "The first paragraph is a sentence, and no more."
    found = extract(f"<p>{first}</p>{end}{behind}")
    assert found.text.startswith(first)
    assert ("second" in found.text) == ("second" in behind)
