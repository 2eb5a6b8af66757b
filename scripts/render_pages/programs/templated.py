"""Forums and image boards of PyPI whose thread templates a driver fills; they need old versions of Django or databases of their own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from scripts.render_pages import gold, markup
from scripts.render_pages.composing import Shape
from scripts.render_pages.programs import boards
from scripts.render_pages.programs.driving import drive, payload
from scripts.render_pages.programs.program import Program

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scripts.render_pages.installing import Work
    from scripts.render_pages.model import Page, Site

DJANGO: Final = ("django==4.2.30", "asgiref==3.8.1", "sqlparse==0.5.3")
BUILDERS: Final = ("wheel==0.45.1", "setuptools==69.5.1")
BLOCKS: Final = frozenset({"code", "list", "ordered"})


@dataclass(frozen=True, slots=True)
class Package:
    """A package with templates.

    Attributes:
        name, licence: of the program.
        packages: without what they depend on.
        template: shows a thread.
        plain: posts are plain text.
        paged: threads have pages.
        nested: answers stand below what they answer.
        first_apart: every page shows the opening post above the others.
    """

    name: str
    licence: str
    packages: tuple[str, ...]
    template: str
    plain: bool = False
    paged: bool = True
    nested: bool = False
    first_apart: bool = False


KNOWN: Final = (
    Package("misago", "GPL-2.0", ("misago==0.39.6",), "misago/thread/thread.html"),
    Package("pybbm", "BSD-3-Clause", ("pybbm==0.19.0",), "pybb/topic.html"),
    Package("lbforum", "BSD", ("LBForum==2.0.1",), "lbforum/topic.html", first_apart=True),
    Package(
        "django-simple-forum",
        "MIT",
        ("django-simple-forum==0.0.7",),
        "forum/view_topic.html",
        paged=False,
        nested=True,
    ),
    Package(
        "emencia-forum", "MIT", ("emencia-django-forum==0.8.3",), "forum/thread/details.html", plain=True
    ),
    Package("fretboard", "MIT", ("django-fretboard==1.17.6",), "fretboard/post_wrapper.html"),
    Package(
        "aa-forum", "GPL-3.0", ("aa-forum==3.3.1", "allianceauth==4.9.0"), "aa_forum/view/forum/topic.html"
    ),
    Package("djangochan", "MIT", ("djangochan==0.1.0",), "boards/thread.html", plain=True, paged=False),
    Package(
        "ashley", "MIT", ("ashley==1.3.1", "django-machina==1.3.1"), "forum_conversation/topic_detail.html"
    ),
)


def _render(package: Package, site: Site, work: Work) -> Iterator[Page]:
    packages = (*DJANGO, *package.packages)
    python = work.pip(f"templates-{package.name}", packages, BUILDERS, alone=True) / "python"
    given = payload(
        site,
        boards.typed if package.plain else markup.html,
        template=package.template,
        plain=package.plain,
        paged=package.paged,
        nested=package.nested,
        first_apart=package.first_apart,
        signatures=site.chance(0.6),
        likes=site.chance(0.5),
    )
    folder = work.fresh(f"templates-{package.name}", site.theme)
    shows = boards.typed_thread if package.plain else gold.thread_text
    yield from drive(python, "drive_templates.py", folder, site, given, shows)


def _program(package: Package) -> Program:
    shape = Shape(
        kind="thread",
        posts=120 if package.paged else 60,
        blocks=BLOCKS,
        signatures=not package.plain,
        inline=not package.plain,
    )
    themes = {"default": package.licence}
    return Program(package.name, package.licence, package.packages, themes, shape, partial(_render, package))


PROGRAMS: Final = tuple(map(_program, KNOWN))
