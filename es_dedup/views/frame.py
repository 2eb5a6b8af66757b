"""What stands around each view of the console: who looks at it, where its views and files are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib import resources
from typing import Final
from urllib.parse import quote, urlencode

from es_dedup.model.translations import ENGLISH

ROOT: Final = "/console"
POLICY: Final = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
"""Content security policy of the console: its own style, script and addresses, no inline ones, nothing of others."""
STYLE: Final = "views.css"
SCRIPT: Final = "console.js"
FILES: Final = {STYLE: "text/css", SCRIPT: "text/javascript"}
"""Files of the console in ``static``, with their media types."""


@dataclass(frozen=True, slots=True)
class Visitor:
    """Who looks at a view.

    Attributes:
        language: of the words, ``en`` or ``zh``.
        index: name of the index that is looked at.
        inside: whether the views are open to them: there is no sign-in, or they have signed in.
        session: whether they can sign out.
        writes: whether they may decide.
        name: under which they decided last; empty before.
    """

    language: str = ENGLISH
    index: str = ""
    inside: bool = True
    session: bool = False
    writes: bool = False
    name: str = ""


@cache
def file_text(name: str) -> str:
    """A file of ``static``."""
    return resources.files(__package__).joinpath("static", name).read_text(encoding="utf-8")


@cache
def file_address(name: str) -> str:
    """Where browsers find a file of the console; another one when its content is another, so that they may keep it."""
    return f"{ROOT}/static/{name}?{sha256(file_text(name).encode()).hexdigest()[:16]}"


def path(*parts: str, **query: object) -> str:
    """An address of the console; parts are quoted as they are ids."""
    address = "/".join((ROOT, *(quote(part, safe="") for part in parts)))
    given = {name: str(value) for name, value in query.items() if value not in (None, "")}
    return f"{address}?{urlencode(given)}" if given else address
