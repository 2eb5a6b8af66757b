"""lxml as the parser: its tree decides, what would hurt it is read tag by tag, and sound pages read the same with either."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from es_dedup import Deduplicator, Page
from es_dedup.config import ExtractionConfig, Settings, describe, load_settings
from es_dedup.errors import ConfigError
from es_dedup.extraction import create_extractor, extract
from es_dedup.extraction.reading.document import build
from es_dedup.extraction.reading.guard import MAX_TAG_CHARS, Deadline
from es_dedup.extraction.reading.markup import CutTags, cut
from es_dedup.extraction.reading.tree import MAX_TREE_ATTRIBUTES, MAX_TREE_DEPTH, read_tree
from es_dedup.model import Content

SAMPLES = sorted((Path(__file__).parents[3] / "samples" / "pages").glob("*/*.html"))
LXML = ExtractionConfig(parser="lxml")
PLAIN = ExtractionConfig(parser="lxml", extractor="plain")
MISNESTED = "<p>before<b><div>inside</div>behind</b></p>"
"""A ``<div>`` closes a ``<p>``; libxml2 lets it stand where a ``<b>`` is between them."""


def tags_of(markup: str) -> CutTags:
    tags = read_tree(markup.encode())
    assert tags is not None
    return tags


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_sample_pages_have_the_same_content_with_either_parser(path: Path) -> None:
    page, url = path.read_bytes(), f"http://{path.parent.name}.example/{path.name}"
    ours, theirs = extract(page, url=url, explain=True), extract(page, url=url, explain=True, config=LXML)
    assert ours.text
    assert theirs == ours


def test_the_tree_decides_what_stands_in_what() -> None:
    def parents(tags: CutTags) -> list[str]:
        nodes = build(tags, Deadline(60)).nodes
        return [nodes[node.parent].tag for node in nodes if node.tag == "div"]

    assert parents(tags_of(MISNESTED)) == ["p"]
    assert parents(cut(MISNESTED.encode())) == ["body"]


VALUES = st.text(
    st.characters(exclude_categories=("Cs", "Cc", "Cn")) | st.sampled_from("\"'&<>=/ \n\t"), max_size=20
)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.from_regex(r"[a-z][a-z\"'<&-]{0,6}", fullmatch=True), VALUES, max_size=5), VALUES)
def test_attributes_and_texts_are_those_of_the_tree(attributes: dict[str, str], text: str) -> None:
    def written(value: str) -> str:
        return value.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")

    pairs = " ".join(f'{name}="{written(value)}"' for name, value in attributes.items())
    page = f"<div {pairs}>{written(text)}</div>"
    element = etree.fromstring(page.encode(), etree.HTMLParser(encoding="utf-8")).find("body/div")
    assert element is not None
    tags = tags_of(page)
    place = tags.written.index(b"div")
    assert tags.attributes_at(place) == dict(element.items())
    assert tags.inner_text(place) == (element.text or "")


def test_the_attributes_of_the_page_tags_are_those_of_the_page() -> None:
    tags = tags_of(
        "<html lang=zh class='a b'><head><meta name=x content=y></head><body id=c><h1>A <b>bold</b> word</h1><h1></h1>x"
    )
    assert [tags.attributes_at(place) for place in tags.places("html", "body")[:2]] == [
        {"lang": "zh", "class": "a b"},
        {"id": "c"},
    ]
    assert tags.attributes_at(tags.places("meta")[0]) == {"name": "x", "content": "y"}
    assert [tags.inner_text(place) for place in tags.places("h1")] == ["A bold word", ""]


@pytest.mark.parametrize(
    "markup",
    [
        "<div " + " ".join(f"a{n}" for n in range(MAX_TREE_ATTRIBUTES + 2)) + ">x",
        '<p a=="b c=">" ' + " ".join(f"a{n}=1" for n in range(MAX_TAG_CHARS)) + ">x",  # quotes out of step
        "</p a='<q b=\"'><div c=\"> \" " + " ".join(f"a{n}" for n in range(MAX_TAG_CHARS)) + ">x",
        "<xmp><p a='</xmp><q b=\"'><div c=\"> \" " + " ".join(f"a{n}" for n in range(MAX_TAG_CHARS)) + ">x",
        "<div>" * MAX_TREE_DEPTH + "x",
        "<b>" * MAX_TREE_DEPTH + "x",
        "<li><td>" * MAX_TREE_DEPTH + "x",
    ],
)  # fmt: skip
def test_what_would_hurt_is_refused_and_read_tag_by_tag(markup: str) -> None:
    start = time.process_time()
    assert read_tree(markup.encode()) is None
    found = extract(markup, config=PLAIN)
    assert time.process_time() - start < 2
    assert found.text.endswith("x")


def test_what_is_just_below_the_limits_is_read() -> None:
    assert read_tree(b"<b>" * (MAX_TREE_DEPTH - 10) + b"x") is not None
    assert read_tree(b"<p title='" + b"x " * MAX_TAG_CHARS + b"'>x") is not None
    many = " ".join(f"name{n}=1" for n in range(MAX_TREE_ATTRIBUTES - 1))
    assert read_tree(f"<p {many}>x".encode()) is not None


@pytest.mark.parametrize("markup", [b"", b" ", b"</p>", b"\x00", b"\xff\xfe"])
def test_nothing_to_read_is_an_empty_page(markup: bytes) -> None:
    tags = read_tree(markup)
    assert tags is not None
    assert build(tags, Deadline(60)).blocks == []


def test_bytes_that_are_no_text_cost_nothing_else() -> None:
    assert extract(b"<p>a\xffb\x0ec</p><p>d", http_charset="utf-8", config=PLAIN).text.endswith("\nd")


def test_the_setting_is_loaded_checked_and_shown_as_shaping_features() -> None:
    chosen = load_settings(environ={"ES_DEDUP_EXTRACTION__PARSER": "lxml"})
    assert chosen.extraction.parser == "lxml"
    line = next(line for line in describe(chosen) if line.key == "extraction.parser")
    assert (line.value, line.default, line.origin, line.shapes) == (
        "lxml",
        "tags",
        "ES_DEDUP_EXTRACTION__PARSER",
        True,
    )
    with pytest.raises(ConfigError, match=r"extraction\.parser"):
        load_settings(overrides={"extraction.parser": "html5lib"}, environ={})


def test_pages_are_read_with_the_parser_of_the_settings(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    read: list[bytes] = []

    def counted(markup: bytes) -> CutTags | None:
        read.append(markup)
        return read_tree(markup)

    monkeypatch.setattr("es_dedup.extraction.reading.tree.read_tree", counted)
    page = SAMPLES[0].read_bytes()
    for parser, times in (("tags", 0), ("lxml", 1)):
        read.clear()
        options = Settings(extraction=ExtractionConfig(parser=parser))
        with Deduplicator.open(tmp_path / f"{parser}.db", settings=options) as index:
            index.add(Page("a", html=page))
        assert len(read) == times


def test_the_same_object_reads_many_pages() -> None:
    extractor = create_extractor(LXML)
    first = [extractor.extract(path.read_bytes()) for path in SAMPLES[:5]]
    again = [extractor.extract(path.read_bytes()) for path in SAMPLES[:5]]
    assert first == again
    assert all(isinstance(found, Content) for found in first)
