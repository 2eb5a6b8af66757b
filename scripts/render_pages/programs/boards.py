"""Forum and question programs of PyPI, each asked for its pages by a driver in an environment of its own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from scripts.render_pages import gold, markup
from scripts.render_pages.composing import Shape
from scripts.render_pages.programs.driving import drive, payload
from scripts.render_pages.programs.program import Program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from scripts.render_pages.installing import Work
    from scripts.render_pages.model import Block, Page, Site

FORUM: Final = Shape(kind="thread", posts=120, blocks=frozenset({"code", "list", "ordered"}))


@dataclass(frozen=True, slots=True)
class Board:
    """How a program is filled and asked.

    Attributes:
        name: also that of its driver.
        packages: of PyPI.
        write: posts in its markup.
        attribution: what it shows above a quote.
        builders: packages that build its packages.
    """

    name: str
    packages: tuple[str, ...]
    write: Callable[[Sequence[Block]], str]
    attribution: Callable[[str], str] = gold.no_attribution
    builders: tuple[str, ...] = ()


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
    yield from drive(
        python, f"drive_{board.name}.py", folder, site, payload(site, board.write), board.attribution
    )


def _program(board: Board, licence: str, shape: Shape = FORUM) -> Program:
    return Program(board.name, licence, board.packages, {"default": licence}, shape, partial(_render, board))


POLLED: Final = Shape(kind="thread", posts=120, blocks=FORUM.blocks, polls=True)
QUESTIONS: Final = Shape(kind="thread", posts=30, blocks=FORUM.blocks, signatures=False, quotes=False)
PROGRAMS: Final = (
    _program(MACHINA, "BSD-3-Clause", POLLED),
    _program(SPIRIT, "MIT"),
    _program(ASKBOT, "GPL-3.0", QUESTIONS),
)
