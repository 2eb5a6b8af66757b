"""Programs of PyPI for forums, questions and tickets, each asked for its pages by a driver in an environment of its own."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from scripts.render_pages import gold, markup
from scripts.render_pages.composing import Shape
from scripts.render_pages.model import plain
from scripts.render_pages.programs import mail
from scripts.render_pages.programs.driving import drive, payload
from scripts.render_pages.programs.program import Program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from scripts.render_pages.installing import Work
    from scripts.render_pages.model import Block, Comment, Page, Site

FORUM: Final = Shape(kind="thread", posts=120, blocks=frozenset({"code", "list", "ordered"}))


@dataclass(frozen=True, slots=True)
class Board:
    """How a program is filled and asked.

    Attributes:
        name: also that of its driver.
        packages: of PyPI.
        write: posts in its markup.
        shows: gold text of the posts of one page.
        themes: their names.
        builders: packages that build its packages.
    """

    name: str
    packages: tuple[str, ...]
    write: Callable[[Sequence[Block]], str]
    shows: Callable[[Sequence[Comment]], str] = gold.thread_text
    builders: tuple[str, ...] = ()
    themes: tuple[str, ...] = ("default",)


def _markdown(blocks: Sequence[Block]) -> str:
    return markup.markdown(blocks, figures=False)


SPIRIT: Final = Board("spirit", ("django-spirit==0.14.3", "django==5.2.19"), _markdown)
ASKBOT: Final = Board(
    "askbot",
    ("askbot==0.12.3", "django==4.2.30"),
    _markdown,
    builders=("wheel==0.45.1", "setuptools==69.5.1"),
)
MACHINA: Final = Board("machina", ("django-machina==1.3.1", "django==4.2.30"), _markdown)


def _render(board: Board, site: Site, work: Work) -> Iterator[Page]:
    python = work.pip(board.name, board.packages, board.builders) / "python"
    folder = work.fresh(board.name, site.theme)
    given = payload(site, board.write, theme=site.theme)
    yield from drive(python, f"drive_{board.name}.py", folder, site, given, board.shows)


def _program(board: Board, licence: str, shape: Shape = FORUM) -> Program:
    return Program(
        board.name,
        licence,
        board.packages,
        dict.fromkeys(board.themes, licence),
        shape,
        partial(_render, board),
    )


def _replying(author: str) -> str:
    """What Trac puts above a quote."""
    return f"Replying to {author}:"


def typed(blocks: Sequence[Block]) -> str:
    """Plain text as in a form, with marked quotes."""
    parts = []
    for block in blocks:
        lines = [plain(item) for item in block.texts]
        if block.kind == "quote":
            lines = [mail.attribution(block.source), *(f"> {line}" for line in lines)]
        elif block.kind in {"list", "ordered"}:
            lines = [
                f"{'*' if block.kind == 'list' else f'{at}.'} {line}" for at, line in enumerate(lines, 1)
            ]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def typed_thread(posts: Sequence[Comment]) -> str:
    """Gold text of posts in plain text."""
    return "\n".join(re.sub(r"\n+", "\n", typed(post.blocks)) for post in posts)


TRAC: Final = Board(
    "trac",
    ("Trac==1.6", "babel==2.9.1", "setuptools==69.5.1"),
    markup.trac,
    partial(gold.thread_text, attribution=_replying),
)
ROUNDUP: Final = Board(
    "roundup",
    ("roundup==2.6.0", "jinja2==3.1.6"),
    typed,
    typed_thread,
    themes=("classic", "devel", "jinja2", "responsive"),
)
TICKETS: Final = Shape(kind="thread", posts=60, blocks=FORUM.blocks, signatures=False)
TYPED: Final = Shape(kind="thread", posts=60, blocks=FORUM.blocks, signatures=False, inline=False)
POLLED: Final = Shape(kind="thread", posts=120, blocks=FORUM.blocks, polls=True)
QUESTIONS: Final = Shape(kind="thread", posts=30, blocks=FORUM.blocks, signatures=False, quotes=False)
PROGRAMS: Final = (
    _program(MACHINA, "BSD-3-Clause", POLLED),
    _program(SPIRIT, "MIT"),
    _program(ASKBOT, "GPL-3.0", QUESTIONS),
    _program(TRAC, "BSD-3-Clause", TICKETS),
    _program(ROUNDUP, "MIT", TYPED),
)
