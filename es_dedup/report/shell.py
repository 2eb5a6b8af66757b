"""The frame of every page that is written: a head that forbids all but the page's own style, and the body."""

from __future__ import annotations

import base64
import hashlib
from importlib import resources

from es_dedup.report.markup import escape


def document(title: str, body: str, *further_styles: str) -> str:
    """A whole HTML page that works offline.

    Nothing is loaded from outside and nothing runs: a content security policy allows only the page's own style.

    Args:
        title: shown by the browser.
        body: markup.
        further_styles: names of style sheets of this package, beside ``page.css``.
    """
    folder = resources.files("es_dedup.report")
    names = ("page.css", *further_styles)
    style = "".join(folder.joinpath(name).read_text(encoding="utf-8") for name in names)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    head = (
        '<meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escape(title)} – es-dedup</title><style>{style}</style>"
    )
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body><main>{body}</main></body></html>\n'
