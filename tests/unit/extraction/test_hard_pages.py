"""Pages of forms that simple rules get wrong; class names say nothing, or the wrong thing."""

from __future__ import annotations

import pytest

from es_dedup.extraction import extract

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
NAV = "<div><a href=/1>Home</a> <a href=/2>News</a> <a href=/3>Sport</a> <a href=/4>Weather</a></div>"
FOOT = "<div><a href=/a>About</a> <a href=/b>Contact</a> <a href=/c>Imprint</a></div><p>© 2026 A Paper. All rights reserved.</p>"
WIDGET = "<div><h4>Read on</h4><ul><li><a href=/x1>A mill is sold for one coin to a baker</a><li><a href=/x2>Why bridges fall in spring and not in autumn</a></ul></div>"


def paragraphs(texts: list[str], tag: str = "p") -> str:
    return "".join(f"<{tag}>{text}</{tag}>" for text in texts)


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
        f"{NAV}<div><h1>A flood</h1><p>{RIVER[0]}</p>{WIDGET}<p>{RIVER[1]}</p>{WIDGET}<p>{RIVER[2]}</p><p>{RIVER[3]}</p></div>{FOOT}",
        RIVER,
    ),
    "nothing but line breaks": (f"{NAV}<td><b>春茶</b><br>{'<br><br>'.join(TEA)}<br></td>{FOOT}", TEA),
    "texts in div": (f"{NAV}<div><div>{paragraphs(TEA, 'div')}</div></div>{FOOT}", TEA),
    "three columns of a table": (
        f"<table><tr><td width=20%>{NAV}</td><td>{paragraphs(RIVER)}</td><td>{WIDGET}</td></tr></table>{FOOT}",
        RIVER,
    ),
    "two columns of one article": (
        f"{NAV}<div class=x><div class=col>{paragraphs(TEA[:2])}</div><div class=col>{paragraphs(TEA[2:])}</div></div>{FOOT}",
        TEA,
    ),
    "fewer words than its comments": (
        f'<title>春茶</title>{NAV}<div class=a><h1>春茶</h1>{paragraphs(TEA * 2)}</div><div class="comments"><h3>评论</h3>'
        + "".join(
            f"<div class=comment><b>读者{n}</b><p>第{n}条评论，写得很长，也说了很多和茶没有关系的事情，比如天气，比如价格。</p></div>"
            for n in range(9)
        )
        + f"</div>{FOOT}",
        TEA * 2,
    ),
    "one short post": (
        f"<title>阿明：今天的茶很好</title>{NAV}<div><div><a href=/u>阿明</a></div><div>今天的茶很好，山上的雾也很好，明天还来。</div><div>转发 3 评论 2 赞 9</div></div>{FOOT}",
        ["今天的茶很好，山上的雾也很好，明天还来。"],
    ),
    "a thread with nested quotations": (
        f"{NAV}<div>{''.join(post(text, n) for n, text in enumerate(QUOTED, 1))}</div>{FOOT}",
        SAID_QUOTED,
    ),
    "a question with an accepted answer": (
        (
            f"<title>Which road is open?</title>{NAV}<main><h1>Which road is open?</h1><div class=q><div class=b><p>{RIVER[3]} Which road can I take until then?</p></div></div>"
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
