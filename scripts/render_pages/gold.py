"""Gold main text of a thread, and the check that a rendered page shows it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from lxml import html

from scripts.render_pages.model import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lxml import etree

    from scripts.render_pages.model import Block, Post

GRAM: Final = 5
LEAST_SHARE: Final = 0.97
LEAST_LINES: Final = 0.9
LONG_LINE: Final = 20
HIDDEN: Final = ("script", "style", "template", "noscript", "head", "textarea", "select", "svg")
EQUAL: Final = str.maketrans(
    {**dict.fromkeys("“”„«»", '"'), **dict.fromkeys("‘’", "'"), **dict.fromkeys("–—‑", "-"), "…": "..."}
)
"""Characters that programs put in place of others for typography."""
UNSEEN: Final = re.compile(r"[\s\u00ad\u200b-\u200f\u2060\ufeff]+")


def block_lines(block: Block, attribution: str = "") -> list[str]:
    """The lines of one block: items of a list, lines of code, else one; before a quote what the program prints above it.

    Args:
        block: the block.
        attribution: with ``{}`` for the author of a quote; nothing if the program names none.
    """
    lines = [plain(item) for item in block.texts]
    if block.kind == "quote" and block.source and attribution:
        lines.insert(0, attribution.format(block.source))
    return lines


def thread_text(posts: Iterable[Post], attribution: str = "") -> str:
    """Gold of a page: the bodies of its posts in page order, without names, dates and signatures."""
    lines = (line for post in posts for block in post.blocks for line in block_lines(block, attribution))
    return "\n".join(line for line in lines if line.strip())


def visible_text(page: bytes) -> str:
    """The characters of a UTF-8 page outside scripts, styles, form fields and comments."""
    if not page.strip():
        return ""
    root = html.document_fromstring(
        page.decode("utf8"), parser=html.HTMLParser(encoding=None, huge_tree=True)
    )
    return "".join(_texts(root))


def _texts(element: etree._Element) -> Iterator[str]:
    """The texts of an element and its descendants, in page order."""
    tag = str(element.tag)
    if tag not in HIDDEN and not tag.startswith("<"):  # comments have a function in place of a tag
        yield element.text or ""
        for child in element:
            yield from _texts(child)
            yield child.tail or ""


def normal(value: str) -> str:
    """Without white space and invisible characters, with plain quotes and dashes."""
    return UNSEEN.sub("", value).translate(EQUAL)


def shown_share(gold: str, page: bytes) -> tuple[float, float]:
    """Shares of the gold text that the page shows.

    Returns:
        The share of the character 5-grams of its lines (from 0 to 1; a shorter line is one gram), and the share of its lines of at
        least 20 characters that stand on the page unbroken.
    """
    visible = normal(visible_text(page))
    lines = [line for line in map(normal, re.split(r"[\n\t]", gold)) if line]
    grams = [line[at : at + GRAM] for line in lines for at in range(max(1, len(line) - GRAM + 1))]
    visible_grams = {visible[at : at + GRAM] for at in range(max(1, len(visible) - GRAM + 1))}
    share = sum(gram in visible_grams or gram in visible for gram in grams) / max(1, len(grams))
    long = [line for line in lines if len(line) >= LONG_LINE]
    whole = sum(line in visible for line in long) / len(long) if long else 1.0
    return share, whole


def exact(gold: str, page: bytes) -> bool:
    """Whether a page shows enough of its gold text to be kept."""
    if not gold.strip():
        return False
    share, whole = shown_share(gold, page)
    return share >= LEAST_SHARE and whole >= LEAST_LINES
