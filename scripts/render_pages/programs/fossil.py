"""Fossil: its forum, and its tickets with remarks."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from scripts.render_pages import gold, markup
from scripts.render_pages.composing import Shape
from scripts.render_pages.installing import LIBRARIES, run
from scripts.render_pages.model import Page
from scripts.render_pages.programs.program import Program

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from scripts.render_pages.installing import Work
    from scripts.render_pages.model import Comment, Document, Site

PACKAGES: Final = ("fossil=1:2.21-1+deb12u1", "libfuse2=2.9.9-6+b1")
SKINS: Final = "ardoise black_and_white blitz darkmode default eagle khaki original plain_gray xekri"
SHAPE: Final = Shape(
    kind="thread", posts=100, blocks=frozenset({"code", "list", "ordered"}), signatures=False
)
RESERVED: Final = str.maketrans({"\\": "\\\\", " ": "\\s", "\n": "\\n", "\r": "\\r", "\t": "\\t"})
SETTING: Final = "replace into config(name,value,mtime) values('{}','{}',now());\n"
READERS: Final = "update user set cap='ghjorz234w' where login='nobody';\n"


def _artifact(cards: list[str], text: str = "") -> bytes:
    """A record in the program's format: cards, perhaps a text, and their checksum."""
    body = text.encode()
    record = "".join(f"{card}\n" for card in cards).encode()
    if text:
        record += f"W {len(body)}\n".encode() + body + b"\n"
    return record + f"Z {hashlib.md5(record).hexdigest()}\n".encode()  # noqa: S324 - as the format says


def _date(post: Comment) -> str:
    return f"D {post.date:%Y-%m-%dT%H:%M:%S}.000"


def _name(post: Comment) -> str:
    return f"U {post.author.translate(RESERVED)}"


def _text(post: Comment, kind: str) -> str:
    if kind == "text/x-markdown":
        return markup.markdown(post.blocks, figures=False)
    return markup.html(post.blocks)


def _thread(document: Document, kind: str, folder: Path) -> str:
    """Write the posts of a thread; the name of its page."""
    names: list[str] = []
    for at, post in enumerate(document.posts):
        cards = [_date(post)]
        if at:
            answered = names[max(post.parent, 0)]
            cards += [f"G {names[0]}", f"I {answered}"]
        else:
            cards.append(f"H {document.title.translate(RESERVED)}")
        record = _artifact([*cards, f"N {kind}", _name(post)], _text(post, kind))
        names.append(hashlib.sha3_256(record).hexdigest())
        (folder / f"{document.slug}-{at}").write_bytes(record)
    return names[0]


def _ticket(document: Document, kind: str, folder: Path) -> str:
    """Write a ticket with its remarks; the name of its page."""
    name = hashlib.sha1(document.slug.encode()).hexdigest()  # noqa: S324 - any 40 digits
    for at, post in enumerate(document.posts):
        fields = {"icomment": _text(post, kind), "login": post.author, "mimetype": kind}
        if not at:
            fields |= {
                "status": "Open",
                "title": document.title,
                "type": "Code_Defect",
                "subsystem": document.category,
            }
        cards = [f"J {field} {value.translate(RESERVED)}" for field, value in sorted(fields.items())]
        record = _artifact([_date(post), *cards, f"K {name}", _name(post)])
        (folder / f"{document.slug}-{at}").write_bytes(record)
    return name


def _nested(posts: tuple[Comment, ...]) -> list[int]:
    """Indexes of posts, answers directly below what they answer."""
    below: dict[int, list[int]] = {}
    for at, post in enumerate(posts[1:], 1):
        below.setdefault(max(post.parent, 0), []).append(at)
    order: list[int] = []
    waiting = [0]
    while waiting:
        at = waiting.pop()
        order.append(at)
        waiting += reversed(below.get(at, []))
    return order


def _settings(site: Site) -> str:
    """SQL that names the site and its menu, and lets everybody read."""
    menu = "\n".join(f"{name.replace(' ', '-')} /n{at} * {{}}" for at, name in enumerate(site.some(3, 12)))
    values = {
        "project-name": site.title,
        "project-description": site.tagline,
        "mainmenu": menu if site.chance(0.7) else "",
        "timeline-utc": str(int(site.chance(0.5))),
    }
    lines = [SETTING.format(key, value.replace("'", "''")) for key, value in values.items() if value]
    return "".join([*lines, READERS])


def _render(site: Site, work: Work) -> Iterator[Page]:
    root = work.debian("fossil", PACKAGES)
    folder = work.fresh("fossil", site.theme)
    libraries = f"{root / LIBRARIES}:{root / 'lib/x86_64-linux-gnu'}"
    variables = {"LD_LIBRARY_PATH": libraries, "HOME": str(folder), "USER": "admin", "REMOTE_USER": ""}
    program = str(root / "usr/bin/fossil")
    (folder / "records").mkdir()
    kind = site.rng.choice(("text/x-markdown", "text/x-markdown", "text/x-fossil-wiki"))
    forum = [site.chance(0.7) for _ in site.documents]
    write = (_ticket, _thread)
    names = [
        write[as_thread](document, kind, folder / "records")
        for document, as_thread in zip(site.documents, forum, strict=True)
    ]
    run([program, "reconstruct", "site.fossil", "records"], folder, environment=variables)
    settings = [program, "sql", "-R", "site.fossil"]
    run(settings, folder, environment=variables, given=_settings(site))
    for document, name, as_thread in zip(site.documents, names, forum, strict=True):
        order = list(range(len(document.posts)))
        path = f"/tktview/{name[:16]}"
        if as_thread:
            form = site.rng.choice("cch")
            order = _nested(document.posts) if form == "h" else order
            path = f"/forumpost/{name[:12]}?t={form}"
        answer = run(
            [program, "http", "site.fossil", "--nocompress", "--https", "--skin", site.theme],
            folder,
            environment=variables,
            given=f"GET {path} HTTP/1.0\r\nHost: {site.host}\r\n\r\n",
        )
        page = answer.partition("\n\n")[2].encode()
        yield Page(document, path, page, gold.thread_text(document.posts[at] for at in order))


PROGRAM: Final = Program(
    "fossil", "BSD-2-Clause", PACKAGES, dict.fromkeys(SKINS.split(), "BSD-2-Clause"), SHAPE, _render
)
