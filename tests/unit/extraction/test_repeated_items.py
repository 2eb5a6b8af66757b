"""Items with a date and a name: comments below a text, posts of a thread, and boxes that say what they are."""

from __future__ import annotations

import pytest

from es_dedup.extraction import extract
from es_dedup.model import PageKind

TEXT = [
    "The old ferry will run for another year, the council said on Tuesday, although its boiler is older than the harbour.",
    "Islanders had asked for a new boat, which would cost as much as the school, and take three years to build.",
    "The engineers found that the hull is sound, the mast straight, and only the whistle in need of repair, which is loud enough.",
    "Until it is decided, the captain said, he will go on as before, and the price of a ticket stays the same.",
]
SAID = [
    "I was born on that boat, and I would rather swim than see it go to the breakers.",
    "My father stoked the boiler for thirty years, and he always said it would outlive him, which it did.",
    "A new boat would be faster, but who wants to get there faster, on an island with one road?",
    "The school needs the money more than we need a boat that looks like an iron.",
]
ARTICLE = "".join(f"<p>{line}</p>" for line in TEXT)


def item(number: int, text: str) -> str:
    return f"<div class=x7><span class=x8>gull{number}</span><div class=x9>May {number + 1}, 2024 at 10:2{number}</div><p>{text}</p></div>"


def lines(markup: str, title: str = "The ferry stays") -> list[str]:
    return extract(f"<html><head><title>{title}</title></head><body>{markup}</body></html>").text.split("\n")


LIST = "".join(item(number, text) for number, text in enumerate(SAID))


def test_dated_items_of_people_below_a_text_are_comments_without_any_name_that_says_so() -> None:
    assert lines(f"<div class=x1><div class=x2>{ARTICLE}</div><div class=x3>{LIST}</div></div>") == TEXT


def test_the_same_items_alone_are_a_thread() -> None:
    found = extract(f"<html><body><div class=x1>{LIST}</div></body></html>")
    assert found.kind is PageKind.THREAD
    assert found.text.split("\n") == SAID


def test_dated_parts_with_headings_are_the_text_itself() -> None:
    parts = "".join(
        f"<div class=x7><div class=x9>10:2{n}</div><h3>Part {n} of it</h3><p>{text}</p></div>"
        for n, text in enumerate(SAID)
    )
    found = "\n".join(lines(f"<div class=x1><div class=x2>{ARTICLE}</div><div class=x3>{parts}</div></div>"))
    assert all(text in found for text in (*TEXT, *SAID))


def test_a_chronicle_is_no_thread() -> None:
    parts = "".join(f"<h3>March {n + 1}, 2024</h3><p>{text}</p>" for n, text in enumerate(SAID))
    found = extract(f"<html><body><div>{parts}</div></body></html>")
    assert found.kind is PageKind.ARTICLE
    assert "March 2, 2024" in found.text


@pytest.mark.parametrize(
    "notice", ["<div class=x0><p>{}</p></div>", "<p>{}</p>", "<table><tr><td>{}</table>"]
)
def test_what_the_site_says_above_the_title_of_a_thread_and_below_its_posts_is_dropped(notice: str) -> None:
    above = notice.format(
        "Welcome to our board. Please read the rules, be kind to each other, and search before you ask."
    )
    below = notice.format(
        "Before you answer, look at the date of the question, and do not send people to the manual."
    )
    found = lines(f"{above}<h2>The ferry stays</h2><div class=x1>{LIST}</div>{below}")
    assert found == ["The ferry stays", *SAID]


def test_a_signature_below_a_drawn_line_is_no_post() -> None:
    signed = "".join(
        f"<div class=x7><div class=x9>May {n + 1}, 2024</div><div class=said>{text}<br>__________<br>Down is easy, up is not.</div></div>"
        for n, text in enumerate(SAID)
    )
    assert lines(f"<div class=x1>{signed}</div>") == SAID


def test_prose_above_the_title_is_not_the_article() -> None:
    consent = "<div><p>We store what you read, and our partners do so too, as described in the policy, which you accept.</p></div>"
    assert lines(f"{consent * 2}<div><h1>The ferry stays</h1>{ARTICLE}</div>") == TEXT


@pytest.mark.parametrize(
    "heading", ["Sign up for our letter", "Continue reading", "Related stories", "相关阅读"]
)
def test_a_box_says_by_its_heading_that_it_is_furniture(heading: str) -> None:
    box = f"<div class=x5><h3>{heading}</h3><p>{SAID[0]}</p><p>{SAID[1]}</p></div>"
    assert lines(f"<div>{ARTICLE}{box}</div>") == TEXT


def test_a_part_of_the_text_with_an_ordinary_heading_stays() -> None:
    part = f"<section><h3>What comes next</h3><p>{SAID[2]}</p></section>"
    assert lines(f"<div>{ARTICLE}{part}<p>{SAID[1]}</p></div>")[4:] == ["What comes next", SAID[2], SAID[1]]


@pytest.mark.parametrize("name", ["link", "top", "menu-page", "tags"])
def test_names_of_lists_of_links_mean_nothing_where_there_are_no_links(name: str) -> None:
    other = "".join(f"<p>{line}</p>" for line in SAID)
    assert lines(f"<div class=x1><div class='{name}'>{ARTICLE}</div><div>{other}</div></div>")[:4] == TEXT


