"""Text that stands in a page and is not of it, and text of it that looks like furniture."""

from __future__ import annotations

import pytest

from es_dedup.extraction import extract
from es_dedup.model import PageKind

BODY = (
    "The council voted on Tuesday to keep the old ferry running for another year, although costs have risen.",
    "Residents of the island, who depend on it for work and school, had packed the hall since early evening.",
    "A second vote is planned in March, when the report of the engineers will be ready, the mayor said.",
    "Until then the boat goes every two hours, and the price of a ticket stays as it is, he added.",
)
ARTICLE = "".join(f"<p>{line}</p>" for line in BODY)


def teaser(number: int, *, headline: str = "<a href=/{n}>Story {n} has a long headline</a>") -> str:
    text = f"In story {number} somebody did something, and somebody else, who saw it, told a reporter."
    return f"<div class=item><h3>{headline.format(n=number)}</h3><p>{text}</p></div>"


def lines(markup: str, *, url: str | None = None) -> list[str]:
    return extract(f"<html><body>{markup}</body></html>", url=url).text.split("\n")


def test_teasers_in_the_column_of_the_article_are_dropped() -> None:
    items = "".join(teaser(number) for number in range(20))
    assert lines(f"<div><section>{ARTICLE}</section>{items}</div>") == list(BODY)


def test_items_without_a_link_in_the_headline_are_parts_of_the_article() -> None:
    items = "".join(teaser(number, headline="Story {n} has a long headline") for number in range(20))
    assert (
        "In story 7 somebody" in extract(f"<body><div><section>{ARTICLE}</section>{items}</div></body>").text
    )


def test_a_page_of_teasers_keeps_them() -> None:
    items = "".join(teaser(number) for number in range(20))
    assert "In story 7 somebody" in extract(f"<body><div>{items}</div></body>").text


SLIDES = "".join(
    f"<section class=slide><div><p>{number} / 5</p></div><div class=text><p>Slide {number} shows a place, which is far away, and a boat on a lake.</p>"
    f"<p>It was taken in 196{number}, they say, by somebody on the way to the north.</p></div></section>"
    for number in range(1, 6)
)


@pytest.mark.parametrize("path", ["slides/3", "gallery-3/", "show?photo=3"])
def test_the_slide_of_the_address_is_meant(path: str) -> None:
    found = lines(SLIDES, url=f"https://x.example/{path}")
    assert [line for line in found if "Slide" in line] == [
        "Slide 3 shows a place, which is far away, and a boat on a lake."
    ]


@pytest.mark.parametrize("path", ["slides/9", "2024/3", "", "3-slides"])
def test_without_such_an_address_all_slides_are_meant(path: str) -> None:
    assert sum("Slide" in line for line in lines(SLIDES, url=f"https://x.example/{path}")) == 5


def test_a_caption_is_dropped_and_a_text_in_its_place_kept() -> None:
    caption = "The ferry in the harbour, as seen from the church, in winter."
    figure = f"<figure><img src=x><figcaption>{caption}</figcaption></figure>"
    assert lines(f"<div>{ARTICLE}{figure}{ARTICLE}</div>") == [*BODY, *BODY]
    text = f"<figure><figcaption>{ARTICLE}</figcaption></figure>"
    assert lines(f"<div>{text}</div>") == list(BODY)


def test_credits_in_brackets_are_captions() -> None:
    assert lines(f"<div>{ARTICLE}<p>The ferry, in winter (Image: GETTY)</p>{ARTICLE}</div>") == [*BODY, *BODY]


def test_quotations_and_numbered_lists_between_paragraphs_stay() -> None:
    said = "I have never seen such a crowd, and I have lived here all my life."
    quote = f"<div class=social-embed><blockquote><p>{said}</p></blockquote></div>"
    items = [f"The point number {number} of the plan" for number in range(3)]
    numbered = "<ol>" + "".join(f"<li><a href=/{item[-1]}>{item}</a></li>" for item in items) + "</ol>"
    assert lines(f"<div>{ARTICLE}{quote}{ARTICLE}</div>") == [*BODY, said, *BODY]
    assert lines(f"<div>{ARTICLE}{numbered}{ARTICLE}</div>") == [*BODY, *items, *BODY]


def test_headings_beside_scattered_paragraphs_stay() -> None:
    box = "<aside>" + "<a href=/>Book a table here now</a> " * 30 + "</aside>"
    links = (
        "<table><tr>"
        + "".join(f"<td><a href=/{n}>a place to eat number {n}</a></td>" for n in range(40))
        + "</table>"
    )
    parts = "".join(f"<h2>Part {n}</h2><p>{line}</p>{links}{box}" for n, line in enumerate(BODY))
    found = lines(f"<div class=c>{parts}</div>")
    assert [line for line in found if line in BODY] == list(BODY)
    assert "Part 1" in found


POSTS = [
    f"Post {n}: I tried it too, and it works for me, so do not give up so soon, says number {n}."
    for n in range(5)
]


def said(*, when: str, tag: str = "div") -> str:
    return "".join(
        f"<{tag}><b>{'abcde'[n]}</b><i>x</i><div>{n + 2} {when}</div><div>{post}</div></{tag}>"
        for n, post in enumerate(POSTS)
    )


@pytest.mark.parametrize("when", ["hours ago", "天前", "Mar 3, 2024"])
def test_a_page_of_dated_posts_is_a_thread_without_any_name(when: str) -> None:
    found = extract(f"<body>{said(when=when)}</body>")
    assert found.kind is PageKind.THREAD
    assert [line for line in found.text.split("\n") if line.startswith("Post")] == POSTS


def test_an_article_with_dated_comments_is_none() -> None:
    long = "".join(f"<p>{line} Paragraph {n}.</p>" for n in range(6) for line in BODY)
    assert extract(f"<body><div>{long}</div>{said(when='hours ago')}</body>").kind is PageKind.ARTICLE


def test_a_declared_article_is_no_discussion() -> None:
    comments = "".join(
        f"<div class=comment><p>{line} Says {n}.</p></div>" for n in range(20) for line in BODY
    )
    head = '<script type="application/ld+json">{"@type": "NewsArticle"}</script>'
    page = f"<head>{{}}</head><body><div class=a>{ARTICLE}</div><div class=comments>{comments}</div></body>"
    assert extract(page.format("")).kind is PageKind.THREAD
    assert extract(page.format(head)).text.split("\n") == list(BODY)
