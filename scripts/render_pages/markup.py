"""Blocks as source text of the markup languages that the programs read."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING, Final

from scripts.render_pages.model import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from scripts.render_pages.model import Block, Kind, Post, Style, Text

MARKS: Final[dict[str, dict[Style, tuple[str, str]]]] = {
    "markdown": {"strong": ("**", "**"), "em": ("*", "*"), "code": ("`", "`")},
    "html": {"strong": ("<strong>", "</strong>"), "em": ("<em>", "</em>"), "code": ("<code>", "</code>")},
    "trac": {"strong": ("'''", "'''"), "em": ("''", "''"), "code": ("`", "`")},
}
LINKS: Final = {"markdown": "[{text}]({url})", "html": '<a href="{url}">{text}</a>', "trac": "[{url} {text}]"}
ADDRESS: Final = "https://www.example.org/read/"
TRAC_ATTRIBUTION: Final = "Replying to {}:"
MAIL_ATTRIBUTION: Final = "{} wrote:"


def inline(runs: Text, language: str) -> str:
    """Runs in one of the languages of ``MARKS``."""
    marks = MARKS[language]
    parts = []
    for value, style in runs:
        shown = escape(value, quote=False) if language == "html" else value
        if style == "link":
            shown = LINKS[language].format(text=shown, url=f"{ADDRESS}{len(value)}{ord(value[0])}")
        elif style and value.strip():
            before, after = marks[style]
            shown = f"{before}{shown}{after}"
        parts.append(shown)
    return "".join(parts)


def _written(
    blocks: Iterable[Block], forms: Mapping[Kind, Callable[[Block], str]], separator: str = "\n\n"
) -> str:
    return separator.join(forms[block.kind](block) for block in blocks) + "\n"


def _items(block: Block, language: str, bullet: str, number: str) -> str:
    marks = (bullet if block.kind == "list" else number.format(at) for at in range(1, len(block.texts) + 1))
    return "\n".join(f"{mark}{inline(item, language)}" for mark, item in zip(marks, block.texts, strict=True))


def _lines(block: Block) -> str:
    return "\n".join(plain(line) for line in block.texts)


def markdown(blocks: Iterable[Block]) -> str:
    """Markdown with fenced code."""

    def items(block: Block) -> str:
        return _items(block, "markdown", "- ", "{}. ")

    return _written(
        blocks,
        {
            "paragraph": lambda block: inline(block.texts[0], "markdown"),
            "list": items,
            "ordered": items,
            "code": lambda block: f"```{block.source}\n{_lines(block)}\n```",
            "quote": lambda block: "\n>\n".join(f"> {inline(item, 'markdown')}" for item in block.texts),
        },
    )


def html(blocks: Iterable[Block]) -> str:
    """HTML as an editor in a content management system writes it."""

    def items(block: Block) -> str:
        tag = "ul" if block.kind == "list" else "ol"
        rows = "".join(f"<li>{inline(item, 'html')}</li>\n" for item in block.texts)
        return f"<{tag}>\n{rows}</{tag}>"

    def quote(block: Block) -> str:
        lines = "".join(f"<p>{inline(item, 'html')}</p>" for item in block.texts)
        return f"<blockquote>{lines}</blockquote>"

    return _written(
        blocks,
        {
            "paragraph": lambda block: f"<p>{inline(block.texts[0], 'html')}</p>",
            "list": items,
            "ordered": items,
            "code": lambda block: f"<pre><code>{escape(_lines(block), quote=False)}</code></pre>",
            "quote": quote,
        },
        separator="\n",
    )


def trac(blocks: Iterable[Block]) -> str:
    """TracWiki, with what the program puts above quotes."""

    def items(block: Block) -> str:
        return _items(block, "trac", " * ", " 1. ")

    def quote(block: Block) -> str:
        lines = "\n".join(f"> {plain(item)}" for item in block.texts)
        return f"{TRAC_ATTRIBUTION.format(block.source)}\n{lines}"

    return _written(
        blocks,
        {
            "paragraph": lambda block: inline(block.texts[0], "trac"),
            "list": items,
            "ordered": items,
            "code": lambda block: f"{{{{{{\n{_lines(block)}\n}}}}}}",
            "quote": quote,
        },
    )


def typed(blocks: Iterable[Block]) -> str:
    """Plain text as in a form, with marked quotes."""
    parts = []
    for block in blocks:
        lines = [plain(item) for item in block.texts]
        if block.kind == "quote":
            lines = [MAIL_ATTRIBUTION.format(block.source), *(f"> {line}" for line in lines)]
        elif block.kind in {"list", "ordered"}:
            lines = [
                f"{'*' if block.kind == 'list' else f'{at}.'} {line}" for at, line in enumerate(lines, 1)
            ]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def typed_thread(posts: Sequence[Post]) -> str:
    """Gold text of posts in plain text."""
    return "\n".join(re.sub(r"\n+", "\n", typed(post.blocks)) for post in posts)
