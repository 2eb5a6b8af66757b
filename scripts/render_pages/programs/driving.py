"""Programs that show threads: a script in the program's own environment fills it and asks it for its pages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from scripts.render_pages import gold
from scripts.render_pages.installing import run
from scripts.render_pages.model import Page

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from scripts.render_pages.model import Block, Comment, Document, Site

DRIVERS: Final = Path(__file__).parent / "drivers"
CODES: Final = {"zh": "zh-hans"}
"""Names of languages in Django, where they differ."""


def payload(site: Site, write: Callable[[Sequence[Block]], str], **settings: Any) -> dict[str, Any]:
    """A site as JSON for a driver; texts are in the markup of the program."""
    return {
        "title": site.title,
        "tagline": site.tagline,
        "host": site.host,
        "language": CODES.get(site.language, site.language),
        "owner": site.owner,
        "sections": site.some(4, 10),
        "notices": list(site.phrasing[:5]),
        "per_page": site.rng.choice((10, 15, 20, 20, 30, 50)),
        "seed": site.rng.randrange(10**9),
        "member": site.chance(0.25),
        "documents": [_document(document, write) for document in site.documents],
        **settings,
    }


def _document(document: Document, write: Callable[[Sequence[Block]], str]) -> dict[str, Any]:
    return {
        "slug": document.slug,
        "title": document.title,
        "author": document.author,
        "date": document.date.isoformat(),
        "category": document.category,
        "tags": list(document.tags),
        "poll": list(document.poll),
        "body": write(document.blocks),
        "posts": [_post(post, write) for post in document.posts],
    }


def _post(post: Comment, write: Callable[[Sequence[Block]], str]) -> dict[str, Any]:
    return {
        "author": post.author,
        "date": post.date.isoformat(),
        "body": write(post.blocks),
        "signature": post.signature,
        "parent": post.parent,
    }


def drive(
    interpreter: str | Path,
    driver: str,
    folder: Path,
    site: Site,
    given: dict[str, Any],
    shows: Callable[[Sequence[Comment]], str] = gold.thread_text,
) -> Iterator[Page]:
    """Pages that a driver printed.

    Args:
        interpreter: of the program's environment.
        driver: name of the script's file.
        folder: where it runs.
        site: the site.
        given: from ``payload``.
        shows: gold text of the posts of one page.

    Each line that the driver prints has ``slug``, ``path``, ``html`` and, for a thread, ``shown``: indexes of the posts
    on this page in page order.
    """
    printed = run([str(interpreter), str(DRIVERS / driver)], folder, given=json.dumps(given), minutes=6)
    by_slug = {document.slug: document for document in site.documents}
    for line in printed.splitlines():
        if not line.startswith('{"slug"'):
            continue
        found = json.loads(line)
        document = by_slug[found["slug"]]
        if document.kind == "thread":
            text = shows([document.posts[at] for at in found["shown"]])
        else:
            text = gold.article_text(document)
        yield Page(document, found["path"], found["html"].encode(), text)
