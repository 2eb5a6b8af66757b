"""The scan before parsing: what could hurt the parser is taken out, in linear time, and the text stays."""

from __future__ import annotations

import gzip
import time

import pytest

from es_dedup.extraction.reading.guard import (
    MAX_FORMATTING_DEPTH,
    Deadline,
    DeadlineExceeded,
    Guarded,
    binary_kind,
    guard,
)


def scan(text: str, *, max_depth: int = 256, max_nodes: int = 300_000) -> Guarded:
    return guard(text, max_depth=max_depth, max_nodes=max_nodes, deadline=Deadline(60))


@pytest.mark.parametrize(
    "markup",
    [
        "<p>一<br>二</p>",
        "<div class=\"a\" title='x > y'>text</div>",
        "<table><tr><td>1<td>2</table>",
        "<title>A < B</title>",
        "a < b and c > d",
        "<custom-tag>x</custom-tag>",
    ],
)
def test_ordinary_markup_passes_unchanged(markup: str) -> None:
    assert scan(markup).markup == markup


@pytest.mark.parametrize(
    ("markup", "left"),
    [
        ("a<script>if (1 < 2) '<p>'</script>b", "ab"),
        ("a<STYLE media=x>p > a {}</Style >b", "ab"),
        ("a<!-- <p> -- > -->b", "ab"),
        ("a<!-->b-->c", "ab-->c"),
        ("a<!doctype html>b<?php echo ?>c", "abc"),
        ("a<![CDATA[x]]>b", "ab"),
        ("a<iframe src=x><p>y</iframe>b", "ab"),
        ("a\x00b<p\x00>c", "ab<p>c"),
        ("a</div>b</x>c", "abc"),
        ("a<script>never closed <p>b", "a"),
        ("a<textarea>never closed <p>b", "anever closed <p>b"),
        ("a<!-- never closed <p>b", "a"),
    ],
)
def test_what_is_no_content_is_dropped(markup: str, left: str) -> None:
    assert scan(markup).markup == left


def test_scripts_are_kept_aside() -> None:
    found = scan('<script type="application/ld+json">{"a": 1}</script><script>var b</script>')
    assert found.scripts == [(' type="application/ld+json"', '{"a": 1}'), ("", "var b")]
    assert found.markup == ""


def test_deep_nesting_is_flattened_with_its_end_tags() -> None:
    found = scan("<div>" * 50 + "x" + "</div>" * 50 + "<p>y", max_depth=20)
    assert found.markup == "<div>" * 20 + "x" + "</div>" * 20 + "<p>y"
    assert found.notes == ["nested deeper than 20, flattened"]


def test_unclosed_paragraphs_and_items_are_not_deep() -> None:
    markup = "<p>x<li>y<td>z" * 1000
    assert scan(markup, max_depth=16).markup == markup


def test_misnested_tags_do_not_hide_depth() -> None:
    assert scan("<div></x>" * 100, max_depth=30).markup.count("<div>") == 30
    assert scan("<div><span></div>" * 100, max_depth=30).markup.count("<div>") == 100


def test_piles_of_formatting_tags_are_limited() -> None:
    assert scan("<b><i>" * 100 + "x").markup.count("<") == MAX_FORMATTING_DEPTH


def test_giant_tags_are_shortened_and_keep_their_first_attributes() -> None:
    found = scan('<div class="text" ' + " ".join(f"a{n}=1" for n in range(5000)) + ">x</div>")
    assert found.markup.startswith('<div class="text" a0=1')
    assert len(found.markup) < 1000
    assert found.notes == ["tags with very many or very long attributes were shortened"]


def test_a_long_picture_in_an_attribute_is_dropped_without_a_note() -> None:
    found = scan('<img alt="a" src="data:image/png;base64,' + "A" * 50_000 + '">x')
    assert found.markup == '<img alt="a">x'
    assert found.notes == []


def test_elements_beyond_the_limit_are_cut() -> None:
    found = scan("<p>x</p>" * 100, max_nodes=10)
    assert found.markup.count("<p>") == 10 - 5  # end tags of paragraphs count: a stray one makes an element
    assert found.notes == ["more than 10 elements, the rest was cut"]


def test_the_deadline_is_kept() -> None:
    deadline = Deadline(1e-9)
    time.sleep(0.001)
    with pytest.raises(DeadlineExceeded):
        guard("<p>" * 2000, max_depth=99, max_nodes=10**6, deadline=deadline)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"%PDF-1.7\n", "PDF"),
        (gzip.compress(b"<p>x", mtime=0), "gzip"),
        (b"\x89PNG\r\n\x1a\n\0\0", "PNG"),
        (b"GIF89a", "GIF"),
        (b"\xff\xd8\xff\xe0", "JPEG"),
        (b"PK\x03\x04", "ZIP"),
        (b"\0\0\0\x18ftypmp42", "MP4"),
        (bytes(range(1, 9)) * 50, "unknown binary"),
        (b"<html>\x00\x00\x00", None),
        ("<p>中</p>".encode("utf-16-le"), None),
        ("<p>中文</p>".encode("gbk"), None),
        (b"", None),
    ],
)
def test_binary_files_are_named(data: bytes, kind: str | None) -> None:
    assert binary_kind(data) == kind
