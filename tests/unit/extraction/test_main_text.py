"""The main text of small pages and of forms that simple rules get wrong; notices of rights at its edges; the published block method."""

from collections.abc import Sequence

import pytest

from es_dedup.extraction import extract
from es_dedup.extraction.notices import is_notice, without_notices
from es_dedup.model import PageKind
from es_dedup.settings.loading import ExtractionConfig
from tests.texts import FERRY

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


def paragraphs(lines: Sequence[str] = PARAGRAPHS, tag: str = "p") -> str:
    return "".join(f"<{tag}>{line}</{tag}>" for line in lines)


@pytest.mark.parametrize(
    ("html", "text"),
    [
        (page(paragraphs()), "\n".join(PARAGRAPHS)),
        ("<body><div>一</div><div>二</div></body>", "一\n二"),
        ("<p>第一行，\n  第二行\r\nand English\ntext。</p>", "第一行，第二行 and English text。"),
        ("<p>中\u200b文\ufeff网\u00ad页，内容。</p>", "中文网页，内容。"),
        (
            "正文没有任何标签包着，只有一个换行，<br>也能读到。",
            "正文没有任何标签包着，只有一个换行，\n也能读到。",
        ),
    ],
    ids=[
        "article",
        "no prose",
        "line ends between ideographs",
        "invisible characters",
        "text beside the body",
    ],
)
def test_the_text_of_a_small_page(html: str, text: str) -> None:
    assert extract(html).text == text


def test_a_text_folded_behind_read_more_is_text() -> None:
    lines = [f"Paragraph {n} of the story says what happened, and to whom it did." for n in range(8)]
    shown, folded = ("".join(f"<p>{line}</p>" for line in part) for part in (lines[:3], lines[3:]))
    found = extract(f"<div class=story>{shown}<div class=read-more>{folded}</div></div>")
    assert found.text.splitlines() == lines
    links = "".join(f"<li><a href=/{n}>The headline of another story, {n}</a></li>" for n in range(5))
    found = extract(f"<div class=story>{shown}{folded}<ul class=read-more>{links}</ul></div>")
    assert found.text.splitlines() == lines


RIVER = [
    "The river rose four metres in a night, and by morning the lower road was gone, said the ferryman.",
    "He had moored the boat to the church gate, which is the highest thing in the village after the mill.",
    "Nobody was hurt. The sheep, he added, had walked up the hill on their own some hours before the rain.",
    "The council will meet on Thursday to talk about the bridge, the third in twenty years to be washed away.",
]
TEA = [
    "今年春天来得晚，茶园里的第一批嫩芽比往年迟了整整十二天，茶农们说从来没有等过这么久。",
    "山上的雾气散得慢，采茶的人要到上午九点以后才能下地，一天只能采到平时的一半。",
    "收购商已经住进了镇上的旅馆，他们每天打听价格，却谁也不肯先开口，大家都在等第一锅茶。",
    "老李家的炒茶锅是祖父留下的，他说火候比天气重要，只要手不生，茶就不会差到哪里去。",
]
MENU = "<div><a href=/1>Home</a> <a href=/2>News</a> <a href=/3>Sport</a> <a href=/4>Weather</a></div>"
FOOT = "<div><a href=/a>About</a> <a href=/b>Contact</a> <a href=/c>Imprint</a></div><p>© 2026 A Paper. All rights reserved.</p>"
WIDGET = "<div><h4>Read on</h4><ul><li><a href=/x1>A mill is sold for one coin to a baker</a><li><a href=/x2>Why bridges fall in spring and not in autumn</a></ul></div>"


def post(text: str, number: int) -> str:
    return f"<div class=row><div class=who>user{number}</div><div class=when>2026-03-0{number} 10:2{number}</div><div class=said>{text}</div></div>"


