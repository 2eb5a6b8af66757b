"""What stands below the last paragraph of a text and belongs to it."""

from __future__ import annotations

from es_dedup.extraction import extract
from es_dedup.model import Content

PARAGRAPHS = (
    "The soup is better on the second day, when the carrots have given up and the broth is thick enough to stand a spoon in.",
    "Take what the garden has, but never leave out the leek, which does more for the taste than all the rest together.",
    "Cut everything small, heat the oil slowly, and wait until the kitchen smells of it before the water goes in.",
)


def text(below: str) -> list[str]:
    body = "".join(f"<p>{paragraph}</p>" for paragraph in PARAGRAPHS)
    found = extract(
        f"<html><head><title>Soup of the second day</title></head><body><ul><li><a href=/>Home</a></ul><div class=post>{body}{below}</div></body></html>",
        url="https://soup.example/2021/soup.html",
    )
    assert isinstance(found, Content)
    return found.text.split("\n")[len(PARAGRAPHS) :]


def test_a_program_below_the_last_paragraph_is_kept() -> None:
    assert text("<pre>stir(10)\nserve()</pre>") == ["stir(10)", "serve()"]


def test_lists_under_headings_are_kept_with_them() -> None:
    needed = "<div class=card><div class=in><h3>Ingredients</h3><ul><li>2 leeks</li><li>4 carrots</li><li>1 spoon of oil</li></ul></div></div>"
    assert text(needed) == ["Ingredients", "2 leeks", "4 carrots", "1 spoon of oil"]


def test_lists_of_names_or_of_links_are_not() -> None:
    names = "<div class=card><h3>Team</h3><ul><li>Jan Valve</li><li>Ann Hose</li><li>Tom Seal</li></ul></div>"
    links = "<div class=card><h3>In season</h3><ul>" + "".join(
        f"<li><a href=/{n}>Soup number {n}</a></li>" for n in range(4)
    )
    assert text(names) == []
    assert text(links + "</ul></div>") == []


def test_who_signs_a_notice_and_the_day_are_kept() -> None:
    body = "".join(
        f"<p>{line}</p>"
        for line in (
            "各区县、各有关单位：现将今年防汛工作的有关安排通知如下，请认真组织落实。",
            "一是全面排查隐患，对低洼地段和老旧泵站逐一登记，发现问题及时处置，不留死角。",
            "二是备足物资，落实值班制度，确保通信畅通，遇有险情立即上报，不得迟报漏报。",
            "水务办公室",
            "2021年5月12日",
        )
    )
    page = f"<html><head><title>防汛通知</title></head><body><div class=zoom>{body}</div><div class=foot><a href=/>首页</a></div></body></html>"
    found = extract(page, url="http://www.city.example/art/71.html")
    assert isinstance(found, Content)
    assert found.text.split("\n")[-2:] == ["水务办公室", "2021年5月12日"]


def test_a_text_on_baking_asks_for_no_consent() -> None:
    sentence = "Fill your bag with bread or freshly baked cookies before closing time, since any grocery store marks them down because they cannot be sold on the next day."
    assert text(f"<p>{sentence}</p>") == [sentence]


def test_a_list_around_the_text_makes_no_list_of_what_stands_below_it() -> None:
    card = "<div class=card><h3>Our shops</h3><div>Main street 4</div><div>Harbour 12</div><div>Mill lane 7</div></div>"
    body = "".join(f"<p>{paragraph}</p>" for paragraph in PARAGRAPHS)
    found = extract(f"<html><body><ul><li><div class=post>{body}{card}</div></ul></body></html>")
    assert found.text.split("\n") == list(PARAGRAPHS)
