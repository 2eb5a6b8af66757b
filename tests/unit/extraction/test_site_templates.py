"""Lines that stand on several pages of a site are learned and dropped; reprints and other sites are left alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_dedup.extraction.site_templates import SiteTemplates, clean_site
from es_dedup.model import Content, PageKind

NOTICE = "本报新闻，未经书面同意，不得使用。"


def page(number: int, *lines: str, site: str = "a.example", title: str | None = None) -> Content:
    return Content("\n".join(lines), title=title or f"第{number}篇", site=site)


def test_a_line_on_three_pages_is_dropped_from_all() -> None:
    found = clean_site(page(number, f"正文{number}。", NOTICE) for number in range(3))
    assert [content.text for content in found] == ["正文0。", "正文1。", "正文2。"]
    assert found[0].notes == ("1 lines stand on other pages of a.example too and were dropped",)


def test_two_pages_are_too_few() -> None:
    pages = [page(number, f"正文{number}。", NOTICE) for number in range(2)]
    assert clean_site(pages) == pages


def test_copies_under_one_title_are_no_template() -> None:
    pages = [page(number, "同一篇正文。", title="同一个标题") for number in range(5)]
    assert clean_site(pages) == pages


def test_sites_do_not_learn_from_each_other() -> None:
    pages = [page(number, NOTICE, site=f"{number}.example") for number in range(5)]
    assert clean_site(pages) == pages


def test_a_page_of_templates_alone_is_empty() -> None:
    found = clean_site(page(number, NOTICE) for number in range(3))
    assert {(content.text, content.kind) for content in found} == {("", PageKind.EMPTY)}


def test_learning_goes_on_page_by_page() -> None:
    templates = SiteTemplates()
    for number in range(3):
        assert not templates.is_template("a.example", NOTICE)
        templates.learn(page(number, NOTICE))
    assert templates.is_template("a.example", NOTICE)
    assert templates.clean(page(9, "新的正文。", NOTICE)).text == "新的正文。"


def test_memory_is_bounded_in_sites_and_lines() -> None:
    templates = SiteTemplates(max_sites=3, max_lines=10)
    for number in range(50):
        templates.learn(
            page(number, *(f"{number}/{line}" for line in range(20)), site=f"{number % 7}.example")
        )
    assert len(templates._sites) == 3
    assert all(len(lines) <= 10 for lines in templates._sites.values())


@pytest.mark.parametrize("wrong", [{"min_pages": 1}, {"max_sites": 0}, {"max_lines": 0}])
def test_senseless_limits_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="at least"):
        SiteTemplates(**wrong)


@given(st.lists(st.lists(st.sampled_from("abcdef"), max_size=6), max_size=8))
def test_what_is_dropped_is_what_a_plain_count_finds(pages: list[list[str]]) -> None:
    contents = [page(number, *lines) for number, lines in enumerate(pages)]
    for content, cleaned in zip(contents, clean_site(contents), strict=True):
        lines = content.text.split("\n")
        often = [
            line for line in lines if line and sum(line in other.text.split("\n") for other in contents) >= 3
        ]
        assert cleaned.text.split("\n") == ([line for line in lines if line not in often] or [""])
