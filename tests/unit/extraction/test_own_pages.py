"""Pages of kinds that sites differ in, written for this project: their main text is marked in them and must be found.

In ``tests/golden/pages`` the first line of a page is its address, and the main text stands in double brackets, which are taken out
before the page is read. Of a page that is drawn by a script the text stands in a file beside it. Agreement is that of
``benchmarks/bench_extract.py``: character 5-grams without white space, as multisets.
"""

from __future__ import annotations

import re
from collections import Counter
from html import unescape
from pathlib import Path

import pytest

from es_dedup.extraction import extract
from es_dedup.model import PageKind

PAGES = Path(__file__).parents[2] / "golden" / "pages"
NAMES = sorted(path.stem for path in PAGES.glob("*.html"))
MARKED = re.compile(r"\[\[(.*?)\]\]", re.DOTALL)
TAGS = re.compile(r"<[^>]*>")
GRAM = 5
FLOOR = 0.95
KNOWN_WORSE = {
    "product_zh": 0.85,  # the table of specifications below the text is lost
    "wiki_en": 0.8,  # the box of facts is lost; "[edit]" and references are kept
    "sections_en": 0.94,  # the line below the title, in a part of its own, is lost
}
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


def agreement(wanted: str, got: str) -> float:
    """F1 of two texts' 5-grams."""
    left, right = grams(wanted), grams(got)
    return 2 * (left & right).total() / (left.total() + right.total())


def grams(text: str) -> Counter[str]:
    text = "".join(text.split())
    return Counter(text[start : start + GRAM] for start in range(max(1, len(text) - GRAM + 1)))


@pytest.mark.parametrize("name", NAMES)
def test_the_marked_text_is_found(name: str) -> None:
    address, markup, text = read(name)
    found = extract(markup.encode(), url=address)
    assert agreement(text, found.text) >= KNOWN_WORSE.get(name, FLOOR), found.text


@pytest.mark.parametrize("name", NAMES)
def test_threads_and_articles_are_told_apart(name: str) -> None:
    address, markup, _ = read(name)
    if name in ("microblog_zh", "toots_en", "ticker_en"):
        pytest.skip("a post with replies, a report by the hour: either will do")
    assert (extract(markup.encode(), url=address).kind is PageKind.THREAD) == (name in THREADS)


def test_an_empty_answer_does_not_agree() -> None:
    assert agreement(read("poem_zh")[2], "") == 0