QUOTED = [
    RIVER[0],
    f"<blockquote><blockquote>{RIVER[0]}</blockquote>That is what he always says, but the road was closed on Monday.</blockquote>I drove there on Tuesday, and it was open, though muddy.",
    "My aunt lives by the mill, and she says the water stood at the second step of her stairs.",
    "Then it was higher than in the year of the two floods, when it only reached the first one.",
]
SAID_QUOTED = [
    RIVER[0], "That is what he always says, but the road was closed on Monday.",
    "I drove there on Tuesday, and it was open, though muddy.", QUOTED[2], QUOTED[3],
]  # fmt: skip
CASES = {
    "widgets between the paragraphs": (
        f"{MENU}<div><h1>A flood</h1><p>{RIVER[0]}</p>{WIDGET}<p>{RIVER[1]}</p>{WIDGET}<p>{RIVER[2]}</p><p>{RIVER[3]}</p></div>{FOOT}",
        RIVER,
    ),
    "nothing but line breaks": (f"{MENU}<td><b>春茶</b><br>{'<br><br>'.join(TEA)}<br></td>{FOOT}", TEA),
    "texts in div": (f"{MENU}<div><div>{paragraphs(TEA, 'div')}</div></div>{FOOT}", TEA),
    "three columns of a table": (
        f"<table><tr><td width=20%>{MENU}</td><td>{paragraphs(RIVER)}</td><td>{WIDGET}</td></tr></table>{FOOT}",
        RIVER,
    ),
    "two columns of one article": (
        f"{MENU}<div class=x><div class=col>{paragraphs(TEA[:2])}</div><div class=col>{paragraphs(TEA[2:])}</div></div>{FOOT}",
        TEA,
    ),
    "fewer words than its comments": (
        f'<title>春茶</title>{MENU}<div class=a><h1>春茶</h1>{paragraphs(TEA * 2)}</div><div class="comments"><h3>评论</h3>'
        + "".join(
            f"<div class=comment><b>读者{n}</b><p>第{n}条评论，写得很长，也说了很多和茶没有关系的事情，比如天气，比如价格。</p></div>"
            for n in range(9)
        )
        + f"</div>{FOOT}",
        TEA * 2,
    ),
    "one short post": (
        f"<title>阿明：今天的茶很好</title>{MENU}<div><div><a href=/u>阿明</a></div><div>今天的茶很好，山上的雾也很好，明天还来。</div><div>转发 3 评论 2 赞 9</div></div>{FOOT}",
        ["今天的茶很好，山上的雾也很好，明天还来。"],
    ),
    "a thread with nested quotations": (
        f"{MENU}<div>{''.join(post(text, n) for n, text in enumerate(QUOTED, 1))}</div>{FOOT}",
        SAID_QUOTED,
    ),
    "a question with an accepted answer": (
        (
            f"<title>Which road is open?</title>{MENU}<main><h1>Which road is open?</h1><div class=q><div class=b><p>{RIVER[3]} Which road can I take until then?</p></div></div>"
            f"<div class=n><span>2 Answers</span></div><div class=q><div class=ok>✓ accepted</div><div class=b><p>{QUOTED[2]}</p></div><div>2026-03-01 10:20</div></div>"
            f"<div class=q><div class=b><p>{QUOTED[3]}</p></div><div>2026-03-02 11:40</div></div></main>{FOOT}"
        ),
        [RIVER[3], "Which road can I take until then?", QUOTED[2], QUOTED[3]],
    ),
}
BOILERPLATE = ("Home", "Imprint", "cookies", "A mill is sold", "All rights", "条评论", "转发")


@pytest.mark.parametrize("name", CASES)
def test_the_main_text_is_found_whole(name: str) -> None:
    page, gold = CASES[name]
    text = extract(f"<html><body>{page}</body></html>", url="http://paper.example/page/17").text
    assert not [part for part in gold if part not in text], text
    assert not [part for part in BOILERPLATE if part in text], text


@pytest.mark.parametrize("end", ["</html>", "</HTML>", "</Body></Html>"])
def test_text_behind_the_end_of_the_page_is_read(end: str) -> None:
    page = f"<HTML><BODY>{paragraphs(RIVER[:2])}{end}\n<div align=center>{paragraphs(RIVER[2:])}</div>"
    assert extract(page).text.split("\n") == RIVER


NOTICES = [
    "免责声明：本文仅代表作者个人观点，与本网无关，请读者仅作参考，版权归原作者。",
    "版权声明：凡本网注明来源的作品，未经授权，不得转载、摘编，违者将追究法律责任。",
    "Copyright 2026 The Paper. All rights reserved. No part may be reproduced.",
    "We use cookies to improve your experience on this site. By continuing you accept our policy.",
]


@pytest.mark.parametrize(
    "line",
    [
        *FERRY,
        "法院认为，该公司侵权，应当赔偿。",
        "The author holds the copyright.",
        "版权和授权的历史。" * 60,
        "Bake the cookies for ten minutes, and let them cool.",
        "",
    ],
)
def test_other_lines_are_none(line: str) -> None:
    assert not is_notice(line)


