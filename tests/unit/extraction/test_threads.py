"""All posts of a thread are the main text; names, buttons and boxes around them are not."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from es_dedup.extraction import extract
from es_dedup.extraction.seen.dated import DATE, has_date
from es_dedup.model import PageKind

POSTS = (
    "I have tried to install the new release on an old machine, but it stops with an error after a minute.",
    "Which version is it? Please post the log.",
    "Same here.",
    "After the update of the driver it works for me, so try that first, and tell us what happens then.",
    "Thanks!",
)
URL = "https://forum.example/viewtopic.php?t=12"


def thread(posts: tuple[str, ...] = POSTS, *, body: str = "postbody", html: str = "p") -> str:
    """A page with one post for each text."""
    made = "".join(
        f'<div class="post"><div class="author"><a href="/u/{n}">user{n}</a> <span>Posts: {n}</span></div>'
        f'<div class="{body}"><{html}>{text}</{html}></div><div class="buttons"><a href="#">Reply</a> <a href="#">Quote</a></div></div>'
        for n, text in enumerate(posts)
    )
    return (
        "<html><head><title>Install fails - Some forum</title></head><body><ul class=nav><li><a href=/>Home</a></li>"
        f"</ul><h1>Install fails</h1><div id=thread>{made}</div><form><p>You must log in to reply, it is free of charge.</p>"
        "</form><footer>Powered by some board, all rights reserved.</footer></body></html>"
    )


@pytest.mark.parametrize("body", ["postbody", "content", "xq77", "comment-body"])
def test_all_posts_are_kept_and_nothing_else(body: str) -> None:
    found = extract(thread(body=body), url=URL)
    assert found.text.split("\n") == ["Install fails", *POSTS]
    assert found.kind is PageKind.THREAD


@pytest.mark.parametrize("inside", ["<pre>make all\nerror 2</pre>", "<ul><li>first</li><li>second</li></ul>"])
def test_code_and_lists_inside_posts_are_kept(inside: str) -> None:
    found = extract(thread((*POSTS, f"The log says:</p>{inside}<p>That is all there is.")), url=URL)
    assert "error 2" in found.text or "second" in found.text


def test_an_address_alone_is_a_post_too() -> None:
    link = '<a href="https://x.example/manual">https://x.example/manual</a>'
    assert "https://x.example/manual" in extract(thread((*POSTS, link)), url=URL).text


@pytest.mark.parametrize(
    "head",
    [
        '<meta name="generator" content="Discuz! X3.4">',
        '<script type="application/ld+json">{"@type": "QAPage"}</script>',
    ],
)
def test_software_and_types_say_thread_where_the_address_does_not(head: str) -> None:
    page = thread().replace("<head>", f"<head>{head}")
    assert extract(page, url="https://x.example/12").kind is PageKind.THREAD


def test_comments_below_an_article_are_dropped() -> None:
    article = "".join(f"<p>{text} {POSTS[3]}</p>" for text in POSTS)
    comments = "".join(f'<div class="comment"><p>{text}</p></div>' for text in POSTS)
    found = extract(
        f'<body><article>{article}</article><div class="comments">{comments}</div></body>',
        url="https://x.example/news/1",
    )
    assert found.kind is PageKind.ARTICLE
    assert found.text.count("\n") == len(POSTS) - 1


def test_a_short_note_with_a_long_discussion_below_is_a_discussion() -> None:
    note = "<p>A short note about the thing, which all want to talk about.</p>"
    comments = "".join(f'<div class="comment"><p>Opinion number {n}: {POSTS[3]}</p></div>' for n in range(30))
    page = f'<body><article class="entry">{note}</article><div id="comments">{comments}</div></body>'
    found = extract(page, url="https://x.example/2026/1.html")
    assert found.kind is PageKind.THREAD
    assert found.text.split("\n")[0].startswith("A short note")
    assert found.text.count("Opinion number") == 30


def test_a_few_short_comments_below_long_posts_are_dropped() -> None:
    page = thread((POSTS[0] * 5, POSTS[3] * 5)).replace(
        '<div class="buttons">',
        '<div class="comments"><p>Nice, I agree with that one.</p></div><div class="buttons">',
    )
    found = extract(page, url=URL)
    assert "I agree" not in found.text
    assert POSTS[3] in found.text


@settings(max_examples=300, deadline=None)
@given(
    st.one_of(st.from_regex(DATE), st.text("1290:/. -年前agovrJunMay天", max_size=20)),
    st.text("x 1J", max_size=4),
)
def test_a_date_is_found_by_its_cues(text: str, before: str) -> None:
    assert has_date(before + text) == bool(DATE.search(before + text))


@pytest.mark.parametrize(
    "text", ["Ages 10-12", "pages 10-15", "10-12 people came", "Bus 04-05", "12-31-x", "06-07岁"]
)
def test_ranges_are_no_dates(text: str) -> None:
    assert not has_date(text)


@pytest.mark.parametrize(
    "text", ["05-11", "05-11 Leeds", "05-11 上海", "第3楼05-11上海", "5 de marzo de 2018", "17.07.2011"]
)
def test_a_month_with_a_day_and_days_of_any_language_are_dates(text: str) -> None:
    assert has_date(text)
