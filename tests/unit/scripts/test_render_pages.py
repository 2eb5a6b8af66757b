"""``scripts/render_pages``: gold texts, sources in the markup languages, and the check of a rendered page; no program runs."""

from pathlib import Path
from random import Random

import pytest

from scripts.render_pages import composing, gold, markup
from scripts.render_pages.corpus import Corpus
from scripts.render_pages.model import Block, Text, plain, text
from scripts.render_pages.programs import PROGRAMS, table

RUNS: Text = (("She ", ""), ("said", "strong"), (" so.", ""))
BLOCKS = (
    Block("paragraph", (RUNS,)),
    Block("list", (text("one"), text("two"))),
    Block("quote", (text("Quoted words."),), source="Ann"),
    Block("code", (text("if a < b:"), text("    pass")), source="python"),
)
GOLD = "She said so.\none\ntwo\nQuoted words.\nif a < b:\n    pass"
CORPUS = Corpus(
    "zh",
    tuple(tuple(f"第{row}篇的第{at}段，写了一些关于天气和交通的话。" for at in range(5)) for row in range(9)),
    ("天气很好", "交通顺畅"),
    tuple(f"短语{chr(0x4E00 + at)}" for at in range(80)),
    tuple(f"这是第{at}个回复的文字。" for at in range(40)),
)


def test_a_page_that_shows_all_blocks_shows_the_gold_text() -> None:
    page = f"<html><head><title>x</title></head><body><nav>Home</nav>{markup.html(BLOCKS)}</body></html>".encode()
    assert "\n".join(line for block in BLOCKS for line in gold.block_lines(block)) == GOLD
    assert gold.block_lines(BLOCKS[2], markup.MAIL_ATTRIBUTION) == ["Ann wrote:", "Quoted words."]
    assert gold.shown_share(GOLD, page) == (1.0, 1.0)
    assert gold.exact(GOLD, page)


def test_a_page_without_a_paragraph_is_not_exact() -> None:
    lines = [f"Sentence number {number} tells something else entirely." for number in range(10)]
    page = "<body>" + "".join(f"<p>{line}</p>" for line in lines[:8]) + f"<script>{lines[8:]}</script></body>"
    assert gold.exact("\n".join(lines[:8]), page.encode())
    assert not gold.exact("\n".join(lines), page.encode())
    assert not gold.exact("\n".join(lines), b"")


def test_typography_of_a_program_does_not_count() -> None:
    page = "<body><p>\u201cIt\u2019s fine\u201d \u2013 she said\u2026</p></body>".encode()
    assert gold.exact('"It\'s fine" - she said...', page)


@pytest.mark.parametrize(
    ("write", "source"),
    [
        (
            markup.markdown,
            "She **said** so.\n\n- one\n- two\n\n> Quoted words.\n\n```python\nif a < b:\n    pass\n```\n",
        ),
        (
            markup.trac,
            "She '''said''' so.\n\n * one\n * two\n\nReplying to Ann:\n> Quoted words.\n\n{{{\nif a < b:\n    pass\n}}}\n",
        ),
        (markup.typed, "She said so.\n\n* one\n* two\n\nAnn wrote:\n> Quoted words.\n\nif a < b:\n    pass"),
    ],
)
def test_each_markup_language_carries_each_block(write: object, source: str) -> None:
    assert callable(write)
    assert write(BLOCKS) == source


def test_a_seed_names_a_site() -> None:
    def site_of(seed: int) -> object:
        return composing.site("program", "theme", CORPUS, composing.Shape(posts=50), Random(seed), 8)

    site = composing.site("program", "theme", CORPUS, composing.Shape(posts=50), Random(1), 8)
    assert site_of(1) == site != site_of(2)
    assert len({thread.slug for thread in site.threads}) == 8
    assert all(1 <= len(thread.posts) <= 50 for thread in site.threads)


def test_styled_runs_keep_the_text() -> None:
    composer = composing.Composer(CORPUS, Random(3), composing.Shape(posts=5))
    value = CORPUS.texts[0][0] + CORPUS.texts[1][1]
    styled = [composer.runs(value) for _ in range(200)]
    assert all(plain(runs) == value for runs in styled)
    assert {style for runs in styled for _part, style in runs} >= {"", "strong", "link"}


def test_each_program_is_pinned_licensed_and_in_the_readme() -> None:
    for program in PROGRAMS.values():
        assert program.themes
        assert all(program.themes.values())
        assert program.licence
        assert all("=" in name or "@" in name for name in program.packages), program.name
    readme = Path(__file__).resolve().parents[3] / "scripts" / "render_pages" / "README.md"
    assert table() in readme.read_text(encoding="utf8")