def test_notices_between_paragraphs_stay() -> None:
    lines = [NOTICES[0], FERRY[0], NOTICES[1], FERRY[1], NOTICES[2], NOTICES[3]]
    assert without_notices([0, 1, 2, 3, 4, 5], lines) == [1, 2, 3]
    assert without_notices([0, 2], lines) == []
    assert without_notices([], lines) == []


@pytest.mark.parametrize("notice", NOTICES)
def test_a_page_keeps_none_behind_its_text(notice: str) -> None:
    page = f"<body><div>{''.join(f'<p>{line}</p>' for line in FERRY * 2)}<p>{notice}</p></div>"
    assert notice not in extract(page).text


def test_a_page_of_notices_alone_has_no_text_and_says_so() -> None:
    found = extract(f"<body><div><p>{NOTICES[1]}</p></div></body>")
    assert found.text == ""
    assert found.kind is PageKind.EMPTY
    assert "only notices" in found.notes[0]


LONG = "这是正文的第一段，讲述了事情的经过和结果，一共有许多个字，足够作为一个块。" * 2
OTHER = (
    "这是另一个块里的文字，它比正文的块要短一些，但也超过了最少的字数限制，所以不会被删除。"
    + "补充说明。" * 3
)
LINKS = "".join(f'<a href="/{n}">第{n}条新闻的标题在这里</a>' for n in range(20))


ITEM, MORE = '<div align="{}"><p>{}</p></div>', "<a href=x>更多</a>"
TOPICS = {
    "the smallest share of links": (
        f"<div>{LINKS}{OTHER}</div><div>{LONG}<a href=x>一</a></div>",
        LONG + "一",
    ),
    "not the fewest links": (
        f"<div>{OTHER}<a href=x>更多</a></div><div>{LONG * 5}<a href=x>更多新闻</a></div>",
        f"{LONG * 5}更多新闻",
    ),
    "the longest of equal shares": (f"<div>{OTHER}</div><div>{LONG * 2}</div>", LONG * 2),
    "around inner blocks": (f"<div>引言<p>{LONG}</p><p>{OTHER}</p></div>", f"引言\n{LONG}\n{OTHER}"),
    "not hidden": (f'<div>{OTHER}</div><div style="visibility: hidden">{LONG * 3}</div>', OTHER),
    "not in a hidden one": (
        f'<div>{OTHER}</div><div style="display:none"><div>{LONG * 3}</div></div>',
        OTHER,
    ),
    "not marked as hidden": (f"<div>{OTHER}</div><div hidden>{LONG * 3}</div>", OTHER),
    "all hidden": (f'<div style="visibility: hidden">{LONG}</div>', LONG),
    "parent of children alike": (
        f"<div>{ITEM.format('left', LONG)}{ITEM.format('left', OTHER + MORE)}</div>",
        f"{LONG}\n{OTHER}更多",
    ),
    "one of different children": (
        f"<div>{ITEM.format('left', LONG)}{ITEM.format('right', OTHER + MORE)}</div>",
        LONG,
    ),
    "not narrow": (
        f'<table width="100%"><tr><td>{OTHER}</table><table width="30%"><tr><td>{LONG * 3}</table>',
        OTHER,
    ),
    "not narrow beside the widest in pixels": (
        f'<div style="width: 960px"><p>{OTHER}</p></div><div style="width:300px"><p>{LONG * 3}</p></div>',
        OTHER,
    ),
    "not narrow within a narrow one": (
        f'<div>{OTHER}</div><div width="85%">{MORE}<div width="85%"><p>{LONG * 3}</p></div></div>',
        OTHER,
    ),
    "of unknown width": (f'<div>{LONG}</div><div style="width: auto">{OTHER}</div>', LONG),
    "all narrow": (f'<div width="10%">{LONG}</div>', LONG),
    "not short": (f"<div>短文字</div><div>{LONG}<a>链接</a></div>", LONG + "链接"),
}


def topic(body: str, *, min_block_chars: int = 50) -> str:
    config = ExtractionConfig(extractor="topic", min_block_chars=min_block_chars)
    return extract(f"<html><head><title>t</title></head><body>{body}</body></html>", config=config).text


@pytest.mark.parametrize("name", TOPICS)
def test_the_published_method_chooses_the_block(name: str) -> None:
    body, text = TOPICS[name]
    assert topic(body) == text


def test_how_short_a_block_may_be_is_a_setting() -> None:
    assert topic("<div>短文字</div><div>更短</div>", min_block_chars=2) == "短文字"
