"""The main text of small pages: boilerplate goes, prose and paragraph breaks stay."""

from __future__ import annotations

from es_dedup.extraction import extract

PARAGRAPHS = (
    "市气象台说，受冷空气影响，今天夜间到明天白天，全市大部分地区将有小到中雨，局部地区有大雨。",
    "记者从交通部门了解到，为应对降雨，地铁公司已增派人手，公交线路也做了调整，请市民注意出行安全。",
    "专家提醒，雨天路滑，驾车要减速慢行，老人和孩子尽量减少外出，家中门窗要关好。",
)
NAV = (
    '<div class="menu"><ul>'
    + "".join(f'<li><a href="/{n}">频道{n}</a></li>' for n in range(12))
    + "</ul></div>"
)
RELATED = (
    '<div class="box"><h3>相关阅读</h3>'
    + "".join(f'<p><a href="/{n}">又一篇不相干的新闻，标题很长，也有标点{n}</a></p>' for n in range(8))
    + "</div>"
)


def page(inside: str, *, before: str = NAV, after: str = RELATED, title: str = "明天有雨_某某网") -> str:
    return f"<html><head><title>{title}</title></head><body>{before}<div id=a>{inside}</div>{after}</body></html>"


def paragraphs(lines: tuple[str, ...] = PARAGRAPHS) -> str:
    return "".join(f"<p>{line}</p>" for line in lines)


def test_the_article_comes_out_alone_with_its_paragraphs() -> None:
    assert extract(page(paragraphs())).text == "\n".join(PARAGRAPHS)


def test_a_page_without_prose_gives_all_its_text() -> None:
    assert extract("<body><div>一</div><div>二</div></body>").text == "一\n二"


def test_line_ends_between_ideographs_are_no_spaces() -> None:
    assert (
        extract("<p>第一行，\n  第二行\r\nand English\ntext。</p>").text
        == "第一行，第二行 and English text。"
    )


def test_invisible_characters_are_removed() -> None:
    assert extract("<p>中\u200b文\ufeff网\u00ad页，内容。</p>").text == "中文网页，内容。"


def test_text_beside_the_body_belongs_to_the_page() -> None:
    assert (
        extract("正文没有任何标签包着，只有一个换行，<br>也能读到。").text
        == "正文没有任何标签包着，只有一个换行，\n也能读到。"
    )


def test_a_text_folded_behind_read_more_is_text() -> None:
    lines = [f"Paragraph {n} of the story says what happened, and to whom it did." for n in range(8)]
    shown, folded = ("".join(f"<p>{line}</p>" for line in part) for part in (lines[:3], lines[3:]))
    found = extract(f"<div class=story>{shown}<div class=read-more>{folded}</div></div>")
    assert found.text.splitlines() == lines
    links = "".join(f"<li><a href=/{n}>The headline of another story, {n}</a></li>" for n in range(5))
    found = extract(f"<div class=story>{shown}{folded}<ul class=read-more>{links}</ul></div>")
    assert found.text.splitlines() == lines
