"""The kernels read a page as the code beside them does: every tag, every element, every block."""

from __future__ import annotations

import random
from dataclasses import fields
from functools import cache
from html.entities import html5
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from es_dedup import compiled
from es_dedup.config import ExtractionConfig
from es_dedup.extraction import create_extractor
from es_dedup.extraction.reading.document import Block, build_shallow, read_shallow
from es_dedup.extraction.reading.guard import Deadline
from es_dedup.extraction.reading.markup import cut
from es_dedup.extraction.reading.measures import STOPPED, STOPS
from es_dedup.extraction.reading.source import read_source
from es_dedup.extraction.reading.trim import trim_fast, trim_plainly
from es_dedup.extraction.seen.view import View

pytest.importorskip("numba")

from es_dedup.extraction.reading.compiled.cutting import hashed, marks_of, tag_spans
from es_dedup.extraction.reading.compiled.joining import _folded, texts_of
from es_dedup.extraction.reading.compiled.marking import places_of
from es_dedup.extraction.reading.compiled.naming import elements_of
from es_dedup.extraction.reading.compiled.trimming import _name_at, cuts_of
from es_dedup.extraction.reading.compiled.walking import _add_text, _closing, _reached, runs_of
from es_dedup.extraction.reading.spans import read_spans
from es_dedup.extraction.seen.compiled.looking import kinds_of, lengths_of

SAMPLES = sorted((Path(__file__).parents[3] / "samples" / "pages").glob("*/*.html"))
SPACES = "".join(chr(code) for code in range(1, 0x3001) if chr(code).isspace())
PIECES = [
    "<p>", "</p>", "<P CLASS=X>", "<div class=a>", '<div class="b c" id="d">', '<div id="d"class=e>', '<li class="a&amp;b">', '<li class="a" class="b">',
    '<section data-x="1" class="z">', '<div class="" id="">', "<div hidden>", '<div style="display:none">', "<div role=main>", '<td hidden-x="">',
    "</div>", "</DIV >", "</section>", "<b>", "</b>", "<a href=/x>", "<a name='x'/>", "</a>", "<br>", "<br/>", "<hr>", "<li>", "<ul>", "</ul>", "<td>",
    "<tr>", "<table>", "</table>", "<h1>", "</h1>", "</body>", "</html>", "</HTML>", "<body class=x/>", "<html lang=zh>", "<body id=y>", "<p/>", "</nosuch>",
    "<x-y>", "</x-y>", "<X-Y a=b>", "<span title='>'>", '<span title=">', '<i a="x>y">', "<i a='", '<i a= "', "<button>", "</button>", "<rt>", "</rt>",
    "<option>", "<time>", "<meta name=a content=b>", "<img alt=x>", "<", ">", "=", '"', "'", "/", "&", "&nbsp;", "&#8203;", "&am", "p;", "&#0;", "text",
    "two words", "  a\n b ", "\n", " ", "一行\n又一行", "“q”", "\u3000", "\u3000字", "\x1c", "\x7f", "\x01x", "\u200b", "\u2028", "é", "</", "<!", "<1>", "<\u4e00>",
]  # fmt: skip

PREFORMATTED = [
    "\n", "\n", "\r\n", "\r", "\n\n", "  x", "x", "字", "\u3000", "\u2028y", "\x85", "\x0b", "\x0c", "\x1cz", "&lt;", "&nbsp;", "&#39;", "&#10;", "&#x41;",
    "&NewLine;", "&N", "&", "&#", "<b>", "</b>", "<a>", "</a>", "<pre>", "</pre>", "<PRE class=x>", "<br>", "<li>", "<textarea>", "</textarea>", "<p>",
]  # fmt: skip
ORDINARY = [
    "\n", "\n", "\n", "\r\n", "\t", "  x", "x", "字", "一行", "def f():", "a &lt; b", "x&amp;y", "“q”", "é", "<b>", "</b>", "<a href=/x>", "</a>", "<br>",
    "</pre>", "<pre>", "<PRE class=x>", "<p>", "<li>", "</code>", "<code>",
]  # fmt: skip
WRITTEN = [
    *STOPPED, " ", "\n", "\r", "\u3000", "\xa0", "\u2009", "\x0b", "x", "y", "字", "￥", "é", "\U0001f600", "\U00020000", "\u200b", "<b>", "</b>", "<a href=/>", "</a>",
    "&amp;", "&nbsp;", "&ldquo;", "&Eacute;", "&AMP", "&notit;", "&#8217;", "&#x2019;", "&#32;", "&#0;", "&#128;", "&#xD800;", "&#99999999;", "& ", "&", "&;", "R&D",
]  # fmt: skip


