"""Hexo, with themes of npm: blogs, most of their layouts made by Chinese authors."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Final

from scripts.render_pages import gold, markup
from scripts.render_pages.composing import Shape
from scripts.render_pages.installing import run, shown_by_slug
from scripts.render_pages.model import Page
from scripts.render_pages.programs.hexo_themes import THEMES
from scripts.render_pages.programs.program import Program

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from scripts.render_pages.installing import Work
    from scripts.render_pages.model import Document, Site

LANGUAGES: Final = {"zh": 6, "zh-hant": 2, "en": 1, "ja": 1, "de": 0.4, "fr": 0.4, "ru": 0.4}
CODES: Final = {"zh": "zh-CN", "zh-hant": "zh-TW"}
BASE: Final = (
    "hexo@7.3.0",
    "hexo-renderer-marked@7.0.1",
    "hexo-renderer-ejs@2.0.0",
    "hexo-renderer-stylus@3.0.1",
    "hexo-generator-index@4.0.0",
    "hexo-generator-archive@2.0.0",
    "hexo-generator-category@2.0.0",
    "hexo-generator-tag@2.0.0",
)
PERMALINKS: Final = (
    ":year/:month/:day/:title/",
    "posts/:title/",
    ":title.html",
    "p/:title/",
    ":year/:title.html",
)


def render(site: Site, work: Work) -> Iterator[Page]:
    """Generate the site and return its article pages."""
    theme = THEMES[site.theme]
    installed = work.npm(f"hexo-{site.theme}", (*BASE, *theme.packages))
    folder = work.fresh("hexo", site.theme)
    (folder / "node_modules").symlink_to(installed / "node_modules")
    package = json.loads((installed / "package.json").read_text()) | {"hexo": {"version": ""}}
    (folder / "package.json").write_text(json.dumps(package))
    _write(folder / "_config.yml", _config(site))
    _write(folder / f"_config.{site.theme}.yml", theme.config(site))
    posts = folder / "source" / "_posts"
    posts.mkdir(parents=True)
    shortened = site.chance(0.5)
    for document in site.documents:
        (posts / f"{document.slug}.md").write_text(
            _source(document, site, shortened=shortened), encoding="utf8"
        )
    for page in ("about", "links"):
        place = folder / "source" / page
        place.mkdir()
        (place / "index.md").write_text(
            f"---\ntitle: {site.some(1, 1)[0]}\n---\n{site.phrasing[0]}\n", encoding="utf8"
        )
    run(
        ["node", "node_modules/hexo/bin/hexo", "generate"],
        folder,
        environment={
            "NODE_ENV": "production",
            "HOME": str(folder),
            "PATH": f"{folder / 'node_modules' / '.bin'}:{os.environ['PATH']}",
        },
    )
    for document in site.documents:
        path = shown_by_slug(folder / "public", document.slug)
        if path is not None:
            address = "/" + path.relative_to(folder / "public").as_posix().removesuffix("index.html")
            yield Page(document, address, path.read_bytes(), gold.article_text(document))


def _write(path: Path, config: dict[str, Any]) -> None:
    path.write_text(json.dumps(config, ensure_ascii=False, indent=1), encoding="utf8")  # JSON is YAML


def _config(site: Site) -> dict[str, Any]:
    code = CODES.get(site.language, site.language)
    return {
        "title": site.title,
        "subtitle": site.tagline[:40] if site.chance(0.5) else "",
        "description": site.phrasing[1],
        "keywords": site.phrases[0],
        "author": site.owner,
        "language": code,
        "timezone": "Asia/Shanghai",
        "url": f"https://{site.host}",
        "permalink": site.rng.choice(PERMALINKS),
        "theme": site.theme,
        "per_page": site.rng.choice((5, 10)),
        "syntax_highlighter": "highlight.js",
        "highlight": {"line_number": site.chance(0.5), "wrap": site.chance(0.7), "hljs": site.chance(0.3)},
        "marked": {
            "smartypants": False,
            "lazyload": site.chance(0.3),
            "external_link": {"enable": site.chance(0.3)},
        },
        "index_generator": {"per_page": 10, "order_by": "-date"},
    }


def _source(document: Document, site: Site, *, shortened: bool) -> str:
    front = {
        "title": document.title,
        "date": f"{document.date:%Y-%m-%d %H:%M:%S}",
        "categories": [document.category],
        "tags": list(document.tags),
        "author": document.author if site.chance(0.2) else site.owner,
    }
    if site.chance(0.3):
        front["cover"] = front["thumbnail"] = f"https://img.example.org/{document.slug}.jpg"
    lines = "".join(f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in front.items())
    body = markup.markdown(document.blocks)
    if shortened and "\n\n" in body.strip():
        first, rest = body.split("\n\n", 1)
        body = f"{first}\n\n<!-- more -->\n\n{rest}"
    return f"---\n{lines}---\n\n{body}"


PROGRAM: Final = Program(
    "hexo", "MIT", BASE, {name: theme.licence for name, theme in THEMES.items()}, Shape(), render, LANGUAGES
)
