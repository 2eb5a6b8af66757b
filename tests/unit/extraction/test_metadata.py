"""Title, canonical URL, site, language and time of publication."""

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest

from es_dedup.extraction import extract
from es_dedup.extraction.language import language_of
from es_dedup.extraction.metadata.addresses import site_of
from es_dedup.extraction.metadata.date_parsing import labelled_moment, parse_moment, url_moment
from es_dedup.model import Content

BODY = "<p>这里是正文，有逗号，也有句号，一共有不少的字，可以算作正文了。</p>"
CHINA = timezone(timedelta(hours=8))


def read(head: str, body: str = BODY, url: str | None = "http://news.example.cn/a/b.html") -> Content:
    return extract(f"<html><head>{head}</head><body>{body}</body></html>", url=url)


@pytest.mark.parametrize(
    ("head", "body", "title"),
    [
        ('<meta property="og:title" content="甲地发生大事"><title>x</title>', "", "甲地发生大事"),
        ("<title>甲地发生大事_某某网</title>", "", "甲地发生大事"),
        ("<title>甲地发生大事-国内新闻-某某新闻网</title>", "", "甲地发生大事"),
        ("<title>甲地发生大事 | Example News</title>", "", "甲地发生大事"),
        ("<title>甲地发生大事 - 好站</title><meta property=og:site_name content=好站>", "", "甲地发生大事"),
        ("<title>好站 | 甲地发生大事</title><meta property=og:site_name content=好站>", "", "甲地发生大事"),
        (
            "<title>某报：甲地发生大事 - 头条 - 要闻速递</title>",
            "<h1>某报：甲地发生大事</h1>",
            "某报：甲地发生大事",
        ),
        ("<title>2-1险胜 甲队晋级</title>", "", "2-1险胜 甲队晋级"),
        ("<title>A well-known case</title>", "", "A well-known case"),
        ("", "<h1>只有<b>标题</b></h1>", "只有标题"),
        ("<title>  </title>", "", ""),
        ("<title>A &amp; B</title>", "", "A & B"),
        ("<title>Tom &amp;amp; Jerry&amp;#39;s boat</title>", "", "Tom & Jerry's boat"),
        ('<meta property="x:title dc:title" content="The ferry"><title>Page</title>', "", "The ferry"),
        ("<title></title><title>The ferry runs</title>", "", "The ferry runs"),
        (
            '<meta property="og:title" content="You will not believe this boat"><title>Ferry runs again - Daily</title>',
            "<h1>Ferry runs again</h1>",
            "Ferry runs again",
        ),
        (
            '<meta property="og:title" content="The ferry runs again"><title>Ferry runs again - Daily</title>',
            "<h1>Ferry runs again</h1>",
            "The ferry runs again",
        ),
    ],
)
def test_the_title_is_cut_from_the_site(head: str, body: str, title: str) -> None:
    assert read(head, body + BODY).title == title


@pytest.mark.parametrize(
    ("head", "url"),
    [
        ('<link rel="canonical" href="https://www.example.cn/x.html">', "https://www.example.cn/x.html"),
        ('<link rel="Canonical" href="/x.html">', "http://news.example.cn/x.html"),
        ('<meta property="og:url" content="//m.example.cn/x">', "http://m.example.cn/x"),
        ('<link rel="canonical" href="javascript:void(0)">', "http://news.example.cn/a/b.html"),
        ('<link rel="canonical" href="file:///etc/passwd">', "http://news.example.cn/a/b.html"),
        ('<link rel="canonical" href="http://[::1">', "http://news.example.cn/a/b.html"),
        ('<link rel="canonical" href="">', "http://news.example.cn/a/b.html"),
        ('<link rel="stylesheet" href="/x.css">', "http://news.example.cn/a/b.html"),
    ],
)
def test_the_canonical_url_is_absolute_and_of_the_web(head: str, url: str) -> None:
    assert read(head).url == url


@pytest.mark.parametrize(
    ("url", "site"),
    [
        ("https://www.Example.cn:8080/x", "example.cn"),
        ("http://m.example.cn", "m.example.cn"),
        (None, ""),
        ("http://[", ""),
    ],
)
def test_the_site_is_the_host_without_www(url: str | None, site: str) -> None:
    assert site_of(url) == site


@pytest.mark.parametrize(
    ("head", "body", "moment"),
    [
        (
            '<meta property="article:published_time" content="2026-03-04T10:20:30+08:00">',
            "",
            datetime(2026, 3, 4, 10, 20, 30, tzinfo=CHINA),
        ),
        ('<meta name="publishdate" content="2026-03-04">', "", datetime(2026, 3, 4)),  # noqa: DTZ001
        ('<meta name="PubDate" content="2026/3/4 9:05">', "", datetime(2026, 3, 4, 9, 5)),  # noqa: DTZ001
        (
            '<script type="application/ld+json">{"@graph": [{"datePublished": "2026-03-04T10:20:00Z"}]}</script>',
            "",
            datetime(2026, 3, 4, 10, 20, tzinfo=UTC),
        ),
        ("", '<time datetime="2026-03-04T10:20">vor kurzem</time>', datetime(2026, 3, 4, 10, 20)),  # noqa: DTZ001
        ("", "<span>发布时间：2026-03-04 10:20</span>", datetime(2026, 3, 4, 10, 20)),  # noqa: DTZ001
        ("", "<span>2026年3月4日 10:20 来源：某报</span>", datetime(2026, 3, 4, 10, 20)),  # noqa: DTZ001
        ('<script type="application/ld+json">{broken</script>', "", None),
        ("", "<p>会议于2024年1月1日召开，与会者有多人，气氛热烈。</p>", None),
    ],
)
def test_the_time_of_publication(head: str, body: str, moment: datetime | None) -> None:
    assert read(head, body + BODY).published == moment


