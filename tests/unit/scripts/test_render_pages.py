"""``scripts/render_pages``: gold texts, sources in the markup languages, and the check of a rendered page; no program runs."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from random import Random

from scripts.render_pages import composing, gold, listing, markup
from scripts.render_pages.corpus import Corpus
from scripts.render_pages.model import Block, Comment, Site, Text, plain, text
from scripts.render_pages.programs import boards, mail
from scripts.render_pages.programs.registry import PROGRAMS

RUNS: Text = (("She ", ""), ("said", "strong"), (" so.", ""))
BLOCKS = (
    Block("heading", (text("Results"),), level=2),
    Block("paragraph", (RUNS,)),
    Block("list", (text("one"), text("two"))),
    Block("table", tuple(map(text, ("a", "b", "1", "2"))), width=2),
    Block("quote", (text("Quoted words."),), source="Ann"),
    Block("code", (text("if a < b:"), text("    pass")), source="python"),
    Block("image", (text("A caption"),), source="https://img.example.org/1.jpg"),
)
GOLD = "Results\nShe said so.\none\ntwo\na\tb\n1\t2\nQuoted words.\nif a < b:\n    pass\nA caption"
CORPUS = Corpus(
    "zh",
    tuple(tuple(f"第{row}篇的第{at}段，写了一些关于天气和交通的话。" for at in range(5)) for row in range(9)),
    ("天气很好", "交通顺畅"),
    tuple(f"短语{chr(0x4E00 + at)}" for at in range(80)),
    tuple(f"这是第{at}个回复的文字。" for at in range(40)),
)


def test_gold_text_has_a_line_for_each_block_item_and_row() -> None:
    assert gold.blocks_text(BLOCKS) == GOLD
    assert gold.blocks_text(BLOCKS[4:5], mail.attribution) == "Ann wrote:\nQuoted words."


def test_a_page_of_the_blocks_shows_all_of_the_gold_text() -> None:
    page = f"<html><head><title>x</title></head><body><nav>Home</nav>{markup.html(BLOCKS)}</body></html>".encode()
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


def test_markdown_and_rst_carry_each_block() -> None:
    shown = markup.markdown(BLOCKS)
    assert "## Results\n\nShe **said** so.\n\n- one\n- two\n\n| a | b |\n| --- | --- |\n| 1 | 2 |" in shown
    assert "```python\nif a < b:\n    pass\n```" in shown
    assert "<figcaption>A caption</figcaption>" in shown
    assert "*A caption*" in markup.markdown(BLOCKS, figures=False)
    assert "She \\ **said**\\  so." in markup.rst(BLOCKS)


def test_tracwiki_and_typed_text_carry_each_block() -> None:
    blocks = [block for block in BLOCKS if block.kind in {"paragraph", "list", "quote", "code"}]
    assert markup.trac(blocks) == (
        "She '''said''' so.\n\n * one\n * two\n\nReplying to Ann:\n> Quoted words.\n\n{{{\nif a < b:\n    pass\n}}}\n"
    )
    typed = boards.typed(blocks)
    assert typed.startswith("She said so.\n\n* one\n* two\n\n")
    assert typed.endswith("> Quoted words.\n\nif a < b:\n    pass")
    assert "Ann" in typed


def test_a_mail_quotes_and_signs() -> None:
    answered = Comment("Ann", datetime(2020, 1, 1, tzinfo=UTC), BLOCKS[4:5], "Bye")
    assert mail.body(answered, "en") == "Ann wrote:\n> Quoted words.\n\n-- \nBye\n"


def test_the_same_seed_gives_the_same_site() -> None:
    def made(seed: int) -> Site:
        shape = composing.Shape(kind="thread", posts=50)
        return composing.site("program", "theme", CORPUS, shape, Random(seed), 8)

    assert made(1) == made(1)
    assert made(1).documents != made(2).documents
    assert len({document.slug for document in made(1).documents}) == 8
    assert all(1 <= len(document.posts) <= 50 for document in made(1).documents)


def test_styled_runs_keep_the_text() -> None:
    composer = composing.Composer(CORPUS, Random(3), composing.Shape())
    value = CORPUS.texts[0][0] + CORPUS.texts[1][1]
    shown = [composer.runs(value) for _ in range(200)]
    assert all(plain(runs) == value for runs in shown)
    assert {style for runs in shown for _part, style in runs} >= {"", "strong", "link"}


def test_each_program_is_pinned_and_licensed() -> None:
    for program in PROGRAMS.values():
        assert program.themes
        assert all(program.themes.values())
        assert program.licence
        assert all("=" in name or "@" in name for name in program.packages), program.name


def test_the_readme_lists_the_programs() -> None:
    readme = Path(__file__).resolve().parents[3] / "scripts" / "render_pages" / "README.md"
    assert listing.table() in readme.read_text(encoding="utf8")
