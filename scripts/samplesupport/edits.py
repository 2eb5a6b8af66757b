"""The changes that the page table lists, by name."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from scripts.samplesupport.conversion import converter
from scripts.samplesupport.stories import Para, load_extra
from scripts.samplesupport.wording import recut, replace_words

if TYPE_CHECKING:
    from collections.abc import Callable

    from scripts.samplesupport.pages import Page

HALF_WIDTH = str.maketrans("，；：！？（）", ",;:!?()")
CORNER = str.maketrans("“”‘’", "「」『』")
STRAIGHT = str.maketrans("“”‘’", "\"\"''")


def map_text(page: Page, change: Callable[[str], str]) -> None:
    """Apply a function to every paragraph and to the title."""
    page.paras = [replace(p, text=change(p.text)) for p in page.paras]
    page.title = change(page.title)


def op_punct(page: Page, how: str) -> None:
    """Change the form of the punctuation marks."""
    table = {"half": HALF_WIDTH, "corner": CORNER, "straight": STRAIGHT}[how]
    map_text(page, lambda text: text.translate(table))


def op_insert(page: Page, rest: str) -> None:
    """Insert a block after the paragraph with the given number."""
    number, name = rest.split()
    block = load_extra("blocks")[name].paras
    page.paras[int(number) : int(number)] = [Para("p", p.text) for p in block]


def op_dateline(page: Page, rest: str) -> None:
    """Put a dateline before the first paragraph."""
    glue = " " if page.story.lang == "en" else "　"
    page.paras[0] = Para("p", rest + glue + page.paras[0].text)


def op_head(page: Page, rest: str) -> None:
    """Keep the first part of the text (a share such as ``0.35``) and break off in mid-sentence."""
    left = int(sum(len(p.text) for p in page.paras) * float(rest))
    kept: list[Para] = []
    for para in page.paras:
        if left > 0:
            kept.append(replace(para, text=para.text[:left].rstrip()))
        left -= len(para.text)
    dots = "…" if page.story.lang == "en" else "……"
    page.paras = [*kept[:-1], replace(kept[-1], text=kept[-1].text + dots)]


def op_charset(page: Page, rest: str) -> None:
    """Set the real and the declared character set (``gbk``, ``gbk/none``, ``utf-8/gb2312``)."""
    page.charset, _, declared = rest.partition("/")
    page.declared = declared or page.charset


def apply_op(page: Page, op: str) -> None:
    """Apply one change of the page table."""
    name, _, rest = op.partition(" ")
    lang = page.story.lang
    if name == "keep":
        page.paras = [page.paras[int(n) - 1] for n in rest.split(",")]
    elif name == "closing":
        page.paras.append(Para("c", rest))
    elif name == "recut":
        page.paras = recut(page.paras, rest, lang)
    elif name == "synonyms":
        page.paras = [replace(p, text=replace_words(p.text, lang)) for p in page.paras]
    elif name == "opencc":
        map_text(page, converter(rest).convert)
    elif name == "date":
        page.date = rest
    elif name == "shell":
        page.shell = rest
    elif name == "bom":
        page.bom = True
    else:
        {
            "punct": op_punct,
            "insert": op_insert,
            "dateline": op_dateline,
            "charset": op_charset,
            "head": op_head,
        }[name](page, rest)
