"""Hooks of mkdocs: documents from outside ``docs/``, links to them, generated reference text, checks after the build.

Markdown files link to each other as they lie in the repository, so that they can be read there as well.
"""

from __future__ import annotations

import os.path
import posixpath
import re
import sys
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File
from pymdownx.slugs import slugify

ROOT: Final = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from scripts.docssupport import reference  # noqa: E402 - mkdocs loads hooks by their paths

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

OUTSIDE: Final = {
    "README.md": "project/readme.md",
    "ARCHITECTURE.md": "project/architecture.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
    "SECURITY.md": "project/security.md",
    "mappings/README.md": "reference/mappings.md",
    "samples/README.md": "project/samples.md",
    "experiments/README.md": "project/experiments.md",
    **{
        f"experiments/docs/{page}.md": f"algorithms/{page}.md"
        for page in (
            *("shingling", "minhash", "spotsigs", "imatch"),
            *("lsh", "codet", "feature_sentence", "punctuation"),
            *("comparison", "experiments"),
        )
    },
}
"""Documents outside ``docs/`` and their places on the site."""
_LINK: Final = re.compile(r"(\]\()([^)\s:#]+)((?:#[^)\s]*)?\))")
_FENCE: Final = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
_EXTERNAL: Final = re.compile(
    r"<(?:script|img|iframe)[^>]+src=\"?(https?:[^\" >]+)|<link[^>]+rel=\"?(?:stylesheet|preconnect)\"?[^>]+href=\"?(https?:[^\" >]+)"
)


def on_config(config: MkDocsConfig) -> None:
    """Anchors of headings as hosts of repositories make them."""
    config.mdx_configs.setdefault("toc", {})["slugify"] = slugify(case="lower")


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Add the documents from outside, and files of the repository that documents link to."""
    for source, place in OUTSIDE.items():
        files.append(File.generated(config, place, content=(ROOT / source).read_text(encoding="utf-8")))
    for page in files.documentation_pages():
        for _, link, _ in _LINK.findall(_FENCE.sub("", page.content_string)):
            target = _target(page.src_uri, link)
            place = _place(target)
            if (ROOT / target).is_file() and place not in files.src_uris:
                files.append(File.generated(config, place, abs_src_path=str(ROOT / target)))


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Fill in generated text, and point links at the places of the site."""
    here = page.file.src_uri
    parts = re.split(f"({_FENCE.pattern})", reference.filled(markdown), flags=re.MULTILINE | re.DOTALL)
    for number in range(0, len(parts), 2):
        parts[number] = _LINK.sub(
            lambda link: f"{link[1]}{_relative(_place(_target(here, link[2])), here)}{link[3]}", parts[number]
        )
    return "".join(parts)


def on_post_build(config: MkDocsConfig) -> None:
    """Refuse a site that lacks a public name, or that needs the network to be read.

    Raises:
        PluginError: names each of them.
    """
    site = Path(config.site_dir)
    if missing := reference.missing_names((site / "objects.inv").read_bytes()):
        raise PluginError(f"not in the API reference: {', '.join(missing)}")
    pages = {page: page.read_text(encoding="utf-8") for page in site.rglob("*.html")}
    fetched = {"".join(found) for text in pages.values() for found in _EXTERNAL.findall(text)}
    if fetched:
        raise PluginError(f"pages fetch from the network: {', '.join(sorted(fetched))}")


def _source(place: str) -> str:
    """The file of the repository that a place on the site is made of."""
    return next((source for source, other in OUTSIDE.items() if other == place), f"docs/{place}")


def _target(place: str, link: str) -> str:
    """The file of the repository that a link on a page leads to."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(_source(place)), link))


def _place(target: str) -> str:
    """The place of a file of the repository on the site."""
    if target in OUTSIDE:
        return OUTSIDE[target]
    return target.removeprefix("docs/") if target.startswith("docs/") else f"files/{target}"


def _relative(place: str, here: str) -> str:
    return PurePosixPath(os.path.relpath(place, posixpath.dirname(here) or ".")).as_posix()
