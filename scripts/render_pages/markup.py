"""Blocks as source text of the markup languages that the programs read."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING, Final

from scripts.render_pages.model import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from scripts.render_pages.model import Block, Style, Text

MARKS: Final[dict[str, dict[Style, tuple[str, str]]]] = {
    "markdown": {"strong": ("**", "**"), "em": ("*", "*"), "code": ("`", "`")},
    "html": {"strong": ("<strong>", "</strong>"), "em": ("<em>", "</em>"), "code": ("<code>", "</code>")},
    "rst": {"strong": ("**", "**"), "em": ("*", "*"), "code": ("``", "``")},
    "bbcode": {"strong": ("[b]", "[/b]"), "em": ("[i]", "[/i]"), "code": ("", "")},
    "wiki": {"strong": ("'''", "'''"), "em": ("''", "''"), "code": ("<code>", "</code>")},
    "trac": {"strong": ("'''", "'''"), "em": ("''", "''"), "code": ("`", "`")},
    "doku": {"strong": ("**", "**"), "em": ("//", "//"), "code": ("''", "''")},
}
LINKS: Final = {
    "markdown": "[{text}]({url})",
    "html": '<a href="{url}">{text}</a>',
    "rst": "`{text} <{url}>`__",
    "bbcode": "[url={url}]{text}[/url]",
    "wiki": "[{url} {text}]",
    "trac": "[{url} {text}]",
    "doku": "[[{url}|{text}]]",
}
ADDRESS: Final = "https://www.example.org/read/"


def inline(runs: Text, language: str) -> str:
    """Runs in one of the languages of ``MARKS``."""
    marks = MARKS[language]
    parts = []
    for value, style in runs:
        shown = escape(value, quote=False) if language in {"html", "wiki"} else value
        if style == "link":
            shown = LINKS[language].format(text=shown, url=f"{ADDRESS}{len(value)}{ord(value[0])}")
        elif style and value.strip():
            before, after = marks[style]
            shown = f"{before}{shown}{after}"
        parts.append(shown)
    return "".join(parts)


def markdown(blocks: Iterable[Block], *, figures: bool = True) -> str:
    """Markdown with tables and fenced code; captions as HTML ``figure`` or as emphasised lines."""

    def image(block: Block) -> str:
        caption = plain(block.texts[0]) if block.texts else ""
        if figures and caption:
            return (
                f'<figure><img src="{block.source}" alt="">'
                f"<figcaption>{escape(caption, quote=False)}</figcaption></figure>"
            )
        return f"![]({block.source})" + (f"\n\n*{caption}*" if caption else "")

    def table(block: Block) -> str:
        rows = ["| " + " | ".join(inline(cell, "markdown") for cell in row) + " |" for row in block.rows()]
        return "\n".join([rows[0], "|" + " --- |" * block.width, *rows[1:]])

    forms: dict[str, Callable[[Block], str]] = {
        "paragraph": lambda block: inline(block.texts[0], "markdown"),
        "heading": lambda block: f"{'#' * block.level} {plain(block.texts[0])}",
        "list": lambda block: "\n".join(f"- {inline(item, 'markdown')}" for item in block.texts),
        "ordered": lambda block: "\n".join(
            f"{at}. {inline(item, 'markdown')}" for at, item in enumerate(block.texts, 1)
        ),
        "table": table,
        "code": lambda block: (
            f"```{block.source}\n" + "\n".join(plain(line) for line in block.texts) + "\n```"
        ),
        "quote": lambda block: "\n>\n".join(f"> {inline(item, 'markdown')}" for item in block.texts),
        "image": image,
    }
    return "\n\n".join(forms[block.kind](block) for block in blocks) + "\n"


def html(blocks: Iterable[Block]) -> str:
    """HTML as an editor in a content management system writes it."""

    def items(block: Block, tag: str) -> str:
        return (
            f"<{tag}>\n" + "".join(f"<li>{inline(item, 'html')}</li>\n" for item in block.texts) + f"</{tag}>"
        )

    def table(block: Block) -> str:
        head, *rows = block.rows()
        lines = ["".join(f"<th>{inline(cell, 'html')}</th>" for cell in head)]
        lines += ["".join(f"<td>{inline(cell, 'html')}</td>" for cell in row) for row in rows]
        return "<table><tbody>" + "".join(f"<tr>{line}</tr>\n" for line in lines) + "</tbody></table>"

    def image(block: Block) -> str:
        caption = inline(block.texts[0], "html") if block.texts else ""
        shown = f'<img src="{block.source}" alt="" />'
        return f"<figure>{shown}<figcaption>{caption}</figcaption></figure>" if caption else f"<p>{shown}</p>"

    forms: dict[str, Callable[[Block], str]] = {
        "paragraph": lambda block: f"<p>{inline(block.texts[0], 'html')}</p>",
        "heading": lambda block: f"<h{block.level}>{inline(block.texts[0], 'html')}</h{block.level}>",
        "list": lambda block: items(block, "ul"),
        "ordered": lambda block: items(block, "ol"),
        "table": table,
        "code": lambda block: (
            "<pre><code>"
            + "\n".join(escape(plain(line), quote=False) for line in block.texts)
            + "</code></pre>"
        ),
        "quote": lambda block: (
            "<blockquote>"
            + "".join(f"<p>{inline(item, 'html')}</p>" for item in block.texts)
            + "</blockquote>"
        ),
        "image": image,
    }
    return "\n".join(forms[block.kind](block) for block in blocks) + "\n"


def rst(blocks: Iterable[Block]) -> str:
    """reStructuredText; marks inside words are escaped as the language demands."""

    def marked(runs: Text) -> str:
        parts = []
        for value, style in runs:
            if style and value.strip():
                shown = inline(((value, style),), "rst")
                parts.append(f"\\ {shown}\\ ")
            else:
                parts.append(re.sub(r"([*`|_\\])", r"\\\1", value))
        return "".join(parts).strip()

    def heading(block: Block) -> str:
        line = "-~^"[min(block.level - 2, 2)] * (2 * len(plain(block.texts[0])) + 2)
        return f"{plain(block.texts[0])}\n{line}"

    def table(block: Block) -> str:
        lines = [".. list-table::", "   :header-rows: 1", ""]
        for row in block.rows():
            lines += [f"   {'* -' if at == 0 else '  -'} {marked(cell)}" for at, cell in enumerate(row)]
        return "\n".join(lines)

    def image(block: Block) -> str:
        caption = f"\n\n   {marked(block.texts[0])}" if block.texts else ""
        return f".. figure:: {block.source}{caption}"

    forms: dict[str, Callable[[Block], str]] = {
        "paragraph": lambda block: marked(block.texts[0]),
        "heading": heading,
        "list": lambda block: "\n".join(f"* {marked(item)}" for item in block.texts),
        "ordered": lambda block: "\n".join(f"#. {marked(item)}" for item in block.texts),
        "table": table,
        "code": lambda block: (
            f".. code-block:: {block.source}\n\n" + "\n".join("   " + plain(line) for line in block.texts)
        ),
        "quote": lambda block: "..\n\n" + "\n\n".join("   " + marked(item) for item in block.texts),
        "image": image,
    }
    return "\n\n".join(forms[block.kind](block) for block in blocks) + "\n"


def trac(blocks: Iterable[Block]) -> str:
    """TracWiki, of posts: paragraphs, lists, code and quotes with what the program puts above them."""

    def quote(block: Block) -> str:
        return f"Replying to {block.source}:\n" + "\n".join(f"> {plain(item)}" for item in block.texts)

    forms: dict[str, Callable[[Block], str]] = {
        "paragraph": lambda block: inline(block.texts[0], "trac"),
        "list": lambda block: "\n".join(f" * {inline(item, 'trac')}" for item in block.texts),
        "ordered": lambda block: "\n".join(f" 1. {inline(item, 'trac')}" for item in block.texts),
        "code": lambda block: "{{{\n" + "\n".join(plain(line) for line in block.texts) + "\n}}}",
        "quote": quote,
    }
    return "\n\n".join(forms[block.kind](block) for block in blocks) + "\n"
