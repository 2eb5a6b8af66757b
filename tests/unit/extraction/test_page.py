"""A page as a whole: methods, what is skipped, kinds of pages."""

import gzip
from datetime import datetime

import pytest

from es_dedup.extraction import create_extractor, extract, extractor_names, register, registry
from es_dedup.extraction.page_to_content import HtmlExtractor
from es_dedup.extraction.reading.document import Document
from es_dedup.extraction.reading.parser_limits import DeadlineExceeded
from es_dedup.model import Content, PageKind, Skipped
from es_dedup.settings.loading import ExtractionConfig

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


@pytest.mark.parametrize("part", ["article", "main", "section", "my-story", "p"])
@pytest.mark.parametrize("start", ["", "<!doctype html><html><head>", "<head><base href=/>"])
def test_a_page_may_leave_out_the_tags_of_its_head_and_body(start: str, part: str) -> None:
    found = extract(
        f"{start}<title>标题</title><{part}><h1>标题</h1><div>{LINE}</div></{part}><footer>完</footer>"
    )
    assert (found.title, found.text) == ("标题", LINE)


def test_text_after_elements_that_were_left_in_the_head_stays_after_them() -> None:
    lines = [f"{LINE}第{number}段到此为止。" for number in "一二三"]
    found = extract(
        f"<title>标题</title><article><p>{lines[0]}</p></article><section><p>{lines[1]}</p></section>{lines[2]}"
    )
    assert found.text.split("\n") == lines


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
    with pytest.raises(ValueError, match="blocks, plain, topic, got 'magic'"):
        ExtractionConfig(extractor="magic")


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


STORY = "".join(
    f"<p>In year {n} the harbour was deepened again, and the town paid for it with a loan, which the mayor defended.</p>"
    for n in range(8)
)
HEADLINES = "".join(
    f'<li><a href="/{n}.html">Council number {n} votes on the new bridge</a></li>' for n in range(40)
)
TEASERS = "".join(
    f'<h2><a href="/{n}.html">Council number {n} votes on the new bridge</a></h2>'
    f"<div class=lead>The council, number {n}, has voted on a bridge that nobody asked for. It will be built.</div>"
    for n in range(12)
)
SHORT = "<p>News from the coast, every day, since 1950.</p>"


def kind(body: str, url: str | None = "https://news.example/2026/harbour.html", head: str = "") -> PageKind:
    return extract(f"<html><head>{head}</head><body>{body}</body></html>", url=url).kind


@pytest.mark.parametrize(
    ("body", "url"),
    [
        (STORY + HEADLINES * 3, "https://news.example/"),
        (STORY + HEADLINES * 3, "https://news.example/index.html"),
        (SHORT + HEADLINES, "https://news.example/2026/harbour.html"),
        (SHORT * 4 + HEADLINES, "https://news.example/tag/harbour/"),
        (SHORT * 4 + HEADLINES, "https://news.example/forum/viewforum.php?f=3"),
        (TEASERS, "https://news.example/world"),
        (TEASERS, None),
    ],
)
def test_a_page_that_leads_elsewhere_is_a_list(body: str, url: str | None) -> None:
    assert kind(body, url) is PageKind.LIST


@pytest.mark.parametrize(
    ("body", "url"),
    [
        (STORY, "https://news.example/"),
        (STORY + HEADLINES, "https://news.example/2026/harbour.html"),
        (STORY + HEADLINES, None),
        (STORY, "https://news.example/category/harbour.html"),
        (SHORT, "https://news.example/about"),
        (STORY, "http://["),
    ],
)
def test_a_text_of_its_own_makes_an_article(body: str, url: str | None) -> None:
    assert kind(body, url) is PageKind.ARTICLE


@pytest.mark.parametrize(
    "head",
    [
        '<meta property="og:type" content="article">',
        '<script type="application/ld+json">{"@type": "NewsArticle"}</script>',
    ],
)
def test_a_declared_article_is_no_list(head: str) -> None:
    assert kind(SHORT * 3 + HEADLINES[:900], "https://news.example/", head) is PageKind.ARTICLE


def test_a_list_has_no_day_but_that_it_declares() -> None:
    body = TEASERS.replace("<div class=lead>", "<time datetime=2026-03-04>x</time><div class=lead>")
    found = extract(f"<title>World</title>{body}", url="https://news.example/")
    assert (found.kind, found.published) == (PageKind.LIST, None)
    declared = extract(
        f"<title>World</title><meta name=date content=2026-03-05>{body}", url="https://news.example/"
    )
    assert (declared.kind, declared.published) == (PageKind.LIST, datetime(2026, 3, 5))  # noqa: DTZ001


def test_code_in_a_script_is_no_text() -> None:
    script = (
        '<script type="application/json">{"content": "function (a) { return a. b. c! } '
        + "x. " * 90
        + '"}</script>'
    )
    assert extract(f"<body><p>短。</p>{script}</body>").text == "短。"
