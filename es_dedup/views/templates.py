"""Markup of all views: Jinja2 templates that are filled in with texts, each of which is escaped.

Jinja2 is loaded when the first page is made. In templates ``_`` translates a text into ``_language``; filters are listed in ``environment``.
"""

from __future__ import annotations

import re
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final

from es_dedup.model.explanation import format_number, percent
from es_dedup.model.translations import translate
from es_dedup.views.compare import title_of
from es_dedup.views.features import listed
from es_dedup.views.frame import Visitor, file_address, path

if TYPE_CHECKING:
    from jinja2 import Environment


_CONTROLS: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, and direction marks that could turn the order of what follows."""
MAX_CHARS: Final = 200
"""Characters of a title in a list."""


def render(name: str, language: str, **values: object) -> str:
    """A template filled in.

    Args:
        name: of the template, without its ending.
        language: of its words.
        values: what its names stand for.
    """
    return environment(language).get_template(f"{name}.html.j2").render(values)


def console_page(name: str, visitor: Visitor, **values: object) -> bytes:
    """A view of the console: a template filled in for a visitor."""
    return render(name, visitor.language, visitor=visitor, **values).encode("utf-8", "replace")


@cache
def environment(language: str) -> Environment:
    """The templates in a language."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    found = Environment(
        autoescape=True,
        auto_reload=False,
        finalize=_shown,
        loader=PackageLoader(__package__),
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    found.globals |= {
        "_": partial(translate, language),
        "_language": language,
        "file_address": file_address,
        "path": path,
    }
    found.filters |= {
        "address": web_address,
        "count": "{:,}".format,
        "listed": partial(listed, language=language),
        "number": format_number,
        "percent": percent,
        "short": short,
        "title_of": title_of,
        "when": when,
    }
    return found


def _shown(value: Any) -> Any:
    """A value as it is written into a page; markup as it is."""
    if hasattr(value, "__html__"):
        return value
    return "" if value is None else _CONTROLS.sub("", str(value))


def web_address(url: str) -> str:
    """A URL that a link may lead to; empty in place of any but http and https."""
    return url if url.lower().startswith(("http://", "https://")) else ""


def short(text: str, most: int = MAX_CHARS) -> str:
    """A text for a list, of at most so many characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def when(published: str) -> str:
    """A date with the time to the minute; the date alone at midnight, which stands for a time that nobody gave."""
    return published[:16].replace("T", " ").removesuffix(" 00:00")
