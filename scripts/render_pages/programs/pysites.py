"""Generators of static sites of PyPI: MkDocs, Pelican, Nikola."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from scripts.render_pages import gold, markup
from scripts.render_pages.composing import Shape
from scripts.render_pages.installing import run, shown_by_slug
from scripts.render_pages.model import Page
from scripts.render_pages.programs.program import Program

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from scripts.render_pages.installing import Work
    from scripts.render_pages.model import Document, Site

MKDOCS: Final = ("mkdocs==1.6.1", "mkdocs-material==9.8.1", "mkdocs-bootswatch==1.1", "mkdocs-cinder==1.2.0")
MKDOCS_THEMES: Final = {
    "mkdocs": "BSD-2-Clause",
    "readthedocs": "BSD-2-Clause",
    "material": "MIT",
    "cinder": "MIT",
    "cerulean": "BSD-2-Clause",
}
PELICAN: Final = ("pelican==4.12.0", "markdown==3.11.3")
PELICAN_THEMES: Final = {"notmyidea": "AGPL-3.0", "simple": "AGPL-3.0"}
NIKOLA: Final = ("Nikola==8.3.3", "markdown==3.11.3", "jinja2==3.1.6")
NIKOLA_THEMES: Final = {"bootblog4": "MIT", "bootstrap4": "MIT", "base": "MIT"}
CODES: Final = {"zh": "zh", "zh-hant": "zh_TW"}
NIKOLA_CODES: Final = {"zh": "zh_cn", "zh-hant": "zh_tw"}


def _pages(site: Site, public: Path) -> Iterator[Page]:
    for document in site.documents:
        path = shown_by_slug(public, document.slug)
        if path is not None:
            address = "/" + path.relative_to(public).as_posix().removesuffix("index.html")
            yield Page(document, address, path.read_bytes(), gold.article_text(document))


def _mkdocs(site: Site, work: Work) -> Iterator[Page]:
    programs = work.pip("mkdocs", MKDOCS)
    folder = work.fresh("mkdocs", site.theme)
    sections: dict[str, list[Any]] = {}
    for document in site.documents:
        place = folder / "docs" / f"{document.slug}.md"
        place.parent.mkdir(exist_ok=True)
        place.write_text(f"# {document.title}\n\n{markup.markdown(document.blocks)}", encoding="utf8")
        sections.setdefault(document.category, []).append({document.title: place.name})
    (folder / "docs" / "index.md").write_text(f"# {site.title}\n\n{site.tagline}\n", encoding="utf8")
    theme: dict[str, Any] = {"name": site.theme}
    code = CODES.get(site.language, site.language)
    if site.theme == "material":
        features = [
            "navigation.tabs",
            "navigation.sections",
            "navigation.footer",
            "navigation.top",
            "toc.integrate",
        ]
        theme["language"] = {"zh_TW": "zh-TW"}.get(code, code)
        theme["features"] = site.rng.sample(features, site.rng.randint(0, 4))
    extra: dict[str, Any] = {}
    if site.theme == "material" and site.chance(0.5):
        extra["consent"] = {"title": site.phrases[0], "description": site.phrasing[0]}
    config = {
        "site_name": site.title,
        "site_url": f"https://{site.host}/",
        "site_author": site.owner,
        "copyright": site.phrasing[1] if site.chance(0.5) else None,
        "repo_url": "https://code.example.org/a/b" if site.chance(0.4) else None,
        "theme": theme,
        "extra": extra,
        "use_directory_urls": site.chance(0.6),
        "nav": [{"index": "index.md"}, *({name: pages} for name, pages in sections.items())],
        "markdown_extensions": ["tables", "fenced_code", {"toc": {"permalink": site.chance(0.5)}}],
    }
    known = {key: value for key, value in config.items() if value is not None}
    (folder / "mkdocs.yml").write_text(json.dumps(known, ensure_ascii=False), encoding="utf8")
    run([str(programs / "mkdocs"), "build", "-q", "-d", "out"], folder)
    yield from _pages(site, folder / "out")


def _pelican(site: Site, work: Work) -> Iterator[Page]:
    programs = work.pip("pelican", PELICAN)
    folder = work.fresh("pelican", site.theme)
    (folder / "content").mkdir()
    for document in site.documents:
        (folder / "content" / f"{document.slug}.md").write_text(_pelican_source(document), encoding="utf8")
    settings = {
        "SITENAME": site.title,
        "SITESUBTITLE": site.tagline if site.chance(0.5) else "",
        "SITEURL": f"https://{site.host}",
        "AUTHOR": site.owner,
        "THEME": site.theme,
        "DEFAULT_LANG": CODES.get(site.language, site.language),
        "TIMEZONE": "Asia/Shanghai",
        "LINKS": [(name, "https://a.example.org/") for name in site.some(0, 8)],
        "SOCIAL": [(name, "https://b.example.org/") for name in site.some(0, 4)],
        "MENUITEMS": [(name, "/about/") for name in site.some(0, 6)],
        "DISPLAY_CATEGORIES_ON_MENU": site.chance(0.6),
        "DISQUS_SITENAME": "example" if site.chance(0.3) else "",
        "GITHUB_URL": "https://code.example.org" if site.chance(0.3) else "",
        "ARTICLE_URL": "{slug}.html",
        "ARTICLE_SAVE_AS": site.rng.choice(("{slug}.html", "posts/{slug}/index.html")),
        "FEED_ALL_ATOM": "feeds/all.atom.xml" if site.chance(0.5) else None,
        "CATEGORY_FEED_ATOM": None,
    }
    lines = "".join(f"{key} = {value!r}\n" for key, value in settings.items())
    (folder / "pelicanconf.py").write_text(lines, encoding="utf8")
    run([str(programs / "pelican"), "-q", "-s", "pelicanconf.py", "-o", "out", "content"], folder)
    yield from _pages(site, folder / "out")


def _pelican_source(document: Document) -> str:
    tags = ", ".join(tag.replace(",", " ") for tag in document.tags)
    return (
        f"Title: {document.title}\nDate: {document.date:%Y-%m-%d %H:%M}\nCategory: {document.category}\n"
        f"Tags: {tags}\nSlug: {document.slug}\nAuthor: {document.author}\n\n{markup.markdown(document.blocks)}"
    )


def _nikola(site: Site, work: Work) -> Iterator[Page]:
    programs = work.pip("nikola", NIKOLA)
    folder = work.fresh("nikola", site.theme)
    (folder / "posts").mkdir()
    code = NIKOLA_CODES.get(site.language, site.language)
    for document in site.documents:
        head = (
            f".. title: {document.title}\n.. slug: {document.slug}\n.. date: {document.date:%Y-%m-%d %H:%M:%S} UTC\n"
            f".. tags: {', '.join(document.tags)}\n.. category: {document.category}\n.. author: {document.author}\n\n"
        )
        (folder / "posts" / f"{document.slug}.md").write_text(
            head + markup.markdown(document.blocks), encoding="utf8"
        )
    links = [(f"/{at}/", name) for at, name in enumerate(site.some(1, 7))]
    settings = {
        "BLOG_AUTHOR": site.owner,
        "BLOG_TITLE": site.title,
        "SITE_URL": f"https://{site.host}/",
        "BLOG_EMAIL": "a@example.org",
        "BLOG_DESCRIPTION": site.tagline,
        "DEFAULT_LANG": code,
        "TRANSLATIONS": {code: ""},
        "NAVIGATION_LINKS": {code: links},
        "THEME": site.theme,
        "POSTS": [("posts/*.md", "posts", "post.tmpl")],
        "PAGES": [],
        "COMPILERS": {"markdown": [".md"]},
        "MARKDOWN_EXTENSIONS": ["fenced_code", "tables"],
        "TIMEZONE": "UTC",
        "SHOW_BLOG_TITLE": site.chance(0.7),
        "SHOW_SOURCELINK": site.chance(0.5),
        "PRETTY_URLS": site.chance(0.5),
        "CONTENT_FOOTER": site.phrasing[2],
        "SOCIAL_BUTTONS_CODE": "",
        "GENERATE_RSS": False,
        "COMMENT_SYSTEM": "disqus" if site.chance(0.3) else "",
        "COMMENT_SYSTEM_ID": "example",
    }
    lines = "".join(f"{key} = {value!r}\n" for key, value in settings.items())
    (folder / "conf.py").write_text(lines, encoding="utf8")
    run([str(programs / "nikola"), "build", "-v", "0"], folder)
    yield from _pages(site, folder / "output")


PROGRAMS: Final = (
    Program("mkdocs", "BSD-2-Clause", MKDOCS, MKDOCS_THEMES, Shape(), _mkdocs),
    Program("pelican", "AGPL-3.0", PELICAN, PELICAN_THEMES, Shape(), _pelican),
    Program("nikola", "MIT", NIKOLA, NIKOLA_THEMES, Shape(), _nikola),
)
