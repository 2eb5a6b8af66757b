"""Posts that a name or their shortness hides, and lines around them that software wrote."""

from __future__ import annotations

import time

import pytest

from es_dedup.extraction import extract
from es_dedup.model import PageKind

URL = "https://forum.example/viewtopic.php?t=12"
SAID = (
    "My pump leaks at the lower seal since Sunday, and the shop has none left.",
    "Take a bicycle tube and cut a ring from it, mine has held for two years now.",
    "That worked, thank you. It does not even drip.",
    "I would still buy the proper seal before winter, rubber gets hard in the frost.",
)
TITLE = "Pump leaks at the seal"


def page(posts: str, *, title: str = TITLE, before: str = "", behind: str = "") -> str:
    head = f"<html><head><title>{title} - Pump people</title></head><body><ul class=nav><li><a href=/>Home</a></li></ul>"
    return f"{head}<h1>{title}</h1>{before}<div>{posts}</div>{behind}</body></html>"


def post(n: int, text: str, *, around: str = "<div class=post>{}</div>", label: str = "") -> str:
    day = f"<div class=d>Mar {n + 1}, 2015 at 1{n}:20</div>"
    return around.format(f"<b><a href=/u{n}>user{n}</a></b>{label}{day}<div class=body>{text}</div>")


def text_of(html: str) -> list[str]:
    return extract(html, url=URL).text.split("\n")


@pytest.mark.parametrize(
    "around",
    [
        "<div id=edit{n}>{{}}</div>",
        "<form action=f{n}>{{}}</form>",
        '<fieldset class="f{n}">{{}}</fieldset>',
        "<div class=post>{{}}</div>",
    ],
)
def test_a_name_around_every_post_is_no_furniture(around: str) -> None:
    posts = "".join(post(n, text, around=around.format(n=700 + n)) for n, text in enumerate(SAID))
    assert text_of(page(posts)) == [TITLE, *SAID]


def test_a_form_without_a_date_is_one_to_answer_in() -> None:
    posts = "".join(post(n, text) for n, text in enumerate(SAID))
    rules = "<form><h2>Your answer</h2><p>Please be sure to answer the question, and to give details of what you did.</p></form>"
    assert text_of(page(posts, behind=rules * 3)) == [TITLE, *SAID]


def test_posts_of_a_word_each_are_found_beside_their_dates() -> None:
    words = ["Austin", "Berlin", "Cork", "Dover", "Essen", "Faro"]
    posts = "".join(post(n, word) for n, word in enumerate(words))
    assert text_of(page(f"<form action=choose>{posts}</form>", title="Name a city")) == [
        "Name a city",
        *words,
    ]


def test_the_same_words_of_several_people_are_said_each_time() -> None:
    texts = [
        *SAID,
        "Thanks!",
        *SAID[::-1][:1],
        "Thanks!",
        "Good to know, I have the same pump.",
        "Thanks!",
        "And what of the upper seal?",
    ]
    posts = "".join(post(n, text) for n, text in enumerate(texts))
    assert text_of(page(posts)).count("Thanks!") == 3


@pytest.mark.parametrize(
    "label",
    [
        "<div class=l>Post subject: Re: Pump leaks at the seal</div>",
        "<div class=l>Sender: user{n} (number {n}), board: Pumps</div>",
        "<div class=l>Posts: {n}17</div>",
        "<div class=l>Zuletzt geändert von user{n}, insgesamt {n}-mal geändert</div>",
        "<div class=l>本帖最后由 user{n} 于 3 天前 编辑</div>",
        "<div class=l>{n}3 views</div>",
        "<div class=l>Plumber in town {n}, water works of the northern district, all kinds of pumps and seals</div>",
    ],
)
def test_lines_that_software_wrote_are_no_posts(label: str) -> None:
    posts = "".join(post(n, text, label=label.format(n=n + 1)) for n, text in enumerate(SAID))
    assert text_of(page(posts)) == [TITLE, *SAID]


def test_sentences_that_differ_by_a_number_are_posts() -> None:
    texts = [
        f"Day {n}: the seal still holds, and I have used {n * 7} litres of water today." for n in range(1, 6)
    ]
    posts = "".join(post(n, text) for n, text in enumerate(texts))
    assert text_of(page(posts)) == [TITLE, *texts]


def test_what_reads_like_a_notice_is_a_post_if_it_stands_there_once() -> None:
    texts = (*SAID, "Copyright law has no say in that, whatever the maker of the seals prints on his box.")
    posts = "".join(post(n, text) for n, text in enumerate(texts))
    assert text_of(page(posts)) == [TITLE, *texts]


def test_what_is_asked_stands_above_the_answers_in_a_part_of_its_own() -> None:
    asked = "<div class=q><div class=qq><p>My pump leaks since Sunday.</p></div><span>asked Mar 1, 2015 at 10:11</span></div>"
    posts = "".join(post(n, text) for n, text in enumerate(SAID))
    assert text_of(page(posts, before=asked)) == [TITLE, "My pump leaks since Sunday.", *SAID]


def test_short_replies_below_a_long_post_are_kept() -> None:
    first = "".join(f"<p>{line} Part {n}.</p>" for n in range(4) for line in SAID)
    replies = "".join(
        f"<li class=comment><a href=/u{n}>user{n}</a> <span>Mar {n + 2}, 2015</span><div class=body><p>{line}</p></div></li>"
        for n, line in enumerate(SAID[1:])
    )
    html = page(
        f"<div class=first><div class=body>{first}</div></div><h2>Comments</h2><ul class=comments>{replies}</ul>"
    )
    assert text_of(html)[-3:] == list(SAID[1:])


def test_the_linked_subject_is_longer_than_the_name_of_the_site() -> None:
    posts = "".join(post(n, text) for n, text in enumerate(SAID))
    title = "Pump people :: View topic - Pump leaks at the seal again"
    head = f"<html><head><title>{title}</title></head><body><div>Pump people</div><div><a href=t>Pump leaks at the seal again</a></div>"
    assert text_of(f"{head}<div>{posts}</div></body></html>") == ["Pump leaks at the seal again", *SAID]


def test_responses_below_a_text_leave_it_an_article() -> None:
    own = "".join(f"<p>{line}</p>" for line in SAID * 2)
    said = "".join(post(n, f"{line} {line}") for n, line in enumerate(SAID))
    html = f"<html><body><h1>A pump</h1><small>Mar 1, 2015 by Dora</small><div>{own}</div><h3>4 responses to A pump</h3>{said}</body></html>"
    assert extract(html, url="https://x.example/2015/pump").kind is PageKind.ARTICLE


@pytest.mark.parametrize("around", ["<form action=f>{}</form>", "<div id=edit1>{}</div>"])
def test_many_posts_take_time_by_their_number(around: str) -> None:
    def seconds(count: int) -> float:
        html = page("".join(post(n % 9, f"Try {n}: {SAID[n % 4]}", around=around) for n in range(count)))
        start = time.process_time()
        assert extract(html, url=URL).kind is PageKind.THREAD
        return time.process_time() - start

    assert min(seconds(4_000) for _ in range(2)) < 16 * max(min(seconds(1_000) for _ in range(2)), 0.01)
