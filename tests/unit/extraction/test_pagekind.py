"""Lists are told from articles, threads and players."""

from __future__ import annotations

import pytest

from es_dedup.extraction import extract
from es_dedup.model import PageKind

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


def test_a_list_has_no_author_and_no_day_but_those_it_declares() -> None:
    body = TEASERS.replace(
        "<div class=lead>",
        "<p class=byline>By Ada Moor</p><time datetime=2026-03-04>x</time><div class=lead>",
    )
    found = extract(f"<title>World</title>{body}", url="https://news.example/")
    assert (found.kind, found.author, found.published) == (PageKind.LIST, "", None)
    declared = extract(
        f"<title>World</title><meta name=author content='Ben Low'>{body}", url="https://news.example/"
    )
    assert declared.author == "Ben Low"
