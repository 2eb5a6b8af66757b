"""When a page was published, where it does not say so for machines; and what is no such time."""

import re
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_dedup.extraction import extract
from es_dedup.extraction.metadata import date_parsing
from es_dedup.extraction.metadata.date_parsing import has_cue, parse_moment

BODY = "<p>The ferry runs again, the council said on Monday, and nobody was surprised by it.</p>"
DAY = datetime(2026, 3, 4)  # noqa: DTZ001 - the pages name no zone


def published(body: str, head: str = "", url: str | None = None, lang: str = "de") -> datetime | None:
    html = f"<html lang={lang}><head><title>The ferry</title>{head}</head><body>{body}{BODY}</body></html>"
    return extract(html, url=url).published


@pytest.mark.parametrize(
    ("text", "month_first", "moment"),
    [
        ("4. März 2026", False, DAY),
        ("4 mars 2026", False, DAY),
        ("4 de marzo de 2026", False, DAY),
        ("March 4th, 2026", False, DAY),
        ("4th of March 2026", False, DAY),
        ("04.03.2026", True, DAY),
        ("04.03.2026, 10:20", False, DAY.replace(hour=10, minute=20)),
        ("04/03/2026", False, DAY),
        ("03/04/2026", True, DAY),
        ("03/14/2026", False, DAY.replace(day=14)),
        ("04-03-2026", False, DAY),
        ("4.3.26", False, DAY),
        ("mercredi 4 mars 2026 - 10h", False, DAY),
        ("Wed, 4 March 2026", False, DAY),
        ("version 1.2.2026.4", False, None),
        ("4 Maple 2026", False, None),
        ("32.13.2026", False, None),
        ("192.168.20.26", False, None),
    ],
)
def test_forms_of_a_day(text: str, month_first: bool, moment: datetime | None) -> None:
    assert parse_moment(text, month_first=month_first) == moment


@pytest.mark.parametrize(
    "body",
    [
        "<h1>The ferry</h1><p>04.03.2026</p>",
        "<div>04.03.2026</div><h1>The ferry</h1>",
        "<h1>The ferry</h1><p>on March 4, 2026 at 10 AM, updated March 9, 2026</p>",
        "<p>x</p><span class=post-date>4. März 2026</span>",
        "<p>x</p><p class=pubTime>2026-03-04</p>",
        '<time class="updated" datetime="2026-03-09">x</time><time datetime="2026-03-04">y</time>',
        '<div itemprop="datePublished dateCreated" content="2026-03-04"></div>',
    ],
)
def test_days_that_people_read(body: str) -> None:
    found = published(body)
    assert found is not None
    assert found.date() == DAY.date()


@pytest.mark.parametrize(
    "body",
    [
        "<h1>The ferry</h1><p>Last updated: March 4, 2026</p>",
        "<h1>The ferry</h1><p>更新 2026-03-04</p>",
        "<p>x</p><span class=event-date>4. März 2026</span>",
        "<p>x</p><span class=comment-date>4. März 2026</span>",
        "<p>© 2026</p>",
        "<h2>Another</h2><p>04.03.2026</p>",
    ],
)
def test_days_that_are_something_else(body: str) -> None:
    assert published(body) is None


def test_the_language_says_which_number_is_the_month() -> None:
    body = "<h1>The ferry</h1><p>03/04/2026</p>"
    assert published(body, lang="en-US") == DAY
    assert published(body, lang="en-GB") == datetime(2026, 4, 3)  # noqa: DTZ001


def test_what_is_declared_comes_first() -> None:
    body = "<h1>The ferry</h1><p>9 March 2026</p>"
    assert published(body, '<meta name="parsely-pub-date" content="2026-03-04">') == DAY
    assert published(body, '<meta name="DC.date.issued" content="2026-03-04">') == DAY
    assert published(body, url="https://a.example/2026/03/04/x.html") == DAY


def test_a_time_beside_the_heading_counts_more_than_one_elsewhere() -> None:
    other = "<li><time datetime=2025-01-01>x</time></li>"
    teaser = f"<ul>{other}{'<li><a href=/x>Another</a></li>' * 60}</ul>"
    body = f"{teaser}<h1>The ferry</h1><time datetime=2026-03-04>x</time>"
    assert published(body) == DAY
    assert published(f"{teaser}<h1>The ferry</h1><p>4 March 2026</p>") == DAY
    assert published(f"{teaser}<h1>The ferry</h1>") is None


def test_a_bold_line_is_the_heading_of_a_page_without_one() -> None:
    bold = "<table><tr><td><b>The ferry</b><br><i>2026-03-04</i><br><br>It ran aground.</td></tr></table>"
    assert published(bold) == DAY
    assert published(f"<a href=x>The ferry</a><br><a href=y>The harbour, 9 March 2025</a>{bold}") == DAY
    assert (
        published(f"<p>The ferry</p><p>9 March 2025</p>{'<p>x</p>' * 9}<h1>The ferry</h1><p>2026-03-04</p>")
        == DAY
    )


FORMS = (
    date_parsing._MOMENT,
    date_parsing._COMPACT,
    date_parsing._NAMED_DAY,
    date_parsing._NUMBERED_DAY,
    date_parsing._SHORT_YEAR,
)


@given(
    st.one_of(
        st.just("Mon, 2 Mar 26 10:20 GMT"),
        *(st.from_regex(re.compile(each.pattern, each.flags)) for each in FORMS),
    )
)
def test_whatever_has_a_moment_has_a_cue(text: str) -> None:
    assert has_cue(text.strip())
