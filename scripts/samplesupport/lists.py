"""What surrounds a story: links to other pages, and comments."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from scripts.samplesupport.conversion import to_site_script
from scripts.samplesupport.tables import read_lines

if TYPE_CHECKING:
    from scripts.samplesupport.pages import Page


def number(text: str) -> int:
    """A stable number for a text."""
    return zlib.crc32(text.encode("utf-8"))


def pick(items: list[str], count: int, seed: str) -> list[str]:
    """A stable choice of some items."""
    return sorted(items, key=lambda item: number(seed + item))[:count]


def pool(kind: str, page: Page) -> list[str]:
    """Headlines or comments in the language and script of the site."""
    lang = "en" if page.site.lang == "en" else "zh"
    return [to_site_script(line, page) for line in read_lines(f"pool-{kind}-{lang}.txt")]


def link(text: str, extra: str = "") -> str:
    """A list item with a link."""
    return f'<li><a href="/a/{number(text) % 10**7}.html">{text}</a>{extra}</li>'


def render_list(name: str, args: list[str], page: Page) -> str:
    """The HTML of a ``{{related:8}}``, ``{{hot:10}}``, ``{{comments:2}}`` or ``{{dated:1:10}}`` mark."""
    if name == "comments":
        rows = [row.split("|") for row in pick(pool("comments", page), int(args[0]), page.ident)]
        return "\n".join(f'<div class="cmt"><b>{who}</b><p>{what}</p></div>' for who, what in rows)
    heads = pool("headlines", page)
    if name == "dated":
        chosen = pick(heads, 20, page.site.name)[int(args[0]) - 1 : int(args[1])]
        return "\n".join(link(head, f"<span>{page.date}</span>") for head in chosen)
    seed = page.site.name if name == "hot" else page.ident
    return "\n".join(link(head) for head in pick(heads, int(args[0]), seed))
