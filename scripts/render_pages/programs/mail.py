"""Posts as mails: wrapped plain text with quoted lines, and what an archive shows of them."""

from __future__ import annotations

import textwrap
from email.message import EmailMessage
from email.utils import format_datetime
from typing import TYPE_CHECKING, Final

from scripts.render_pages.model import SPACED, plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scripts.render_pages.model import Block, Comment, Document, Site

COLUMNS: Final = 72
WIDE: Final = 36  # columns of a line of wide characters


def attribution(author: str) -> str:
    """The line that mail programs put above a quote."""
    return f"{author} wrote:"


def lines(blocks: Sequence[Block], language: str) -> list[str]:
    """The lines of a mail's body, with empty lines between blocks."""
    found: list[str] = []
    for block in blocks:
        if found:
            found.append("")
        if block.kind == "quote":
            found.append(attribution(block.source or "You"))
            found += [f"> {line}" for item in block.texts for line in wrapped(plain(item), language)]
        elif block.kind in {"list", "ordered"}:
            for at, item in enumerate(block.texts, 1):
                mark = f"{at}. " if block.kind == "ordered" else "* "
                found += wrapped(mark + plain(item), language)
        elif block.kind == "code":
            found += ["    " + plain(line) for line in block.texts]
        else:
            found += [line for item in block.texts for line in wrapped(plain(item), language)]
    return found


def wrapped(value: str, language: str) -> list[str]:
    """The text in lines of at most 72 columns."""
    if language in SPACED:
        return textwrap.wrap(value, COLUMNS, break_on_hyphens=False, break_long_words=False)
    return [value[at : at + WIDE] for at in range(0, len(value), WIDE)]


def body(post: Comment, language: str) -> str:
    """A mail's text with its typed signature."""
    found = lines(post.blocks, language)
    if post.signature:
        found += ["", "-- ", *wrapped(post.signature, language)]
    return "\n".join(found) + "\n"


def messages(document: Document, site: Site) -> list[EmailMessage]:
    """The posts of a thread as mails that answer each other."""
    found = []
    for at, post in enumerate(document.posts):
        mail = EmailMessage()
        mail["Message-ID"] = f"<{document.slug}.{at}@{site.host}>"
        mail["Subject"] = document.title if at == 0 else f"Re: {document.title}"
        mail["From"] = f"{post.author} <u{sum(map(ord, post.author)) % 997}@example.org>"
        mail["To"] = f"list@{site.host}"
        mail["Date"] = format_datetime(post.date)
        if at:
            answered = f"<{document.slug}.{max(post.parent, 0)}@{site.host}>"
            mail["In-Reply-To"] = mail["References"] = answered
        mail.set_content(body(post, site.language))
        found.append(mail)
    return found
