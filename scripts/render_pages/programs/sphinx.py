"""Sphinx, with themes of PyPI: documentation sites."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from scripts.render_pages import gold, markup
from scripts.render_pages.composing import Shape
from scripts.render_pages.installing import run, shown_by_slug
from scripts.render_pages.model import Page
from scripts.render_pages.programs.program import Program

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scripts.render_pages.installing import Work
    from scripts.render_pages.model import Site

PACKAGES: Final = (
    "sphinx==9.0.4",
    "furo==2025.12.19",
    "sphinx-rtd-theme==3.1.0",
    "pydata-sphinx-theme==0.20.0",
    "sphinx-book-theme==1.4.0",
    "cloud-sptheme==1.10.1.post20200504175005",
    "sphinx-bootstrap-theme==0.8.1",
    "piccolo-theme==0.24.0",
)
THEMES: Final = {
    "alabaster": "BSD-3-Clause",
    "classic": "BSD-2-Clause",
    "sphinxdoc": "BSD-2-Clause",
    "furo": "MIT",
    "sphinx_rtd_theme": "MIT",
    "pydata_sphinx_theme": "BSD-3-Clause",
    "sphinx_book_theme": "BSD-3-Clause",
    "cloud": "BSD-3-Clause",
    "bootstrap": "MIT",
    "piccolo_theme": "MIT",
}
CODES: Final = {"zh": "zh_CN", "zh-hant": "zh_TW"}


def _options(site: Site) -> dict[str, Any]:
    bar = site.phrasing[5] if site.chance(0.4) else ""
    several: dict[str, dict[str, Any]] = {
        "alabaster": {
            "description": site.tagline,
            "show_related": site.chance(0.5),
            "fixed_sidebar": site.chance(0.5),
        },
        "classic": {"rightsidebar": site.chance(0.5), "stickysidebar": site.chance(0.5)},
        "furo": {"announcement": bar, "sidebar_hide_name": site.chance(0.3)},
        "sphinx_rtd_theme": {"prev_next_buttons_location": site.rng.choice(("top", "bottom", "both"))},
        "pydata_sphinx_theme": {
            "announcement": bar,
            "show_prev_next": site.chance(0.7),
            "navbar_align": "left",
        },
        "sphinx_book_theme": {"announcement": bar, "show_navbar_depth": 2},
        "bootstrap": {"navbar_title": site.title, "source_link_position": site.rng.choice(("nav", "footer"))},
    }
    return {key: value for key, value in several.get(site.theme, {}).items() if value != ""}


def render(site: Site, work: Work) -> Iterator[Page]:
    """Build the documentation and return its pages below sections."""
    programs = work.pip("sphinx", PACKAGES)
    folder = work.fresh("sphinx", site.theme)
    import_line = (
        "import cloud_sptheme\nhtml_theme_path = [cloud_sptheme.get_theme_dir()]\n"
        if site.theme == "cloud"
        else ""
    )
    settings = {
        "project": site.title,
        "author": site.owner,
        "copyright": f"2019, {site.owner}",
        "version": f"{site.rng.randint(0, 9)}.{site.rng.randint(0, 30)}",
        "language": CODES.get(site.language, site.language),
        "smartquotes": False,
        "html_theme": site.theme,
        "html_theme_options": _options(site),
        "html_permalinks": site.chance(0.6),
        "html_show_sourcelink": site.chance(0.5),
        "html_last_updated_fmt": "%Y-%m-%d" if site.chance(0.5) else None,
        "html_copy_source": False,
        "suppress_warnings": ["image", "misc"],
    }
    lines = "".join(f"{key} = {value!r}\n" for key, value in settings.items())
    (folder / "conf.py").write_text(import_line + lines, encoding="utf8")
    sections: dict[str, list[str]] = {}
    for document in site.documents:
        sections.setdefault(document.category, []).append(document.slug)
        title = f"{document.title}\n{'=' * (2 * len(document.title) + 2)}\n\n"
        (folder / f"{document.slug}.rst").write_text(title + markup.rst(document.blocks), encoding="utf8")
    trees = [
        f".. toctree::\n   :caption: {name}\n   :maxdepth: {site.rng.randint(1, 2)}\n\n"
        + "".join(f"   {slug}\n" for slug in slugs)
        for name, slugs in sections.items()
    ]
    index = f"{site.title}\n{'=' * (2 * len(site.title) + 2)}\n\n" + "\n".join(trees)
    (folder / "index.rst").write_text(index, encoding="utf8")
    builder = site.rng.choice(("html", "dirhtml"))
    run([str(programs / "python"), "-m", "sphinx", "-q", "-b", builder, ".", "out"], folder)
    for document in site.documents:
        path = shown_by_slug(folder / "out", document.slug)
        if path is not None:
            address = "/" + path.relative_to(folder / "out").as_posix().removesuffix("index.html")
            yield Page(document, address, path.read_bytes(), gold.article_text(document))


PROGRAM: Final = Program("sphinx", "BSD-2-Clause", PACKAGES, THEMES, Shape(), render)
