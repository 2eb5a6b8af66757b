"""The frame of every page that is written: a head that forbids all but the page's own style and script, and the body."""

from __future__ import annotations

import base64
import hashlib
from importlib import resources

from es_dedup.views.markup import escape


def document(title: str, body: str, *, style: str = "", script: str | None = None) -> str:
    """A whole HTML page that works offline.

    Nothing is loaded from outside: a content security policy allows only the page's own style and, where there is one, its own
    script, both by their hashes.

    Args:
        title: shown by the browser.
        body: markup.
        style: rules beside those of ``page.css``.
        script: name of a script of this package, which runs when the body is there; None: nothing runs.
    """
    folder = resources.files("es_dedup.views").joinpath("static")
    style = folder.joinpath("page.css").read_text(encoding="utf-8") + style
    policy = f"default-src 'none'; style-src {_source(style)}; base-uri 'none'; form-action 'none'"
    if script is not None:
        code = folder.joinpath(script).read_text(encoding="utf-8")
        policy += f"; script-src {_source(code)}"
        body += f"<script>{code}</script>"
    head = (
        '<meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escape(title)} – es-dedup</title><style>{style}</style>"
    )
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body><main>{body}</main></body></html>\n'


def _source(text: str) -> str:
    """An inline style or script as a content security policy names it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
