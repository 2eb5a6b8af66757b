"""Fossil: its forum, and its tickets with remarks. Records are written in its format and the program reads them."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from scripts.render_pages import gold, markup
from scripts.render_pages.installing import LIBRARIES, run
from scripts.render_pages.model import Page

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from scripts.render_pages.installing import Work
    from scripts.render_pages.model import Post, Site, Thread

PACKAGES: Final = ("fossil=1:2.21-1+deb12u1", "libfuse2=2.9.9-6+b1")
SKINS: Final = "ardoise black_and_white blitz darkmode default eagle khaki original plain_gray xekri"
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


def _date(post: Post) -> str:
    return f"D {post.date:%Y-%m-%dT%H:%M:%S}.000"


def _name(post: Post) -> str:
    return f"U {post.author.translate(RESERVED)}"


def _text(post: Post, kind: str) -> str:
    if kind == "text/x-markdown":
        return markup.markdown(post.blocks)
    return markup.html(post.blocks)


def _thread(thread: Thread, kind: str, folder: Path) -> str:
    """Write the posts of a thread; the name of its page."""
    names: list[str] = []
    for at, post in enumerate(thread.posts):
        cards = [_date(post)]
        if at:
            answered = names[max(post.parent, 0)]
            cards += [f"G {names[0]}", f"I {answered}"]
        else:
            cards.append(f"H {thread.title.translate(RESERVED)}")
        record = _artifact([*cards, f"N {kind}", _name(post)], _text(post, kind))
        names.append(hashlib.sha3_256(record).hexdigest())
        (folder / f"{thread.slug}-{at}").write_bytes(record)
    return names[0]


def _ticket(thread: Thread, kind: str, folder: Path) -> str:
    """Write a ticket with its remarks; the name of its page."""
    name = hashlib.sha1(thread.slug.encode()).hexdigest()  # noqa: S324 - any 40 digits
    for at, post in enumerate(thread.posts):
        fields = {"icomment": _text(post, kind), "login": post.author, "mimetype": kind}
        if not at:
            fields |= {
                "status": "Open",
                "title": thread.title,
                "type": "Code_Defect",
                "subsystem": thread.category,
            }
        cards = [f"J {field} {value.translate(RESERVED)}" for field, value in sorted(fields.items())]
        record = _artifact([_date(post), *cards, f"K {name}", _name(post)])
        (folder / f"{thread.slug}-{at}").write_bytes(record)
    return name


def _nested(posts: tuple[Post, ...]) -> list[int]:
    """Indexes of posts, answers directly below what they answer."""
    answers: dict[int, list[int]] = {}
    for at, post in enumerate(posts[1:], 1):
        answers.setdefault(max(post.parent, 0), []).append(at)
    order: list[int] = []
    waiting = [0]
    while waiting:
        order.append(waiting.pop())
        waiting += reversed(answers.get(order[-1], []))
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


def render(site: Site, work: Work) -> Iterator[Page]:
    """Build one repository and ask for the page of each thread."""
    root = work.debian("fossil", PACKAGES)
    folder = work.fresh("fossil", site.theme)
    libraries = f"{root / LIBRARIES}:{root / 'lib/x86_64-linux-gnu'}"
    variables = {"LD_LIBRARY_PATH": libraries, "HOME": str(folder), "USER": "admin", "REMOTE_USER": ""}
    program = str(root / "usr/bin/fossil")
    (folder / "records").mkdir()
    kind = site.rng.choice(("text/x-markdown", "text/x-markdown", "text/x-fossil-wiki"))
    forum = [site.chance(0.7) for _ in site.threads]
    write = (_ticket, _thread)
    names = [
        write[as_thread](thread, kind, folder / "records")
        for thread, as_thread in zip(site.threads, forum, strict=True)
    ]
    run([program, "reconstruct", "site.fossil", "records"], folder, environment=variables)
    settings = [program, "sql", "-R", "site.fossil"]
    run(settings, folder, environment=variables, given=_settings(site))
    for thread, name, as_thread in zip(site.threads, names, forum, strict=True):
        order = list(range(len(thread.posts)))
        path = f"/tktview/{name[:16]}"
        if as_thread:
            form = site.rng.choice("cch")
            order = _nested(thread.posts) if form == "h" else order
            path = f"/forumpost/{name[:12]}?t={form}"
        answer = run(
            [program, "http", "site.fossil", "--nocompress", "--https", "--skin", site.theme],
            folder,
            environment=variables,
            given=f"GET {path} HTTP/1.0\r\nHost: {site.host}\r\n\r\n",
        )
        page = answer.partition("\n\n")[2].encode()
        yield Page(path, page, gold.thread_text(thread.posts[at] for at in order))
