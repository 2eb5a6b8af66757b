"""What is cut out before a page is read, and that the guard changes no text of ordinary pages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_dedup.extraction.reading.document import build
from es_dedup.extraction.reading.guard import Deadline, guard
from es_dedup.extraction.reading.markup import cut
from es_dedup.extraction.reading.source import read_source
from es_dedup.extraction.reading.trim import trim
from es_dedup.extraction.seen.hints import _HAS, _LISTS, _NEGATIVE, _POSITIVE, _TALK, _flags_of_word
from tests.samples import pages

pytestmark = pytest.mark.usefixtures("both_paths")


@pytest.mark.parametrize(
    ("markup", "kept"),
    [
        ("a<script>x</script>b", "ab"),
        ("a<SCRIPT src=x></SCRIPT >b", "ab"),
        ("a<style>p{}</style>b<!-- c -->d", "abd"),
        ("a<!-->b<!--->c", "abc"),
        ("a<script>x", "a"),
        ("a<!-- x", "a"),
        ("a<svg><path/></svg>b", "ab"),
        ("a<select><option>x</select>b", "ab"),
        ("a<svg>b", "ab"),
        ("a<scripture>b", "a<scripture>b"),
        ('<p title="<script>">a</p>', '<p title="<script>">a</p>'),
        ('<p>"<script>b</script>"</p>', '<p>""</p>'),
        ('<p>say "<!-- c -->"</p>', '<p>say ""</p>'),
        ("<!DOCTYPE html><?xml version=1?>a</ >b<p", "ab"),
        ("a < b</p", "a < b"),
        ("a<script>'</scr' + 'ipt>' </script>b", "ab"),
    ],
)
def test_what_holds_no_text_is_cut_out(markup: str, kept: str) -> None:
    assert trim(markup.encode()).markup == kept.encode()


def test_scripts_are_kept_aside_with_their_attributes() -> None:
    found = trim(b'<script type="a">1</script><script></script><script>2</script>')
    assert found.scripts == [(b' type="a"', b"1"), (b"", b"2")]


def test_the_first_title_is_kept_aside() -> None:
    found = trim(b"<TITLE>a <b> c</title ><p>x<title>d</title>")
    assert found.title == b"a <b> c"
    assert found.markup == b"<p>x"


def test_a_title_that_says_nothing_gives_way_to_the_next() -> None:
    assert trim(b"<title> </title><title>a</title><title>b</title>").title == b"a"


def guarded(markup: bytes) -> bytes:
    text = markup.decode()
    return guard(text, max_depth=200, max_nodes=100_000, deadline=Deadline(60)).markup.encode()


def texts(markup: bytes) -> list[str]:
    return [block.text for block in build(cut(markup), Deadline(60)).blocks]


def test_the_guard_changes_no_text_of_the_samples() -> None:
    for page in pages():
        markup = read_source(page.html or b"", None).trimmed.markup
        assert texts(guarded(markup)) == texts(markup)


@given(
    st.lists(
        st.sampled_from(
            ["<p>", "</p>", "文字，", "<b>", "</b>", "<script>a</script>", "<!--c-->", "<br>", "<td>", "x "]
        ),
        max_size=30,
    )
)
def test_the_guard_changes_no_text_of_random_pages(parts: list[str]) -> None:
    markup = trim(("<div>" + "".join(parts)).encode()).markup
    assert texts(guarded(markup)) == texts(markup)


@given(st.text("abcdefgimnoprstuvwy-_ ", max_size=20), st.sampled_from((*_NEGATIVE, *_POSITIVE, *_TALK)))
def test_the_table_of_name_parts_finds_what_a_plain_search_finds(around: str, part: str) -> None:
    name = (around[:7] + part + around[7:]).replace(" ", "")
    flags = _flags_of_word(name)
    name = _HAS.split(name, maxsplit=1)[0]  # what it has or lacks it is not
    assert bool(flags & 1) == any(word in name for word in _POSITIVE)
    assert bool(flags & 4) == any(word in name for word in _TALK)
    if any(word in name for word in _LISTS):
        assert flags & (2 | 8)
    if any(word in name for word in _NEGATIVE if word not in _LISTS):
        assert flags & 2
