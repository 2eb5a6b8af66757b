"""Metadata beyond the title, page kinds, text from data, and the reasons for all of it."""

from __future__ import annotations

import re

import pytest

from es_dedup.extraction import extract

LINES = [f"第{n}段正文讲的是第{n * 3}件事情，有逗号，也有句号，说得清清楚楚。" for n in range(6)]
BODY = "".join(f"<p>{line}</p>" for line in LINES)
LINKS = "".join(f"<li><a href=/{n}>第{n}条新闻的标题在这里，很长</a></li>" for n in range(20))


def test_each_block_has_a_reason() -> None:
    page = f"<body><ul class=nav>{LINKS}</ul><div class=c><h1>标题</h1>{BODY}</div></body>"
    why = extract(page, explain=True).why
    assert why is not None
    assert set(LINES) <= {note.text for note in why.blocks if note.kept}
    for note in why.blocks:
        assert note.probability is not None
        assert re.fullmatch(r"[a-z ]+ [+-]\d+\.\d, [a-z ]+ [+-]\d+\.\d", note.reason), note.reason
    kept = [note.probability or 0 for note in why.blocks if note.kept]
    assert min(kept) > max(note.probability or 0 for note in why.blocks if not note.kept)
    assert why.kept >= len(LINES)
    assert why.dropped == len(why.blocks) - why.kept
    assert why.chosen.startswith("div.c < body")
    assert min(kept) <= why.score <= max(kept)


def test_without_asking_there_are_no_notes_but_a_rule() -> None:
    why = extract(f"<body>{BODY}</body>").why
    assert why is not None
    assert why.blocks == ()
    assert why.rule == "block model"


def test_site_name_and_next_page_are_read() -> None:
    head = '<meta property="og:site_name" content="某某网"><link rel="next" href="/a_2.html">'
    found = extract(f"<html><head>{head}</head><body>{BODY}</body></html>", url="https://x.example/a.html")
    assert (found.site_name, found.next_page) == ("某某网", "https://x.example/a_2.html")


def test_links_of_the_main_text_are_counted() -> None:
    body = BODY.replace("正文", "<a href=/w>正文</a>", 2)
    assert extract(f"<body><ul class=nav>{LINKS}</ul><div>{body}</div></body>").links == 2


def test_code_in_a_script_is_no_text() -> None:
    script = (
        '<script type="application/json">{"content": "function (a) { return a. b. c! } '
        + "x. " * 90
        + '"}</script>'
    )
    assert extract(f"<body><p>短。</p>{script}</body>").text == "短。"


@pytest.mark.parametrize(
    ("tag", "found"),
    [
        ("<link rel=next href=/2>", True),
        ("<a class=more rel='nofollow next' href=/2>", True),
        ("<a REL=NEXT href=/2>", True),
        ("<link rel=&#110;ext href=/2>", True),
        ("<a rel=nofollow href=/2 class=next>", False),
        ("<div rel=next href=/2>", False),
    ],
)
def test_the_next_page_is_found_however_it_is_written(tag: str, found: bool) -> None:
    html = f"<html><head>{tag}</head><body><p>{'The ferry goes at nine, and at ten. ' * 4}</p></body></html>"
    assert extract(html, url="https://x.example/1").next_page == ("https://x.example/2" if found else None)