def test_two_boxes_with_linked_headlines_between_paragraphs_are_left_out() -> None:
    boxes = [
        f"<div class=k><a href=/{n}>Another story with a headline, number {n}</a><br>{SAID[n]}</div>"
        for n in range(2)
    ]
    paragraphs = [f"<p>{line}</p>" for line in TEXT]
    assert (
        lines(f"<div>{paragraphs[0]}{boxes[0]}{paragraphs[1]}{boxes[1]}{paragraphs[2]}{paragraphs[3]}</div>")
        == TEXT
    )


def test_the_first_line_without_a_stop_belongs_to_the_text() -> None:
    first = "Ferry to run for one more year after all as council finds money for coal"
    assert lines(f"<div>{first}<br>{'<br>'.join(TEXT)}</div>", title="x") == [first, *TEXT]


def test_a_message_stays_whole() -> None:
    message = ["On Tuesday Tom wrote:", "> the boiler leaks", *TEXT, "Anna"]
    assert lines(f"<h1>Boiler</h1><pre>{chr(10).join(message).replace('>', '&gt;')}</pre>") == message


@pytest.mark.parametrize(
    ("state", "doubt"),
    [
        ('window.s = {"pageInfo":{"hasNextPage":true}}', "the page loads more by a script"),
        (r'push("{\"hasNextPage\":true}")', "the page loads more by a script"),
        ('window.s = {"pageInfo":{"hasNextPage":false}}', ""),
        ("", ""),
    ],
)
def test_a_page_that_loads_more_raises_a_doubt(state: str, doubt: str) -> None:
    found = extract(f"<html><body><div>{ARTICLE}</div><script>{state}</script></body></html>")
    assert found.why is not None
    assert found.why.doubt == doubt


def test_comments_that_are_left_out_raise_none() -> None:
    found = extract(f"<html><body><div class=x2>{ARTICLE}</div><div class=x3>{LIST * 3}</div></body></html>")
    assert found.why is not None
    assert (found.text.split("\n"), found.why.doubt) == (TEXT, "")


def test_teasers_of_other_pages_above_the_title_are_neither_posts_nor_text() -> None:
    teasers = "".join(
        f"<div class=t><div class=d>0{n + 1}.10.2016</div><div>News of the harbour {n}</div><div class=x>{text}</div><a href=/n{n}>go on</a></div>"
        for n, text in enumerate(SAID)
    )
    own = f"<div class=a><div class=h>The ferry stays with us</div><div class=x>{ARTICLE}</div></div>"
    assert lines(f"{teasers}{own}", "Harbour council - The ferry stays with us") == TEXT


@pytest.mark.parametrize("day", ["{} juin 2018 @11h13", "{}. März 2018", "{} de marzo de 2018", "{}/03/2018"])
def test_dates_are_told_in_any_language(day: str) -> None:
    said = "".join(
        f"<li class=f><div class=n>{day.format(n + 1)}</div><p>{text}</p><div class=w>gull{n}</div></li>"
        for n, text in enumerate(SAID)
    )
    assert lines(f"<div class=x1><div class=x2>{ARTICLE}</div><ul class=x3>{said}</ul></div>") == TEXT


@pytest.mark.parametrize(
    ("heading", "kind"),
    [
        ("35 Comments <a href=#f>»</a>", PageKind.ARTICLE),
        ("27 commentaires", PageKind.ARTICLE),
        ("Kommentare (4)", PageKind.ARTICLE),
        ("What the harbour says", PageKind.THREAD),
    ],
)
def test_a_line_that_counts_comments_makes_a_text_of_what_stands_above(heading: str, kind: PageKind) -> None:
    own = "".join(f"<p>{text} Part {n}.</p>" for n in range(3) for text in TEXT)
    said = "".join(
        f"<li class=c><p>{text} {n} {text}</p><p>{text} {text}</p><p>said by gull{n} — 17.07.2011 @ 13:{n}</p></li>"
        for n, text in enumerate(SAID * 7, start=10)
    )
    found = extract(
        f"<html><body><div class=p><h3>The ferry</h3>{own}</div><h2>{heading}</h2><ol>{said}</ol></body></html>"
    )
    assert found.kind is kind
    assert (SAID[0] in found.text) is (kind is PageKind.THREAD)


def test_a_box_beside_an_article_is_furniture_however_long_it_is() -> None:
    box = "".join(f"<p>{text} {text}</p>" for text in SAID * 2)
    assert lines(f"<article>{ARTICLE}</article><aside class=widget>{box}</aside>") == TEXT


def test_a_column_that_holds_all_of_the_text_is_the_text_whatever_it_is_called() -> None:
    box = "".join(f"<p>{text}</p>" for text in SAID * 3)
    assert lines(f"<article><p>{TEXT[1]}</p></article><aside class=widget>{box}</aside>") == SAID * 3


def test_a_teaser_that_the_text_begins_with_stands_once() -> None:
    markup = f"<header><h2>The ferry stays</h2><div class=lead>{TEXT[0]}</div><div>Tuesday</div></header><div class=x2>{ARTICLE}</div>"
    assert lines(f"<section>{markup}</section>") == TEXT