@pytest.mark.parametrize(
    ("value", "day"),
    [
        ({"@type": "Article", "datePublished": "2026-03-04"}, 4),
        (
            [
                {"@type": "Comment", "datePublished": "2026-03-05"},
                {"@type": "Article", "datePublished": "2026-03-04"},
            ],
            4,
        ),
        (
            [
                {"@type": "VideoObject", "datePublished": "2026-03-05"},
                {"@type": "Article", "datePublished": "2026-03-04"},
            ],
            4,
        ),
        (
            {
                "@type": "Article",
                "comment": {"@type": "Comment", "datePublished": "2026-03-05"},
                "datePublished": "2026-03-04",
            },
            4,
        ),
        ({"@type": "VideoObject", "datePublished": "2026-03-05"}, 5),
        ({"@type": "Review", "datePublished": "2026-03-05"}, None),
        ({"@type": ["Product", "Thing"], "datePublished": "2026-03-05"}, None),
        ({"@type": "Article", "datePublished": {"@id": ["#a"]}}, None),
    ],
)
def test_dates_in_json_ld(value: object, day: int | None) -> None:
    """Those of what stands in or below an article are not its own; those of its media count where nothing else does."""
    found = read(f'<script type="application/ld+json">{json.dumps(value)}</script>').published
    assert found == (day and datetime(2026, 3, day))  # noqa: DTZ001


@pytest.mark.parametrize(
    "around", ["<![CDATA[{}]]>", "//<![CDATA[\n{}\n//]]>", "<!-- {} -->", "/*<![CDATA[*/{}/*]]>*/"]
)
def test_json_ld_may_be_wrapped(around: str) -> None:
    source = around.replace("{}", json.dumps({"@type": "Article", "datePublished": "2026-03-04"}))
    found = read(f'<script type="application/ld+json">{source}</script>').published
    assert found == datetime(2026, 3, 4)  # noqa: DTZ001


def test_the_url_is_the_last_resort_for_the_time() -> None:
    url = "http://example.cn/2026/03/04/x.html"
    assert read("", url=url).published == datetime(2026, 3, 4)  # noqa: DTZ001
    assert read("", "<i>时间：2026-03-05</i>" + BODY, url=url).published == datetime(2026, 3, 5)  # noqa: DTZ001


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-03-04 10:20:30", datetime(2026, 3, 4, 10, 20, 30)),  # noqa: DTZ001
        ("2026年3月4日10时20分", datetime(2026, 3, 4, 10, 20)),  # noqa: DTZ001
        ("20260304", datetime(2026, 3, 4)),  # noqa: DTZ001
        ("March 4, 2026", datetime(2026, 3, 4)),  # noqa: DTZ001
        ("4 Mar 2026", datetime(2026, 3, 4)),  # noqa: DTZ001
        ("Wed, 04 Mar 2026 10:20:00 GMT", datetime(2026, 3, 4, 10, 20, tzinfo=UTC)),
        (
            "2026-03-04T10:20:30.123-0500",
            datetime(2026, 3, 4, 10, 20, 30, tzinfo=timezone(-timedelta(hours=5))),
        ),
        ("Wed, 99 Foo 2026", None),
        ("2026-13-04", None),
        ("2026-02-30", None),
        ("1889-01-01", None),
        ("2026-03-04T10:20+99:99", None),
        ("", None),
    ],
)
def test_forms_of_a_moment(text: str, moment: datetime | None) -> None:
    assert parse_moment(text) == moment


def test_labels_and_url_forms() -> None:
    assert labelled_moment("发布日期: 2026.3.4") == datetime(2026, 3, 4)  # noqa: DTZ001
    assert labelled_moment("发布时间：刚刚") is None
    for url in (
        "/2026-03/04/c_1.htm",
        "/202603/04/1.htm",
        "/20260304/1.htm",
        "/t20260304_12.html",
        "/2026/3/4/x",
    ):
        assert url_moment("http://a.cn" + url) == datetime(2026, 3, 4), url  # noqa: DTZ001
    assert url_moment("http://a.cn/20261399/1.htm") is None


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("这是一个中文网页的正文，它讲的是很多年以前的事情，我们都记得。", "zh"),
        (
            "This is the text of a page and it has all of the words that are used in English by most people there.",
            "en",
        ),
        (
            "Das ist der Text einer Seite, und er hat viele Wörter, die man im Deutschen oft und gerne benutzt, nicht wahr.",
            "und",
        ),
        ("これは日本語の文章です。私たちはそれを読むことができます。漢字も少しあります。", "und"),
        ("太短", "und"),
        ("", "und"),
    ],
)
def test_language(text: str, language: str) -> None:
    assert language_of(text) == language