def values(block: Block) -> tuple[Any, ...]:
    return tuple(getattr(block, field.name) for field in fields(block))


def check(markup: bytes, max_depth: int = 256) -> None:
    document = build_shallow(cut(markup), Deadline(60), max_depth)
    found = read_spans(markup, max_depth)
    if document is None:
        assert found is None
        return
    if found is None:
        assert b"<pre" in markup.lower()  # odd ones are left to the other way
        return
    tags, elements, blocks, columns = found.tags, found.elements, found.blocks, found.columns
    assert columns is not None
    looks = document.elements.looks
    assert [elements.looks[look] for look in elements.look_of] == [
        looks[look] for look in document.elements.look_of
    ]
    assert elements.nodes == document.nodes
    assert list(elements.parents) == list(document.elements.parents) == [one.parent for one in document.nodes]
    assert list(elements.holders) == list(document.elements.holders) == [one.node for one in document.blocks]
    assert list(map(values, blocks)) == list(map(values, document.blocks))
    assert list(elements.ends) == list(document.elements.ends)
    assert columns.parents.tolist() == elements.parents
    assert columns.look_of.tolist() == elements.look_of
    lengths = [(block.chars, block.link_chars) for block in blocks]
    assert list(zip(columns.chars.tolist(), columns.link_chars.tolist(), strict=True)) == lengths
    for block, narrow, stops in zip(blocks, columns.narrow.tolist(), columns.stops.tolist(), strict=True):
        if narrow >= 0:
            assert narrow == sum(char.isascii() and char != " " for char in block.text)
            assert stops == len(STOPS.findall(block.text))
    assert list(tags.attributes) == list(document.tags.attributes)
    assert list(map(tags.tag_at, range(len(tags)))) == list(map(document.tags.tag_at, range(len(tags))))
    names = ("html", "body", "meta", "link", "h1", "time", "video", "audio", "object", "embed")
    assert tags.places(*names) == document.tags.places(*names)
    assert [tags.inner_text(place) for place in tags.places("h1")] == [
        document.tags.inner_text(place) for place in tags.places("h1")
    ]


@settings(max_examples=1_500, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=30))
@example(["<p>", "\u3000", "<b>", " ", "</b>", "x"])
@example(["<h1>", "a", "<b>", "b", "</b>", "</h1>", "<h1>"])
@example(["<html lang=zh>", "<body class=x/>", "<body id=y>", "x"])
def test_pieces_in_any_order(pieces: list[str]) -> None:
    check("".join(pieces).encode())


@settings(max_examples=500, deadline=None)
@given(st.binary(max_size=300), st.lists(st.sampled_from(PIECES), max_size=6))
def test_any_bytes(data: bytes, pieces: list[str]) -> None:
    check(data.replace(b"\0", b"") + "".join(pieces).encode() + data[::-1].replace(b"\0", b""))


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from([*SPACES, "&nbsp;", "<b>", "</b>", "<a>", "</a>", "x", "字"]), max_size=12))
def test_white_space_of_any_kind(pieces: list[str]) -> None:
    check(("<p>" + "".join(pieces)).encode())


