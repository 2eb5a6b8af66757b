"""Archives of mailing lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from scripts.render_pages.composing import Shape
from scripts.render_pages.programs import mail
from scripts.render_pages.programs.driving import drive, payload
from scripts.render_pages.programs.program import Program

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scripts.render_pages.installing import Work
    from scripts.render_pages.model import Page, Site

HYPERKITTY: Final = ("HyperKitty==1.3.12", "django==5.0.14")
SHAPE: Final = Shape(
    kind="thread", posts=100, blocks=frozenset({"code", "list"}), signatures=False, inline=False
)


def _hyperkitty(site: Site, work: Work) -> Iterator[Page]:
    python = work.pip("hyperkitty", HYPERKITTY) / "python"
    folder = work.fresh("hyperkitty", site.theme)
    given = payload(site, lambda _blocks: "")
    for document, shown in zip(site.documents, given["documents"], strict=True):
        shown["mails"] = [message.as_string() for message in mail.messages(document, site)]
    yield from drive(python, "hyperkitty", folder, site, given, mail.attribution)


PROGRAMS: Final = (Program("hyperkitty", "GPL-3.0", HYPERKITTY, {"default": "GPL-3.0"}, SHAPE, _hyperkitty),)
