"""Archives of mailing lists."""

from __future__ import annotations

import mailbox
import re
from functools import partial
from typing import TYPE_CHECKING, Final

from scripts.render_pages import gold
from scripts.render_pages.composing import Shape
from scripts.render_pages.installing import run
from scripts.render_pages.model import Page
from scripts.render_pages.programs import mail
from scripts.render_pages.programs.driving import drive, payload
from scripts.render_pages.programs.program import Program

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scripts.render_pages.installing import Work
    from scripts.render_pages.model import Site

HYPERKITTY: Final = ("HyperKitty==1.3.12", "django==5.0.14")
SHAPE: Final = Shape(
    kind="thread", posts=100, blocks=frozenset({"code", "list"}), signatures=False, inline=False
)

MAIL: Final = Shape(kind="thread", posts=20, blocks=frozenset({"code", "list"}), inline=False)


def _hyperkitty(site: Site, work: Work) -> Iterator[Page]:
    python = work.pip("hyperkitty", HYPERKITTY) / "python"
    folder = work.fresh("hyperkitty", site.theme)
    given = payload(site, lambda _blocks: "")
    for document, shown in zip(site.documents, given["documents"], strict=True):
        shown["mails"] = [message.as_string() for message in mail.messages(document, site)]
    yield from drive(
        python,
        "drive_hyperkitty.py",
        folder,
        site,
        given,
        partial(gold.thread_text, attribution=mail.attribution),
    )


MHONARC: Final = ("mhonarc=2.6.19-2.2",)
MESSAGE: Final = re.compile(rb"<!--X-Message-Id: (\w+)\.(\d+)")
ENCODE: Final = "<TEXTENCODE>\nutf-8; MHonArc::UTF8::to_utf8; MHonArc/UTF8.pm\n</TEXTENCODE>\n"
TEXT: Final = "<MIMEARGS>\nm2h_text_plain::filter; {}\n</MIMEARGS>\n"
FILTERS: Final = ("quoteclass", "asis", "nonfixed keepspace", "maxwidth=100", "default")
ORDERS: Final = ("-sort", "-reverse", "-subsort", "-treverse", "-nothread")
MESSAGES: Final = 3  # pages of one thread


def _mhonarc(site: Site, work: Work) -> Iterator[Page]:
    """Pages of single messages; quoted lines keep their marks."""
    root = work.debian("mhonarc", MHONARC)
    folder = work.fresh("mhonarc", site.theme)
    box = mailbox.mbox(folder / "mails")
    for document in site.documents:
        for message in mail.messages(document, site):
            box.add(message)
    box.close()
    (folder / "rc").write_text(ENCODE + TEXT.format(site.rng.choice(FILTERS)))
    library = root / "usr/share/mhonarc"
    titles = ["-title", site.title, "-ttitle", site.tagline]
    options = [site.rng.choice(ORDERS), *titles, "-rcfile", "rc", "-outdir", "out", "-quiet"]
    (folder / "out").mkdir()
    run(["perl", f"-I{library}", str(root / "usr/bin/mhonarc"), *options, "mails"], folder)
    by_slug = {document.slug: document for document in site.documents}
    shown = dict.fromkeys(by_slug, 0)
    for path in sorted((folder / "out").glob("msg*.html")):
        page = path.read_bytes()
        named = MESSAGE.search(page)
        if named is None or shown[named[1].decode()] >= MESSAGES:
            continue
        document = by_slug[named[1].decode()]
        shown[document.slug] += 1
        body = mail.body(document.posts[int(named[2])], site.language)
        yield Page(document, f"/archive/{path.name}", page, body)


PROGRAMS: Final = (
    Program("hyperkitty", "GPL-3.0", HYPERKITTY, {"default": "GPL-3.0"}, SHAPE, _hyperkitty),
    Program("mhonarc", "GPL-2.0", MHONARC, {"default": "GPL-2.0"}, MAIL, _mhonarc),
)
