"""Text that stands in a page and is not of it, and text of it that looks like furniture."""

from __future__ import annotations

import pytest

from es_dedup.extraction import extract
from es_dedup.extraction.seen.hints import named_hint
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


CAPTION = "The ferry in the harbour, as seen from the church, in winter."
FIGURE = f"<figure><img src=x><figcaption>{CAPTION}</figcaption></figure>"


def test_a_caption_between_paragraphs_is_text() -> None:
    assert lines(f"<div>{ARTICLE}{FIGURE}{ARTICLE}</div>") == [*BODY, CAPTION, *BODY]


@pytest.mark.parametrize(
    "page",
    [
        f"<div>{FIGURE}{ARTICLE}</div>",
        f"<div>{ARTICLE}{FIGURE}</div>",
        f"<div>{ARTICLE}<aside>{FIGURE}</aside>{ARTICLE}</div>",
        f"<div>{ARTICLE}{FIGURE.replace(CAPTION, 'Photo by a passenger')}{ARTICLE}</div>",
        f"<div>{ARTICLE}{FIGURE.replace(CAPTION, f'<a href=/ferry>{CAPTION}</a>')}{ARTICLE}</div>",
        f"<div>{ARTICLE}<div hidden>{FIGURE}</div>{ARTICLE}</div>",
    ],
    ids=["above", "below", "aside", "credit", "linked", "hidden"],
)
def test_other_captions_are_not(page: str) -> None:
    assert set(lines(page)) == set(BODY)


def test_a_text_in_the_place_of_a_caption_is_kept() -> None:
    assert lines(f"<div><figure><figcaption>{ARTICLE}</figcaption></figure></div>") == list(BODY)


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


NAMED = "<div class='wrap {names}'><div class=content>" + ARTICLE + "</div></div>"
BESIDE = "".join(
    f"<section><h3>Story {n}</h3>{ARTICLE.replace('council', f'crew {n}')[:220]}</p></section>"
    for n in range(2)
)


@pytest.mark.parametrize("names", ["has-ads", "no-sidebar", "layout--with-related", "fixed-sidebar-layout"])
def test_a_name_that_tells_what_stands_inside_or_beside_is_no_furniture(names: str) -> None:
    assert lines(NAMED.format(names=names) + BESIDE)[: len(BODY)] == list(BODY)


def test_ids_made_of_headlines_say_nothing() -> None:
    text = f"<section id=sharing-a-ferry-with-sheep><h2 id=link-1>Sharing a ferry with sheep</h2>{ARTICLE}</section>"
    assert lines(f"<main>{ARTICLE}{text}{ARTICLE}</main>") == [
        *BODY,
        "Sharing a ferry with sheep",
        *BODY,
        *BODY,
    ]


def test_a_box_named_after_its_short_heading_is_furniture() -> None:
    box = "<section class=newsletter-box id=newsletter><h3>Newsletter</h3><p>Every Friday one letter, with all that the sea has brought.</p></section>"
    assert lines(f"<main>{ARTICLE}{box}{ARTICLE}</main>") == [*BODY, *BODY]


def test_a_cell_that_says_comments_ends_no_text() -> None:
    table = "<table><tr><th>Key</th><th>Comments</th></tr><tr><td>one</td><td>of two</td></tr></table>"
    assert lines(f"<div>{ARTICLE}{ARTICLE}{table}{ARTICLE}</div>")[-len(BODY) :] == list(BODY)


def test_comments_below_their_heading_are_no_text() -> None:
    talk = "<h3>Comments</h3><div><p>I was there, and it was loud.</p><p>So was I, but late.</p></div>"
    assert lines(f"<div>{ARTICLE}{talk}</div>") == list(BODY)


def test_linked_items_among_others_are_text_and_lists_of_links_are_not() -> None:
    items = [
        "<li>Bring a coat</li>",
        "<li><a href=/tickets>Buy a ticket</a></li>",
        "<li>Do not feed the gulls</li>",
    ]
    assert lines(f"<div>{ARTICLE}<ul>{''.join(items)}</ul>{ARTICLE}</div>")[4:7] == [
        "Bring a coat",
        "Buy a ticket",
        "Do not feed the gulls",
    ]
    assert lines(f"<div>{ARTICLE}<ul>{items[1] * 2}</ul>{ARTICLE}</div>") == [*BODY, *BODY]


def test_a_linked_sentence_is_text_and_a_linked_headline_is_not() -> None:
    said = "The engineers wrote all of it down in a report of two hundred pages."
    link = f"<p><a href=/report>{said}</a></p><p><a href=/more>Ferries that never came back, and where they are now</a></p>"
    assert lines(f"<div>{ARTICLE}{link}{ARTICLE}</div>") == [*BODY, said, *BODY]


