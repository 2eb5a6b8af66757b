"""Pages whose text stands where a parser does not look first, in data of scripts, too; documents that are no pages."""

import json
import zlib

import pytest

from es_dedup.extraction import create_extractor, extract
from es_dedup.extraction.reading.hidden_content import MIN_CHARS, is_worth
from es_dedup.extraction.reading.script_data import states
from es_dedup.model import Skipped
from es_dedup.settings.loading import ExtractionConfig
from tests.texts import FERRY

ONE, TWO = FERRY
BOTH = f"{ONE}\n{TWO}"
PARAGRAPHS = f"<p>{ONE}</p><p>{TWO}</p>"


def page(body: str) -> str:
    return f"<html><head><title>Ferry</title></head><body>{body}</body></html>"


def skipped(html: bytes | str) -> Skipped:
    found = create_extractor(ExtractionConfig()).extract(html)
    assert isinstance(found, Skipped)
    return found


@pytest.mark.parametrize(
    "html",
    [
        page(f"<div id=app></div><noscript>{PARAGRAPHS}</noscript>"),
        page(f"<x-story><template shadowrootmode=open><article>{PARAGRAPHS}</article></template></x-story>"),
    ],
    ids=["noscript", "shadow"],
)
def test_text_for_other_browsers_is_read_where_there_is_no_other(html: str) -> None:
    content = extract(html)
    assert content.text == BOTH
    assert content.title == "Ferry"
    assert extract(html.encode()).text == BOTH


@pytest.mark.parametrize(
    "html",
    [
        page("<div id=root></div><noscript>You need to enable JavaScript to run this app.</noscript>"),
        page(
            f"<p>Gone.</p><noscript>Please turn on JavaScript in your browser. {'It is needed, really. ' * 8}</noscript>"
        ),
        page(
            "<template><p>Nobody sees this text, which only a script would use, if it ever did so.</p></template>"
        ),
    ],
)
def test_a_request_for_scripts_and_a_template_are_no_text(html: str) -> None:
    assert "JavaScript" not in extract(html).text
    assert "Nobody" not in extract(html).text


@pytest.mark.parametrize(
    "html",
    [
        page(
            f"{PARAGRAPHS}<noscript><p>Another text, for those without scripts, and long, long.</p></noscript>"
        ),
        f"<!-- <rdf:RDF xmlns='http://w.example'></rdf:RDF> --><div>{PARAGRAPHS}</div>",
        json.dumps({"title": "Ferry", "body": BOTH}),
        json.dumps([{"content": PARAGRAPHS}]).encode(),
    ],
    ids=["text beside noscript", "a feed named in a comment", "JSON", "markup in JSON"],
)
def test_each_text_is_read_once(html: str | bytes) -> None:
    assert extract(html).text == BOTH


def test_a_text_for_other_browsers_is_worth_reading_from_twice_the_other_on() -> None:
    before = ONE[:45]
    for hidden, worth in ((BOTH[: 2 * len(before)], True), (BOTH[: 2 * len(before) - 1], False)):
        assert is_worth(hidden, before) is worth
    assert not is_worth(BOTH[: MIN_CHARS - 1], "")


def test_a_feed_gives_the_texts_of_its_items() -> None:
    rss = (
        '<?xml version="1.0"?><rss version="2.0"><channel><title>Ferry news</title><link>https://a.example</link>'
        f"<item><title>Monday</title><description><![CDATA[<p>{ONE}</p>]]></description>"
        "<pubDate>Wed, 04 Mar 2026 10:20:00 GMT</pubDate><guid>77</guid></item>"
        f"<item><title>Tuesday</title><description>{TWO}</description></item></channel></rss>"
    )
    content = extract(rss)
    assert content.title == "Ferry news"
    assert ONE in content.text
    assert TWO in content.text
    assert "]]>" not in content.text
    assert "GMT" not in content.text


@pytest.mark.parametrize("root", ["urlset", "sitemapindex"])
def test_a_sitemap_is_no_page(root: str) -> None:
    xml = f'<?xml version="1.0"?><{root} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>https://a.example/1</loc></url></{root}>'
    assert skipped(xml) == Skipped("empty", "a sitemap")
    assert skipped(xml.encode()) == Skipped("empty", "a sitemap")


def test_brackets_alone_are_no_json() -> None:
    assert extract(f"[sic] {ONE}").text == f"[sic] {ONE}"


@pytest.mark.parametrize("refresh", ["0; url=https://a.example/new", "0;URL='https://a.example/new'"])
def test_a_page_that_leads_on_is_skipped(refresh: str) -> None:
    html = f'<meta http-equiv="refresh" content="{refresh}"><title>Moved</title><p>You are being redirected, please wait.</p>'
    assert skipped(html) == Skipped("empty", "the page leads on to https://a.example/new")
    assert extract(html.replace("You are", PARAGRAPHS)).text.startswith(ONE)


@pytest.mark.parametrize("level", [1, 6, 9])
def test_packed_bytes_are_named(level: int) -> None:
    assert skipped(zlib.compress(page(PARAGRAPHS * 9).encode(), level)) == Skipped("binary", "zlib")


POST = {"post": {"title": "Ferry", "content": BOTH}}

SCRIPTS = {
    "next": f'<script id="__NEXT_DATA__" type="application/json">{json.dumps({"props": {"article": {"body": PARAGRAPHS}}})}</script>',
    "code behind it": f"<script>window.__INITIAL_STATE__ = {json.dumps(POST)};(function(){{var s;}}());</script>",
    "apollo": f"<script>window.__APOLLO_STATE__={json.dumps({'Post:1': {'__typename': 'Post', 'body': PARAGRAPHS}})}</script>",
    "article body": f'<script type="application/ld+json">{json.dumps({"@type": "Article", "articleBody": BOTH})}</script>',
}


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS.keys())
def test_the_text_is_found_in_the_state(script: str) -> None:
    content = extract(f"<html><title>Ferry</title><body><div id=root></div>{script}</body></html>")
    assert content.text == BOTH


def test_a_page_of_bokeh_is_read() -> None:
    """As Bokeh 3.9.2 writes a document with one ``Div`` (``file_html``), without its code: the text stands in JSON alone."""
    shown = PARAGRAPHS.replace("<", "&lt;").replace(">", "&gt;")
    div = {"type": "object", "name": "Div", "id": "p1006", "attributes": {"text": shown}}
    column = {"type": "object", "name": "Column", "id": "p1041", "attributes": {"children": [div]}}
    data = {"143b6a3a": {"version": "3.9.2", "title": "Bokeh Application", "roots": [column]}}
    page = (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Ferry</title></head><body>'
        '<div id="b73eaa21" data-root-id="p1041" style="display: contents;"></div>'
        f'<script type="application/json" id="d4b4311c">{json.dumps(data)}</script></body></html>'
    )
    assert extract(page).text == BOTH


@pytest.mark.parametrize(
    "script", ["window.x = {" + "," * 90, "window.x = " + "[" * 90_000, 'window.x = {"a": undefined, }']
)
def test_broken_scripts_give_nothing(script: str) -> None:
    assert list(states([({}, script)])) == []
