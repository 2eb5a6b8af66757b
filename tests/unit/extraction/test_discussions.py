"""Discussions as software of many kinds prints them: each test has one cause for which something was lost or kept in vain."""

from __future__ import annotations

import pytest

from es_dedup.extraction import extract
from es_dedup.model import Content, PageKind

QUESTION = (
    "The pump in the cellar has been dripping since Monday, and the seal looks fine. What else can it be?"
)
ANSWERS = (
    "Look at the hose first, mine was brittle after six winters and let water through.",
    "It was the valve for me. A new one costs less than a lunch, and takes ten minutes.",
    "Ask the shop, they took mine back.",
)
SHORT = ("Same here", "Thanks", "No idea", "Following", "Solved")
TITLE = "Pump drips in the cellar"


def read(body: str, url: str = "https://www.valve.example/page/12", title: str = TITLE) -> Content:
    page = f"<html><head><title>{title}</title></head><body><ul class=nav><li><a href=/>Home</a></ul>{body}</body></html>"
    found = extract(page, url=url)
    assert isinstance(found, Content)
    return found


def lines(body: str, url: str = "https://www.valve.example/page/12") -> list[str]:
    return read(body, url).text.split("\n")


@pytest.mark.parametrize(
    "path", ["topics/71", "bugs/71", "ticket/71", "show_bug.cgi?id=71", "read.php?tid=71"]
)
def test_addresses_tell_a_discussion(path: str) -> None:
    body = (
        f"<h1>{TITLE}</h1><div class=body><p>{QUESTION}</p></div>"
        f"<div class=replies><div class=reply><div class=who>jan</div><div class=said><p>{ANSWERS[0]}</p></div></div></div>"
    )
    assert lines(body, f"https://valve.example/{path}") == [TITLE, QUESTION, ANSWERS[0]]


def test_a_quotation_inside_a_reply_is_no_aside() -> None:
    posts = "".join(
        f'<div class="post-reply"><p class=who>m{n} 2021-03-0{n + 1} 10:00</p><div class=post-text>{quote}<p>{text}</p></div></div>'
        for n, (text, quote) in enumerate(
            zip(ANSWERS, ("", f"<div class=q-x>{ANSWERS[0]}</div>", ""), strict=True)
        )
    )
    body = f"<h1>{TITLE}</h1><div class=first><p class=who>m9 2021-03-01 09:00</p><div class=post-text><p>{QUESTION}</p></div></div>{posts}"
    assert lines(body, "https://bbs.valve.example/71.html") == [
        TITLE,
        QUESTION,
        ANSWERS[0],
        ANSWERS[0],
        *ANSWERS[1:],
    ]


def test_short_replies_to_the_only_post_are_kept() -> None:
    body = (
        f"<h1>{TITLE}</h1><div class=post-body><p>{QUESTION}</p><p>{' '.join(ANSWERS)}</p></div>"
        "<ul id=comments><li><section class=comment-body><p>It was the valve, thank you all.</p></section></li></ul>"
    )
    found = lines(body, "https://help.valve.example/community/posts/71")
    assert found == [TITLE, QUESTION, " ".join(ANSWERS), "It was the valve, thank you all."]


@pytest.mark.parametrize(
    "notice",
    [
        "You must be logged in to reply to this topic.",
        "Log in or sign up to leave a comment.",
        "This thread is closed to new comments, open one of your own.",
        "There are currently 3 users browsing this thread. (1 member, 2 guests)",
        "您需要登录后才可以回帖，还没有帐号的话可以注册一个。",
        "Note: You need to log in before you can comment on this matter, or change it.",
        "游客，如果您要查看本帖隐藏内容请回复",
        "需要 登录 后方可回复, 没有帐号的话可以注册一个。",
    ],
)
def test_notices_below_the_posts_are_not_said(notice: str) -> None:
    posts = "".join(f"<div class=card><p>{text}</p></div>" for text in (QUESTION, *ANSWERS))
    body = f"<h1>{TITLE}</h1><div class=posts>{posts}<div class=note><p>{notice}</p></div></div>"
    assert lines(body, "https://forum.valve.example/t/71") == [TITLE, QUESTION, *ANSWERS]


@pytest.mark.parametrize("labels", [("From", "Date", "To"), ("发信人", "标 题", "发信站")])
def test_the_head_of_a_message_and_lists_of_others_are_not_of_it(labels: tuple[str, ...]) -> None:
    head = "".join(f"<li><em>{label}</em>: some value of it</li>" for label in labels)
    others = "".join(f"<li>Next: <a href=m{n}>Another matter, number {n}</a></li>" for n in range(4))
    body = f"<h1>{TITLE}</h1><ul>{head}</ul><pre>{QUESTION}\n\n{ANSWERS[0]}\n\n-- \njan\n</pre><hr><ul>{others}</ul>"
    found = read(body)
    assert found.kind is PageKind.THREAD
    assert found.text.split("\n") == [TITLE, QUESTION, ANSWERS[0]]


def test_two_labels_are_no_head_of_a_message() -> None:
    text = " ".join(ANSWERS)
    body = f"<h1>{TITLE}</h1><div class=text><p>From: the harbour.</p><p>Date: of the spring.</p><p>{text}</p><p>{QUESTION}</p></div>"
    found = read(body)
    assert found.kind is PageKind.ARTICLE
    assert "From: the harbour." in found.text