def test_boxes_of_links_that_return_are_text_and_a_single_one_is_not() -> None:
    box = "<div class=b><a href=/{n}><p>Boat {n}</p><p>{n}0 seats</p><p>Pier {n}</p></a></div>"
    boxes = [box.format(n=number) for number in range(1, 5)]
    every = "".join(f"{ARTICLE}{one}" for one in boxes)
    assert "Boat 3" in lines(f"<main>{every}{ARTICLE}</main>")
    assert "Boat 1" not in lines(f"<main>{ARTICLE}{boxes[0]}{ARTICLE}</main>")


def test_a_standfirst_is_of_the_text_where_it_stands_with_it() -> None:
    lead = "The ferry was to be sold in spring, and now it stays where it has always been."
    head, text = "<h1>The ferry stays</h1>", f"<div class=words>{ARTICLE}</div>"
    assert lines(f"<div><div>{head}</div><div><div class=lead>{lead}</div>{text}</div></div>") == [
        lead,
        *BODY,
    ]
    assert lines(f"<div><div>{head}<div class=lead>{lead}</div></div><div>{text}</div></div>") == list(BODY)


def test_the_sub_heading_above_the_first_paragraph_is_text() -> None:
    page = f"<title>The ferry</title><div><h1>The ferry</h1><div><h3>An evening in the hall</h3>{ARTICLE}</div></div>"
    assert lines(page) == ["An evening in the hall", *BODY]


def test_the_last_line_between_breaks_needs_no_stop() -> None:
    told = "<br>".join([*BODY, "And so the boat goes on, and on, and nobody knows for how long"])
    assert lines(f"<table><tr><td>{told}</td></tr></table>")[-1].startswith("And so the boat")


def test_paragraphs_about_cookies_between_others_are_text_and_a_request_is_not() -> None:
    about = (
        "<p>We found that our browser had stored nine hundred cookies, of which it would use four again.</p>"
    )
    ask = "<p>We use cookies. Choose what our partners may store in your browser, and what not.</p>"
    found = lines(f"<div>{ARTICLE}{about}{ARTICLE}</div><div>{ask}</div>")
    assert found == [*BODY, about[3:-4], *BODY]


@pytest.mark.parametrize(
    "look",
    "marginBottom padding-top no-border-bottom bottom-0 md:top-4 text-center content-between navy".split(),
)
def test_words_for_looks_do_not_say_what_an_element_is(look: str) -> None:
    assert named_hint("div", look, False) == 0
    assert named_hint("div", f"footer {look}", False) == -1
    assert named_hint("div", f"{look} bottom", False) == -1


def test_a_paragraph_with_a_margin_stays_and_a_centred_footer_goes() -> None:
    kept = f"<div class=marginBottom><p>{LOOKS[1]}</p></div>"
    dropped = f"<div class='footer text-center'><p>{LOOKS[3]}</p></div>"
    html = f"<html><body><div class=c><p>{LOOKS[0]}</p>{kept}<p>{LOOKS[2]}</p></div>{dropped}</body></html>"
    assert extract(html).text.split("\n") == LOOKS[:3]


LOOKS = [
    "The lamp of the lighthouse was lit again on Sunday, for the first time since the war, and seen from three islands.",
    "Its keeper had found the lens in a barn, wrapped in sailcloth, with the receipt of the man who had taken it there.",
    "On clear nights, he says, it reaches as far as the old chart promised, which nobody had believed.",
    "The harbour office is open on all days but Monday, from nine to five, and answers letters within a week, as a rule.",
]


@pytest.mark.parametrize(
    "line",
    [
        "You must register to vote by Monday, the office said, or wait for two years, which nobody would want to do.",
        "Similar questions were raised by the mayor, who had read the report on the train, and by two members.",
        "The issue is closed, says the minister, who has not answered since, although the islanders ask him every week.",
        "Related questions are asked in other towns, where ferries are older still, and the harbours deeper.",
        "There are 3 members reading the bill before the summer, as the council's clerk explained on Tuesday.",
        "请登录，输入姓名和密码，再选择要去的岛屿，系统会告诉您下一班船的时间，还有票价和剩下的座位。",
        "游客，您可以在码头购票，也可以在船上购票，价格都是一样的，只是船上不收旧的纸币，请您记住。",
        "该问题已结束讨论，市长在会上说，今年不会再买新船，旧船要用到明年春天，那时再看报告怎么写。",
    ],
)
def test_sentences_that_open_like_a_notice_are_text(line: str) -> None:
    html = f"<html><body><div class=c><p>{BODY[0]}</p><p>{BODY[1]}</p><p>{line}</p><p>{BODY[2]}</p></div></body></html>"
    assert line in extract(html).text.split("\n")
