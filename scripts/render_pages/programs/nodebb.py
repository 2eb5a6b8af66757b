"""NodeBB: the templates of its themes, filled by a driver; the program itself needs packages that are no longer published."""

from __future__ import annotations

import json
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Final

from scripts.render_pages import gold, markup
from scripts.render_pages.composing import Shape
from scripts.render_pages.programs.driving import drive, payload
from scripts.render_pages.programs.program import Program

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from scripts.render_pages.installing import Work
    from scripts.render_pages.model import Block, Page, Site

THEMES: Final = {
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
ENGINE: Final = ("benchpressjs@2.5.5", "lodash@4.17.21", "node-cache@5.1.2", "clone@2.1.2")
PACKAGES: Final = (
    "nodebb@1.4.0",
    *ENGINE,
    *(f"{name}@{version}" for name, version, _licence in THEMES.values()),
)
LANGUAGES: Final = {"zh": "zh-CN", "zh-hant": "zh-TW", "en": "en-GB"}
SHAPE: Final = Shape(kind="thread", posts=120, blocks=frozenset({"code", "list", "ordered"}))


def _said(modules: Path, language: str) -> str:
    """What the program puts above a quotation, with ``%1`` for the name."""
    place = modules / "nodebb/public/language" / language / "modules.json"
    return str(json.loads(place.read_text())["composer.user_said"])


def _render(site: Site, work: Work) -> Iterator[Page]:
    modules = work.npm_files("nodebb", PACKAGES)
    language = LANGUAGES.get(site.language, site.language)
    said = _said(modules, language)

    def attribution(author: str) -> str:
        return said.replace("%1", f"@{author}")

    def write(blocks: Sequence[Block]) -> str:
        parts = []
        for block in blocks:
            if block.kind == "quote" and block.source:
                parts.append(f'<p dir="auto">{escape(attribution(block.source))}</p>')
            shown = markup.html([block])
            parts.append(shown.replace("<p>", '<p dir="auto">') if block.kind != "code" else shown)
        return "\n".join(parts)

    switches = (
        "pictures groups signatures sidebar banner footer pagination quick feeds votes no_down hide_replies"
    )
    options = {"topMobilebar": site.chance(0.5), "stickyToolbar": True, "autohideBottombar": True}
    given = payload(
        site,
        write,
        language=language,
        modules=str(modules),
        theme=THEMES[site.theme][0],
        options=options,
        **{name: site.chance(0.5) for name in switches.split()},
    )
    folder = work.fresh("nodebb", site.theme)
    yield from drive(
        "node", "drive_nodebb.cjs", folder, site, given, partial(gold.thread_text, attribution=attribution)
    )


PROGRAM: Final = Program(
    "nodebb", "GPL-3.0", PACKAGES, {name: licence for name, (_, _, licence) in THEMES.items()}, SHAPE, _render
)
