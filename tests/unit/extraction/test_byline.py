"""Who wrote a page: declared, marked, or named in a byline; and who is nobody."""

import json

import pytest

from es_dedup.extraction import extract

BODY = "<p>The ferry runs again, the council said on Monday, and nobody was surprised by it.</p>"
ZH = "<p>渡轮周一恢复通航，市政府表示，票价与从前相同，时刻表没有变化。</p>"


def author(body: str, head: str = "", text: str = BODY) -> str:
    return extract(f"<html><head>{head}</head><body>{body}{text}</body></html>").author


def data(value: object) -> str:
    return f'<script type="application/ld+json">{json.dumps(value)}</script>'


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ({"@type": "NewsArticle", "author": {"name": "Ada Moor"}}, "Ada Moor"),
        (
            {"@type": "NewsArticle", "author": [{"name": "Ada Moor"}, {"name": "Ben Low"}]},
            "Ada Moor, Ben Low",
        ),
        ({"@type": "NewsArticle", "author": ["By Ada Moor and Ben Low"]}, "Ada Moor, Ben Low"),
        (
            {
                "@graph": [
                    {"@type": "Article", "author": {"@id": "#a"}},
                    {"@type": "Person", "@id": "#a", "name": "Ada Moor"},
                ]
            },
            "Ada Moor",
        ),
        (
            [
                {"@type": "Comment", "author": {"name": "Tom"}},
                {"@type": "Article", "author": {"name": "Ada Moor"}},
            ],
            "Ada Moor",
        ),
        (
            [
                {"@type": "VideoObject", "author": {"name": "Tom"}},
                {"@type": "Article", "author": {"name": "Ada Moor"}},
            ],
            "Ada Moor",
        ),
        ({"@type": "VideoObject", "author": {"name": "Tom"}}, "Tom"),
        ({"@type": "Review", "author": {"name": "Tom"}}, ""),
        ({"@type": "Article", "author": {"name": "admin"}}, ""),
        ({"@type": "Article", "author": {"name": "https://a.example/ada"}}, ""),
        ({"@type": "Article", "author": {"@id": ["#a"]}}, ""),
    ],
)
def test_authors_in_json_ld(value: object, name: str) -> None:
    assert author("", data(value)) == name


@pytest.mark.parametrize(
    "around", ["<![CDATA[{}]]>", "//<![CDATA[\n{}\n//]]>", "<!-- {} -->", "/*<![CDATA[*/{}/*]]>*/"]
)
def test_json_ld_may_be_wrapped(around: str) -> None:
    source = around.replace("{}", json.dumps({"@type": "Article", "author": {"name": "Ada Moor"}}))
    assert author("", f'<script type="application/ld+json">{source}</script>') == "Ada Moor"


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("By Ada Moor", "Ada Moor"),
        ("ADA MOOR, AP National Political Writer", "ADA MOOR"),
        ("Analysis by Ada Moor", "Ada Moor"),
        ("Ada Moor, Ben Low, and Cy Old, Daily", "Ada Moor, Ben Low, Cy Old"),
        ("Ada Moor &amp; Ben Low", "Ada Moor, Ben Low"),
        ("作者：张三", "张三"),
        ("张三 责任编辑：李四", "张三"),
        ("name, email@gmail.com", ""),
        ("@ada", ""),
        ("104363", ""),
        ("Updated 4 March 2026", ""),
        ("This is a sentence about the people who made this page", ""),
        ("Gizmo Staff", "Gizmo Staff"),
        ("Ada Moor Monday, February 29", "Ada Moor"),
        ("By ADA MOOR March 11, 2015 3:46 PM", "ADA MOOR"),
        ("by Ada Moor22 Dec 2016651", "Ada Moor"),
        ("Ada Moor.", "Ada Moor"),
        ("Follow Author", ""),
    ],
)
def test_names_in_a_declaration(written: str, name: str) -> None:
    head = f'<meta name="author" content="{written}"><meta property="og:site_name" content="Daily">'
    assert author("", head) == name


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ('<a rel="author" href="/ada">Ada Moor</a>', "Ada Moor"),
        ('<div class="byline">By <a href="/ada">Ada Moor</a><br>Monday, 4 March 2026</div>', "Ada Moor"),
        (
            '<span itemprop="author"><span itemprop="name">Ada Moor</span>, reporter in Hull</span>',
            "Ada Moor",
        ),
        ('<span class="author">Ada Moor</span> and <span class="author">Ben Low</span>', "Ada Moor, Ben Low"),
        ("<p class=byline-name>Cy Old</p><p><a rel=author>Ada Moor</a></p>", "Ada Moor"),
        ('<div class="comment-author">Tom</div>', ""),
        ('<div class="author-avatar"><img alt="Ada"></div>', ""),
        ('<a class="author" href="/x">admin</a>', ""),
        ("<p>By Ada Moor and Ben Low, 4 March 2026</p>", "Ada Moor, Ben Low"),
        ("<p>#1 Post by</p>", ""),
        ('<p class="author">#1 Post by tomcat »</p>', "tomcat"),
    ],
)
def test_names_in_marked_elements_and_lines(body: str, name: str) -> None:
    assert author(f"<h1>The ferry</h1>{body}") == name


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("来源：某报 作者：张三", "张三"),
        ("作者：张三、李四 2026-03-04", "张三, 李四"),
        ("某报记者 张三 李四", "张三, 李四"),
        ("记者 张三 报道", "张三"),
        ("作者：佚名", ""),
        ("作者：张三 编辑：李四", "张三"),
    ],
)
def test_chinese_bylines(line: str, name: str) -> None:
    assert author(f"<h1>渡轮恢复通航</h1><div>{line}</div>", text=ZH) == name


def test_a_chinese_byline_counts_more_than_the_account_that_spreads_it() -> None:
    body = '<h1>渡轮恢复通航</h1><a class="author-name">港口资讯</a><div>作者：张三</div>'
    assert author(body, text=ZH) == "张三"
    assert author(body.replace("作者：张三", ""), text=ZH) == "港口资讯"
