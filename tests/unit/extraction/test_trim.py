"""The short way to the parser: the same text as the long one, and every odd page is sent the long way."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_dedup.config import ExtractionConfig
from es_dedup.extraction import extract
from es_dedup.extraction import page as page_module
from es_dedup.extraction.hints import _NEGATIVE, _POSITIVE, _TALK, _flags_of_word
from es_dedup.extraction.trim import MAX_TAGS, trim
from tests.samples import pages

PLAIN = ExtractionConfig(extractor="plain")


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
        ("a<script>'</scr' + 'ipt>' </script>b", "ab"),
    ],
)
def test_what_holds_no_text_is_cut_out(markup: str, kept: str) -> None:
    found = trim(markup)
    assert found is not None
    assert found.markup == kept


def test_scripts_are_kept_aside_with_their_attributes() -> None:
    found = trim('<script type="a">1</script><script></script><script>2</script>')
    assert found is not None
    assert found.scripts == [(' type="a"', "1"), ("", "2")]


@pytest.mark.parametrize(
    "markup",
    [
        "<p>" * (MAX_TAGS + 1),
        "<p " + "a " * 5_000 + ">x",
        "<p " + " ".join(f"a{n}='>'" for n in range(6_000)) + ">x",
        "x" * 2_000_001,
    ],
)
def test_odd_pages_are_looked_at_tag_by_tag(markup: str) -> None:
    assert trim(markup) is None


def test_both_ways_give_the_same_text_of_all_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    short = [extract(page.html or b"", url=page.url, config=PLAIN).text for page in pages()]
    monkeypatch.setattr(page_module, "trim", lambda _: None)
    assert [extract(page.html or b"", url=page.url, config=PLAIN).text for page in pages()] == short


@given(
    st.lists(
        st.sampled_from(
            ["<p>", "</p>", "文字，", "<b>", "</b>", "<script>a</script>", "<!--c-->", "<br>", "<td>", "x "]
        ),
        max_size=30,
    )
)
def test_both_ways_give_the_same_text_of_random_pages(parts: list[str]) -> None:
    markup = "<div>" + "".join(parts)
    short = extract(markup, config=PLAIN)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page_module, "trim", lambda _: None)
        assert extract(markup, config=PLAIN).text == short.text


@given(st.text("abcdefgimnoprstuvwy-_ ", max_size=20), st.sampled_from((*_NEGATIVE, *_POSITIVE, *_TALK)))
def test_the_table_of_name_parts_finds_what_a_plain_search_finds(around: str, part: str) -> None:
    name = (around[:7] + part + around[7:]).replace(" ", "")
    flags = _flags_of_word(name)
    assert bool(flags & 1) == any(word in name for word in _POSITIVE)
    assert bool(flags & 4) == any(word in name for word in _TALK)
    if any(word in name for word in _NEGATIVE):
        assert flags & 2
