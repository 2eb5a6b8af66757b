"""Pages of kinds that sites differ in, written for this project: their main text is marked in them and must be found.

In ``tests/golden/pages`` the first line of a page is its address, and the main text stands in double brackets, which are taken out
before the page is read. Of a page that is drawn by a script the text stands in a file beside it. Agreement is that of
``benchmarks/bench_extract.py``: character 5-grams without white space, as multisets.
"""

import re
from html import unescape
from pathlib import Path

import pytest

from es_dedup.extraction import extract
from es_dedup.model import Content, PageKind
from experiments.extractors import agreement

PAGES = Path(__file__).parents[2] / "golden" / "pages"
NAMES = sorted(path.stem for path in PAGES.glob("*.html"))
MARKED = re.compile(r"\[\[(.*?)\]\]", re.DOTALL)
TAGS = re.compile(r"<[^>]*>")
FLOOR = 0.84
"""Of the mean F1; .859 of 2026-11-22. The model has not seen these pages: each is of a kind of its own."""

MOST_MISSED = 2
MISSED = 0.4
KINDS_RIGHT = 0.9
THREADS = {"mail_en", "reddit_en", "short_post_en", "tree_en", "v2_zh", "vanilla_en"} | {
    name
    for name in NAMES
    if name.startswith(("answers", "forum", "fragen", "group", "nameless", "noscript", "phpbb", "tieba"))
}


def read(name: str) -> tuple[str, str, str]:
    """Address, markup and main text of a page."""
    written = (PAGES / f"{name}.html").read_text(encoding="utf-8")
    head, _, markup = written.partition("\n")
    address = head.removeprefix("<!-- ").removesuffix(" -->")
    beside = PAGES / f"{name}.txt"
    marked = " ".join(unescape(TAGS.sub("", text)) for text in MARKED.findall(markup))
    text = beside.read_text(encoding="utf-8") if beside.is_file() else marked
    return address, MARKED.sub(r"\1", markup), text


@pytest.fixture(scope="module")
def found() -> dict[str, Content]:
    """What each page is read as."""
    return {name: extract(read(name)[1].encode(), url=read(name)[0]) for name in NAMES}


def test_the_marked_texts_are_found(found: dict[str, Content]) -> None:
    scores = {name: agreement(read(name)[2], content.text) for name, content in found.items()}
    lower = sorted((round(score, 2), name) for name, score in scores.items())[:10]
    assert sum(scores.values()) / len(scores) >= FLOOR, lower
    assert sum(score < MISSED for score in scores.values()) <= MOST_MISSED, lower


def test_threads_and_articles_are_told_apart(found: dict[str, Content]) -> None:
    either = {"microblog_zh", "toots_en", "ticker_en"}  # a post with replies, a report by the hour
    right = {
        name: (content.kind is PageKind.THREAD) == (name in THREADS)
        for name, content in found.items()
        if name not in either
    }
    wrong = [name for name, is_right in right.items() if not is_right]
    assert 1 - len(wrong) / len(right) >= KINDS_RIGHT, wrong


def test_an_empty_answer_does_not_agree() -> None:
    assert agreement(read("poem_zh")[2], "") == 0