@settings(max_examples=700, deadline=None)
@given(st.lists(st.sampled_from([*PREFORMATTED, *PREFORMATTED, *PIECES]), max_size=25))
@example(["<pre>", "\n", "x", "\n", "y", "<b>", "\n", "</b>", "z"])
@example(["<a href=/x>", "<pre>", " ", "\u3000", "x", "</a>", "y"])
@example(["<pre>", "x", "&#10;", "y"])
def test_preformatted_text(pieces: list[str]) -> None:
    check(("<pre>" + "".join(pieces)).encode())


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(ORDINARY), max_size=25))
@example(["\n", "def f():", "\n", "  return 1", "\r\n", "\n", "x"])
@example(["一行", "\n", "  字", "</pre>", "<p>", "x", "<pre>", "y"])
def test_ordinary_preformatted_text_is_read_by_kernels(pieces: list[str]) -> None:
    markup = ("<p>x<pre>" + "".join(pieces)).encode()
    assert read_spans(markup, 256) is not None
    check(markup)


@settings(max_examples=1_500, deadline=None)
@given(st.lists(st.sampled_from(WRITTEN), max_size=10))
@example(["<a href=/x>", "&nbsp;" * 40, "</a>", "x"])
@example(["&a", "<b>", "mp;"])
def test_texts(pieces: list[str]) -> None:
    check(("<p>" + "".join(pieces)).encode())


@settings(max_examples=300, deadline=None)
@given(st.lists(st.binary(min_size=1, max_size=3), max_size=8), st.booleans())
def test_broken_utf_8(pieces: list[bytes], apart: bool) -> None:
    check(
        b"<p>" + "字".encode() + (b"<b>" if apart else b"\xf0\x9f\x98\x80").join(pieces).replace(b"\0", b"")
    )


def test_every_reference_and_character() -> None:
    for written in (*html5, *(f"#{number};" for number in range(1_300))):
        check(f"<p>a &{written} <p>&{written}<p>字&{written}b".encode())
    for first in range(1, 0x21000, 64):
        chars = [chr(code) for code in range(first, first + 64) if not 0xD800 <= code < 0xE000]
        check("".join(f"<p>x{char}\n字.{char}" for char in chars).encode())


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_sample_pages(path: Path) -> None:
    check(sample(path))


@cache
def sample(path: Path) -> bytes:
    return read_source(path.read_bytes(), None).trimmed.markup


def test_damaged_sample_pages() -> None:
    rng = random.Random(7)
    for _ in range(150):
        page = bytearray(sample(rng.choice(SAMPLES)))
        for _ in range(rng.choice((1, 10, 100))):
            start = rng.randrange(len(page))
            end = start + rng.choice((0, 1, 5, 50))
            page[start:end] = rng.choice(
                (b"", rng.choice(PIECES).encode(), rng.randbytes(3), page[end:start:-1])
            )
        check(bytes(page).replace(b"\0", b""))


def test_many_names_and_many_looks() -> None:
    names = [f"x{number}" for number in range(3_000)]
    check("".join(f'<{name} class="c{name}">a</{name.upper()}>' for name in names * 2).encode())


@pytest.mark.parametrize("markup", ["<div>" * 50 + "x", "<div>" * 6_000, "<p>a" * 5_000 + "<div>" * 50 + "b"])
def test_what_is_too_deep(markup: str) -> None:
    check(markup.encode(), 40)
    check(markup.encode(), 60)


def test_quotation_marks_that_never_end_take_no_longer() -> None:
    check(b"<p>x</p>" + b"<a b=\"c='>" * 20_000 + b"y")


TRIMMED = [
    "<script>", "</script>", "<SCRIPT src=x>", "</Script >", "<style", ">", "</style/", "<!--", "-->", "--!>", "<!-->", "<!--->", "<!x", "<?x", "</ ", "</",
    "<", '"', "=", "<title>", "</title>", "a", "-", "!", "<svg/>", "</svg>", '<a b="', "<iframe>", "</iframe>", "</1>", "<noscript\x0b>", "</noscript",
]  # fmt: skip