def test_panels_of_members_are_not_said() -> None:
    rows = "".join(
        f"<tr><td class=row><b>{name}</b><br>{rank}<br>Joined: 0{n + 1}/02/2004<br>Messages: {n * 31 + 7}<br>Offline</td>"
        f"<td class=row>{text}</td></tr>"
        for n, (name, rank, text) in enumerate(
            zip(
                ("rook", "marsh", "bowline", "teapot", "oldsalt", "zz9"),
                ("Regular", "Newbie", "Veteran", "Regular", "Newbie", "Veteran"),
                (QUESTION, *SHORT),
                strict=True,
            )
        )
    )
    body = f"<h1>{TITLE}</h1><table>{rows}</table>"
    assert lines(body, "https://forum.valve.example/t/71") == [TITLE, QUESTION, *SHORT]


def test_stamps_with_long_names_or_alike_beginnings_are_not_said() -> None:
    names = ("rook", "marsh (Marshall Henderson of the Hills)", "bowline", "teapot")
    apart = "".join(
        f"<div class=post><div class=meta>{name} January {n + 5}, 2006, 4:24PM {n}</div><div class=text><p>{text}</p></div></div>"
        for n, (name, text) in enumerate(zip(names, (QUESTION, *ANSWERS), strict=True))
    )
    below = "".join(
        f"<div class=item>{text}<br>posted by {name} at 5:24 AM on December {n + 11}, 2005 [{n} favorites]</div>"
        for n, (name, text) in enumerate(zip(names, (QUESTION, *ANSWERS), strict=True))
    )
    for body in (apart, below):
        assert lines(f"<h1>{TITLE}</h1>{body}", "https://forum.valve.example/t/71") == [
            TITLE,
            QUESTION,
            *ANSWERS,
        ]


def test_a_month_and_a_day_are_a_date() -> None:
    posts = "".join(
        f"<div class=n><b>m{n}</b><div class=c>{text}</div><div class=i>05-1{n} Leeds</div></div>"
        for n, text in enumerate((QUESTION, *ANSWERS))
    )
    found = read(f"<div class=x>{TITLE}</div>{posts}")
    assert found.kind is PageKind.THREAD
    assert found.text.split("\n") == [TITLE, QUESTION, *ANSWERS]


def test_boxes_of_similar_questions_are_left_out_however_long() -> None:
    box = "".join(f"<div class=t>Matter {n}</div><p>{text}</p>" for n, text in enumerate(ANSWERS * 3))
    body = f"<h1>{TITLE}</h1><div class=content><p>It drips, why?</p></div><aside><h3>Similar questions</h3>{box}</aside>"
    assert lines(body, "https://ask.valve.example/questions/71") == [TITLE, "It drips, why?"]


def test_teasers_below_answers_are_no_posts() -> None:
    more = "Before you ask: it stands level, the pipe is new, and I have cleaned the filter twice this year."
    answers = "".join(f"<div class=answer><div class=text><p>{text}</p></div></div>" for text in ANSWERS)
    others = "".join(
        f"<div class=it><a href=/q/{n}>How do I clean the gutter number {n}</a><p>{ANSWERS[n % 3]} That was in {2001 + n}.</p></div>"
        for n in range(5)
    )
    body = f"<h1>{TITLE}</h1><div class=question><div class=text><p>{QUESTION}</p><p>{more}</p></div></div>{answers}<div class=more>{others}</div>"
    assert lines(body, "https://ask.valve.example/questions/71") == [TITLE, QUESTION, more, *ANSWERS]


def test_one_reply_in_an_element_named_so_counts_beside_a_long_question() -> None:
    others = "".join(f"<div><a href=/m/{n}>Matter number {n}</a></div>" for n in range(30))
    body = (
        f"<h1>{TITLE}</h1><div class=topic><div class=body><p>{QUESTION}</p><p>{ANSWERS[1]}</p></div></div>"
        f"<div class=more>{others}</div><ul class=commentlist><li class=comment><div class=commentBody><div>{ANSWERS[0]}</div></div></li></ul>"
    )
    assert lines(body, "https://ask.valve.example/questions/71") == [TITLE, QUESTION, ANSWERS[1], ANSWERS[0]]


def test_answers_that_are_recommended_are_posts() -> None:
    answers = "".join(
        f'<div class="recommended-item-box"><article class="recommended-item"><p class=at>Feb {n + 3}, 2020 10:0{n} AM</p>'
        f"<div class=text><p>{text}</p></div></article></div>"
        for n, text in enumerate(ANSWERS)
    )
    body = f"<h1>{TITLE}</h1><div class=question><div class=text><p>{QUESTION}</p></div></div>{answers}"
    assert lines(body, "https://discussions.valve.example/thread/71") == [TITLE, QUESTION, *ANSWERS]


def test_stamps_do_not_outweigh_posts_of_a_word() -> None:
    posts = "".join(
        f"<tr><td class=c2><div class=info>Said here on 2019-03-0{n + 1} 10:11:42</div>{text}</td></tr>"
        for n, text in enumerate((*SHORT, ANSWERS[0], ANSWERS[2]))
    )
    found = lines(f"<h1>{TITLE}</h1><table>{posts}</table>", "https://bbs.valve.example/read.php?tid=71")
    assert found == [TITLE, *SHORT, ANSWERS[0], ANSWERS[2]]


@pytest.mark.parametrize("path", ["groups/council", "topics/2021/council.html", "tickets/2021/zoo"])
def test_addresses_with_a_year_or_a_name_are_those_of_articles(path: str) -> None:
    body = f"<h1>{TITLE}</h1><div class=body><p>{ANSWERS[0]}</p><p>{ANSWERS[1]}</p><p>{ANSWERS[0]}!</p></div>"
    assert read(body, f"https://valve.example/{path}").kind is PageKind.ARTICLE
