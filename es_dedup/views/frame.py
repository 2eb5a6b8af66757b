"""The frame of every view: head, navigation, search, help on keys."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from importlib import resources
from typing import Final
from urllib.parse import quote, urlencode

from es_dedup.model.translations import translate
from es_dedup.views.forms import button, entry
from es_dedup.views.markup import element, escape
from es_dedup.views.templates import when

ROOT: Final = "/console"
POLICY: Final = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
"""Content security policy of the console: its own style, script and addresses, no inline ones, nothing of others."""
STYLE: Final = "console.css"
SCRIPT: Final = "console.js"
FILES: Final = {
    STYLE: ("text/css", ("page.css", "console.css")),
    SCRIPT: ("text/javascript", ("console.js",)),
}
"""Files of the console: media type, and the files in `static` that they are made of."""
SIGN_OUT: Final = "<!--sign out-->"
"""Where the server puts the button for those who have signed in."""
_KEYS: Final = (
    ("j k", "next, previous row"),
    ("Enter", "open the row"),
    ("n", "next page of a list"),
    ("/", "search"),
    ("y n c p", "in a review: same, different, contains, passage shared"),
    ("s u", "in a review: skip, undo"),
    ("?", "these keys"),
)


@cache
def static(name: str) -> tuple[str, bytes]:
    """Media type and content of a file of the console.

    Raises:
        KeyError: there is none of this name.
    """
    kind, parts = FILES[name]
    folder = resources.files(__package__).joinpath("static")
    return kind, b"".join(folder.joinpath(part).read_bytes() for part in parts)


@cache
def file_address(name: str) -> str:
    """Where browsers find a file of the console; another one when its content is another, so that they may keep it."""
    return f"{ROOT}/static/{name}?{sha256(static(name)[1]).hexdigest()[:16]}"


def path(*parts: str, **query: object) -> str:
    """An address of the console; parts are quoted as they are ids."""
    address = "/".join((ROOT, *(quote(part, safe="") for part in parts)))
    given = {name: str(value) for name, value in query.items() if value not in (None, "")}
    return f"{address}?{urlencode(given)}" if given else address


def anchor(text: str, address: str, **attributes: object) -> str:
    """A link within the console."""
    return element("a", escape(text), href=address, **attributes)


def time_of(published: str) -> str:
    """A date, or a date and time to the minute."""
    return element("time", escape(when(published))) if published else ""


def framed(title: str, body: str, language: str, *, query: str = "", signed_in: bool = True) -> bytes:
    """A whole page of the console.

    Args:
        title: of the page, text.
        body: markup.
        language: ``en`` or ``zh``.
        query: what the search field holds.
        signed_in: whether navigation is shown.
    """
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escape(title)} – es-dedup</title>"
        f'<link rel="stylesheet" href="{file_address(STYLE)}">'
        f'<script src="{file_address(SCRIPT)}" defer></script>'
    )
    skip = anchor(translate(language, "Skip to content"), "#content", class_="skip")
    top = _navigation(language, query) if signed_in else ""
    main = element("main", element("h1", escape(title)), body, id="content", tabindex="-1")
    return (
        f'<!doctype html>\n<html lang="{language}"><head>{head}</head><body>{skip}{top}{main}{_help(language)}</body></html>\n'
    ).encode("utf-8", "replace")


def _navigation(language: str, query: str) -> str:
    links = (
        anchor(translate(language, "Overview"), path()),
        anchor(translate(language, "Clusters"), path("clusters")),
        anchor(translate(language, "Overrides"), path("overrides")),
        anchor(translate(language, "Review"), path("review")),
        anchor(translate(language, "Tune"), path("tune")),
        anchor(translate(language, "Jobs"), path("jobs")),
    )
    label = translate(language, "Search stored pages")
    named = {"aria-label": label, "placeholder": label, "value": query}
    form = element(
        "form",
        entry("q", "search", required=True, maxlength=10_000, **named),
        button(language, "Search"),
        action=path("search"),
        role="search",
    )
    return element("header", element("nav", *links), form, SIGN_OUT, class_="top")


def sign_out_form(language: str) -> str:
    """The button that ends a session."""
    return element("form", button(language, "Sign out"), action=path("sign-out"), method="post")


def _help(language: str) -> str:
    rows = (
        element("dt", *(element("kbd", escape(key)) for key in keys.split()))
        + element("dd", escape(translate(language, text)))
        for keys, text in _KEYS
    )
    close = element("form", button(language, "Close", autofocus=""), method="dialog")
    heading = element("h2", escape(translate(language, "Keys")), id="keys-title")
    return element("dialog", heading, element("dl", *rows), close, id="keys", aria_labelledby="keys-title")