@settings(max_examples=1_500, deadline=None)
@given(st.lists(st.sampled_from(TRIMMED), max_size=25))
@example(["<title>", "</title>", "<title>", "a", "</title>", "<title>", "-", "</title>"])
def test_the_same_is_cut_out(pieces: list[str]) -> None:
    check_trimmed("".join(pieces).encode())


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_the_same_is_cut_out_of_sample_pages(path: Path) -> None:
    data = path.read_bytes()
    check_trimmed(data)
    check_trimmed(data[: len(data) // 2])


def check_trimmed(data: bytes) -> None:
    plain, fast = trim_plainly(data), trim_fast(data)
    assert (fast.markup, fast.scripts, fast.title) == (plain.markup, plain.scripts, plain.title)


def test_both_ways_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    for chosen in (False, True):
        monkeypatch.setattr(compiled._State, "chosen", chosen)
        document = read_shallow(b"<p>x<pre>y", Deadline(60), 256)
        assert document is not None
        assert [one.text for one in document.blocks] == ["x", "y"]
        assert len(document.tags) == 4


def test_kernels_are_taken_after_some_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled._State, "chosen", None)
    monkeypatch.setattr(compiled._State, "handled", 0)
    monkeypatch.setattr(compiled._State, "next_look", compiled.WORTH_LOADING)
    monkeypatch.delenv(compiled.SWITCH, raising=False)
    extractor, page = create_extractor(), "<p>One line, and more of it.</p>" * 2_000
    ways = []
    for _ in range(60):
        extractor.extract(page)
        ways.append(compiled._State.chosen)
    assert ways == [None] * 49 + [True] * 11


def test_contents_are_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    extractor = create_extractor(ExtractionConfig())
    for path in SAMPLES[::9]:
        page, contents = path.read_bytes(), []
        for chosen in (False, True):
            monkeypatch.setattr(compiled._State, "chosen", chosen)
            contents.append(extractor.extract(page, url="https://a.example/1", explain=True))
        assert contents[0] == contents[1]


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_views_are_equal(path: Path) -> None:
    check_view(sample(path))


@settings(max_examples=400, deadline=None)
@given(
    st.lists(st.sampled_from(WRITTEN), max_size=12),
    st.integers(1, 150),
    st.lists(st.sampled_from(PIECES), max_size=9),
)
def test_views_of_any_text_are_equal(written: list[str], times: int, pieces: list[str]) -> None:
    check_view(f"<p>{'，'.join(written)}<p>{''.join(written) * times}{''.join(pieces)}".encode())


def check_view(markup: bytes) -> None:
    document, found = build_shallow(cut(markup), Deadline(60), 256), read_spans(markup, 256)
    assert document is not None
    assert found is not None
    plain, fast = View(document), View(found)
    assert (fast.units, fast.prose) == (plain.units, plain.prose)
    assert (fast.kinds, fast.kind.of_nodes) == (plain.kinds, plain.kind.of_nodes)
    assert (fast.arounds, fast.kind.outer) == (plain.arounds, plain.kind.outer)
    assert (fast.ends, fast.headings, fast.mass) == (plain.ends, plain.headings, plain.mass)


def test_kernels_are_compiled_for_one_form_of_arrays() -> None:
    for markup in (b"", b"x", b"<p>x<p>y", b"<pre>x\ny</pre>\xff<p>&#0;", sample(SAMPLES[0])):
        check_view(markup)
        check_trimmed(markup)
        found = read_spans(markup, 256)
        assert found is not None
        found.tags.places_with((b"author", b"date"))
    called = (marks_of, tag_spans, runs_of, texts_of, elements_of, lengths_of, kinds_of, places_of, cuts_of)
    for kernel in cast("tuple[Any, ...]", called):
        assert len(kernel.signatures) == 1
    for inner in cast("tuple[Any, ...]", (_add_text, _closing, _folded, _name_at, _reached, hashed)):
        assert len(inner.signatures) <= 1  # none where whoever calls it was on the disk already
