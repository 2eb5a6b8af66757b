"""The programs that show threads. A driver in the program's own environment fills it and asks it for its pages."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from scripts.render_pages import fossil, gold, markup
from scripts.render_pages.composing import Shape
from scripts.render_pages.installing import run
from scripts.render_pages.model import Block, Page, Post, Site

if TYPE_CHECKING:
    from scripts.render_pages.installing import Work

DRIVERS: Final = Path(__file__).parent / "drivers"
LANGUAGES: Final = {"zh": 5, "zh-hant": 2, "en": 2, "ja": 1, "de": 0.7, "fr": 0.7, "ru": 0.7}
"""How often a site is in each language."""
DJANGO_CODES: Final = {"zh": "zh-hans"}
NODEBB_CODES: Final = {"zh": "zh-CN", "zh-hant": "zh-TW", "en": "en-GB"}

Write = Callable[[Sequence[Block]], str]


@dataclass(frozen=True, slots=True)
class Program:
    """A program that renders pages.

    Attributes:
        name: as in the names of files.
        licence: of the program; SPDX, or as its package says.
        packages: with pinned versions.
        themes: licence of each theme by its name.
        shape: what threads it can show.
        render: builds one site and returns its pages; threads that the program did not show are left out.
    """

    name: str
    licence: str
    packages: tuple[str, ...]
    themes: dict[str, str]
    shape: Shape
    render: Callable[[Site, Work], Iterator[Page]]


def table() -> str:
    """Programs with licence, main packages and themes, as Markdown."""
    lines = ["| program | licence | packages | themes (licence) |", "|---|---|---|---|"]
    for program in PROGRAMS.values():
        themes = ", ".join(f"{name} ({licence})" for name, licence in program.themes.items())
        packages = ", ".join(f"`{name}`" for name in program.packages[:4])
        more = f" and {len(program.packages) - 4} more" if len(program.packages) > 4 else ""
        lines.append(f"| {program.name} | {program.licence} | {packages}{more} | {themes} |")
    return "\n".join(lines)


def payload(site: Site, write: Write, **settings: Any) -> dict[str, Any]:
    """A site as JSON for a driver; texts are in the markup of the program."""
    return {
        "title": site.title,
        "tagline": site.tagline,
        "host": site.host,
        "language": DJANGO_CODES.get(site.language, site.language),
        "owner": site.owner,
        "sections": site.some(4, 10),
        "notices": list(site.phrasing[:5]),
        "per_page": site.rng.choice((10, 15, 20, 20, 30, 50)),
        "seed": site.rng.randrange(10**9),
        "member": site.chance(0.25),
        "documents": [
            {
                "slug": thread.slug,
                "title": thread.title,
                "author": thread.author,
                "date": thread.date.isoformat(),
                "category": thread.category,
                "tags": list(thread.tags),
                "posts": [
                    {
                        "author": post.author,
                        "date": post.date.isoformat(),
                        "body": write(post.blocks),
                        "signature": post.signature,
                        "parent": post.parent,
                    }
                    for post in thread.posts
                ],
            }
            for thread in site.threads
        ],
        **settings,
    }


def drive(
    interpreter: str | Path,
    driver: str,
    folder: Path,
    site: Site,
    given: dict[str, Any],
    shows: Callable[[Sequence[Post]], str] = gold.thread_text,
) -> Iterator[Page]:
    """Pages that a driver printed.

    Args:
        interpreter: of the program's environment.
        driver: name of the script's file.
        folder: where it runs.
        site: the site.
        given: from ``payload``.
        shows: gold text of the posts of one page.

    Each line that the driver prints has ``slug``, ``path``, ``html`` and ``shown``: indexes of the posts on this page in page order.
    """
    printed = run([str(interpreter), str(DRIVERS / driver)], folder, given=json.dumps(given), minutes=6)
    by_slug = {thread.slug: thread for thread in site.threads}
    for line in printed.splitlines():
        if line.startswith('{"slug"'):
            page = json.loads(line)
            posts = by_slug[page["slug"]].posts
            yield Page(page["path"], page["html"].encode(), shows([posts[at] for at in page["shown"]]))


def _tracker(
    name: str,
    licence: str,
    packages: tuple[str, ...],
    themes: tuple[str, ...],
    write: Write,
    shows: Callable[[Sequence[Post]], str],
    *,
    inline: bool,
) -> Program:
    """A program that runs as it is, in an environment of its own."""

    def render(site: Site, work: Work) -> Iterator[Page]:
        python = work.pip(name, packages) / "python"
        given = payload(site, write, theme=site.theme)
        yield from drive(python, f"drive_{name}.py", work.fresh(name, site.theme), site, given, shows)

    shape = Shape(60, signatures=False, inline=inline)
    return Program(name, licence, packages, dict.fromkeys(themes, licence), shape, render)


DJANGO: Final = ("django==4.2.30", "asgiref==3.8.1", "sqlparse==0.5.3")
BUILDERS: Final = ("wheel==0.45.1", "setuptools==69.5.1")


@dataclass(frozen=True, slots=True)
class Showing:
    """How a template shows a thread.

    Attributes:
        plain: posts are plain text.
        paged: threads have pages.
        nested: answers stand below what they answer.
        first_apart: every page shows the opening post above the others.
    """

    plain: bool = False
    paged: bool = True
    nested: bool = False
    first_apart: bool = False


def _templates(
    name: str, licence: str, packages: tuple[str, ...], template: str, showing: Showing = Showing()
) -> Program:
    """A package whose thread template a driver fills, because it needs an old Django or a database of its own.

    ``packages`` are installed without what they depend on.
    """

    def render(site: Site, work: Work) -> Iterator[Page]:
        python = work.pip(f"templates-{name}", (*DJANGO, *packages), BUILDERS) / "python"
        given = payload(
            site,
            markup.typed if showing.plain else markup.html,
            template=template,
            signatures=site.chance(0.6),
            likes=site.chance(0.5),
            **asdict(showing),
        )
        folder = work.fresh(f"templates-{name}", site.theme)
        shows = markup.typed_thread if showing.plain else gold.thread_text
        yield from drive(python, "drive_templates.py", folder, site, given, shows)

    plain = showing.plain
    shape = Shape(120 if showing.paged else 60, signatures=not plain, inline=not plain)
    return Program(name, licence, packages, {"default": licence}, shape, render)


NODEBB_THEMES: Final = {
    "harmony": ("nodebb-theme-harmony", "3.3.4", "MIT"),
    "persona": ("nodebb-theme-persona", "15.3.3", "BSD-2-Clause"),
    "lavender": ("nodebb-theme-lavender", "8.1.0", "BSD-2-Clause"),
    "vanilla": ("nodebb-theme-vanilla", "12.1.20", "BSD-2-Clause"),
    "peace": ("nodebb-theme-peace", "3.1.3", "BSD-2-Clause"),
    "slick": ("nodebb-theme-slick", "2.0.5", "not named"),
    "niuniu": ("nodebb-theme-niuniu", "3.1.15", "MIT"),
    "ricequant": ("nodebb-theme-ricequant", "0.2.78", "MIT"),
    "quest": ("@sanbornagency/nodebb-theme-quest", "2.0.51", "ISC"),
}
NODEBB_PACKAGES: Final = (
    *("nodebb@1.4.0", "benchpressjs@2.5.5", "lodash@4.17.21", "node-cache@5.1.2", "clone@2.1.2"),
    *(f"{name}@{version}" for name, version, _licence in NODEBB_THEMES.values()),
)
NODEBB_SWITCHES: Final = (
    "pictures groups signatures sidebar banner footer pagination quick feeds votes no_down hide_replies"
)


def _nodebb(site: Site, work: Work) -> Iterator[Page]:
    """The templates of the themes alone: the program needs packages that are no longer published."""
    modules = work.npm_files("nodebb", NODEBB_PACKAGES)
    language = NODEBB_CODES.get(site.language, site.language)
    names = json.loads((modules / "nodebb/public/language" / language / "modules.json").read_text())
    attribution = names["composer.user_said"].replace("%1", "@{}")

    def write(blocks: Sequence[Block]) -> str:
        parts = []
        for block in blocks:
            if block.kind == "quote" and block.source:
                parts.append(f'<p dir="auto">{escape(attribution.format(block.source))}</p>')
            source = markup.html([block])
            parts.append(source.replace("<p>", '<p dir="auto">') if block.kind != "code" else source)
        return "\n".join(parts)

    options = {"topMobilebar": site.chance(0.5), "stickyToolbar": True, "autohideBottombar": True}
    given = payload(
        site,
        write,
        language=language,
        modules=str(modules),
        theme=NODEBB_THEMES[site.theme][0],
        options=options,
        **{name: site.chance(0.5) for name in NODEBB_SWITCHES.split()},
    )
    shows = partial(gold.thread_text, attribution=attribution)
    yield from drive("node", "drive_nodebb.cjs", work.fresh("nodebb", site.theme), site, given, shows)


_ALL: Final = (
    _tracker(
        "trac",
        "BSD-3-Clause",
        ("Trac==1.6", "babel==2.9.1", "setuptools==69.5.1"),
        ("default",),
        markup.trac,
        partial(gold.thread_text, attribution=markup.TRAC_ATTRIBUTION),
        inline=True,
    ),
    _tracker(
        "roundup",
        "MIT",
        ("roundup==2.6.0", "jinja2==3.1.6"),
        ("classic", "devel", "jinja2", "responsive"),
        markup.typed,
        markup.typed_thread,
        inline=False,
    ),
    _templates("misago", "GPL-2.0", ("misago==0.39.6",), "misago/thread/thread.html"),
    _templates("pybbm", "BSD-3-Clause", ("pybbm==0.19.0",), "pybb/topic.html"),
    _templates("lbforum", "BSD", ("LBForum==2.0.1",), "lbforum/topic.html", Showing(first_apart=True)),
    _templates(
        "django-simple-forum",
        "MIT",
        ("django-simple-forum==0.0.7",),
        "forum/view_topic.html",
        Showing(paged=False, nested=True),
    ),
    _templates(
        "emencia-forum",
        "MIT",
        ("emencia-django-forum==0.8.3",),
        "forum/thread/details.html",
        Showing(plain=True),
    ),
    _templates("fretboard", "MIT", ("django-fretboard==1.17.6",), "fretboard/post_wrapper.html"),
    _templates(
        "aa-forum", "GPL-3.0", ("aa-forum==3.3.1", "allianceauth==4.9.0"), "aa_forum/view/forum/topic.html"
    ),
    _templates(
        "djangochan", "MIT", ("djangochan==0.1.0",), "boards/thread.html", Showing(plain=True, paged=False)
    ),
    _templates(
        "ashley", "MIT", ("ashley==1.3.1", "django-machina==1.3.1"), "forum_conversation/topic_detail.html"
    ),
    Program(
        "fossil",
        "BSD-2-Clause",
        fossil.PACKAGES,
        dict.fromkeys(fossil.SKINS.split(), "BSD-2-Clause"),
        Shape(100, signatures=False),
        fossil.render,
    ),
    Program(
        "nodebb",
        "GPL-3.0",
        NODEBB_PACKAGES,
        {name: licence for name, (_package, _version, licence) in NODEBB_THEMES.items()},
        Shape(120),
        _nodebb,
    ),
)
PROGRAMS: Final = {program.name: program for program in _ALL}
