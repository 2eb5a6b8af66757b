"""One page from bytes to content, and the choice of the method by name."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest

from es_dedup.errors import ConfigError
from es_dedup.extraction import (
    create_extractor,
    extract,
    extractor_names,
    register,
    registry,
)
from es_dedup.extraction.page import HtmlExtractor
from es_dedup.extraction.reading.guard import DeadlineExceeded
from es_dedup.model import Content, Skipped
from es_dedup.settings.loading import ExtractionConfig

if TYPE_CHECKING:
    from es_dedup.extraction.reading.document import Document

LINE = "这里是正文，有逗号，也有句号，一共有不少的字，可以算作正文了。"
PAGE = f"<html><head><meta charset=gbk><title>标题</title></head><body><p>{LINE}</p></body></html>"


def test_bytes_and_text_give_the_same_content_but_for_the_charset() -> None:
    decoded, raw = extract(PAGE), extract(PAGE.encode("gbk"))
    assert decoded.charset is None
    assert raw.charset == "gb18030"
    assert (
        (decoded.text, decoded.title, decoded.language)
        == (raw.text, raw.title, raw.language)
        == (LINE, "标题", "zh")
    )


@pytest.mark.parametrize("name", ["blocks", "plain", "topic"])
def test_every_method_reads_the_page(name: str) -> None:
    extractor = create_extractor(ExtractionConfig(extractor=name, min_block_chars=10))
    found = extractor.extract(PAGE)
    assert extractor.name == name
    assert isinstance(found, Content)
    assert found.text == LINE


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        ("", "empty"),
        (b" \n\0", "empty"),
        (b"<p></p>", "empty"),
        (b"<script>x</script>", "empty"),
        (b"%PDF-1.4 x", "binary"),
        ("%PDF-1.4 x", "binary"),
        (gzip.compress(PAGE.encode(), mtime=0), "binary"),
        (b"\x89PNG\r\n\x1a\n", "binary"),
    ],
)
def test_unusable_input_is_skipped_with_a_reason(data: bytes | str, reason: str) -> None:
    found = create_extractor().extract(data, url="http://www.example.cn/")
    assert isinstance(found, Skipped)
    assert found.reason == reason
    content = extract(data, url="http://www.example.cn/")
    assert content.text == ""
    assert content.site == "example.cn"
    assert content.notes[0].startswith(f"skipped: {reason}")


def test_time_running_out_is_a_reason_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(document: Document, config: ExtractionConfig) -> str:
        raise DeadlineExceeded

    found = HtmlExtractor("slow", slow, ExtractionConfig()).extract(PAGE)
    assert found == Skipped("timeout", "more than 10 s")


def test_what_is_cut_is_noted() -> None:
    found = extract(f"<p>{LINE}</p>" * 100, config=ExtractionConfig(max_bytes=1000, extractor="plain"))
    assert len(found.text) < 1000
    assert found.notes == ("longer than 1000 bytes, the rest was cut",)


def test_an_unknown_method_is_a_mistake_in_the_settings() -> None:
    with pytest.raises(ConfigError, match="blocks, plain, readability, resiliparse, topic, trafilatura"):
        extract(PAGE, config=ExtractionConfig(extractor="magic"))


def test_a_method_of_ones_own_can_be_registered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_METHODS", dict(registry._METHODS))
    register("first", lambda document, config: document.lines[0])
    assert "first" in extractor_names()
    assert extract(PAGE, config=ExtractionConfig(extractor="first")).text == LINE
    with pytest.raises(ValueError, match="choose another name"):
        register("first", lambda document, config: "")


@pytest.mark.parametrize(
    "title",
    ["502 Bad Gateway", "HTTP 404 Not Found", "503 Service Temporarily Unavailable", "Just a moment..."],
)
def test_the_error_page_of_a_server_is_skipped(title: str) -> None:
    page = f"<title>{title}</title><body><p>The requested URL could not be retrieved, so try again later, please.</p>"
    found = create_extractor().extract(page.encode())
    assert found == Skipped("empty", f"the error page of a server: {title}")


@pytest.mark.parametrize(
    "title", ["404", "502 people came to the fair", "Access to the river", "403 Forbidden Street, a novel"]
)
def test_a_page_with_such_words_in_its_title_is_read(title: str) -> None:
    page = (
        f"<title>{title}</title><body><p>The fair of the year was held on Sunday, and many people came, some say.</p>"
        * 3
    )
    assert isinstance(create_extractor().extract(page.encode()), Content)
