"""``compile``: machine code for the inner loops, made ahead of the work that uses it."""

from __future__ import annotations

import os
import threading
import time
from importlib import import_module
from importlib.util import find_spec
from pkgutil import walk_packages
from typing import Annotated, Final

import typer

from es_dedup.cli.group import CommandFailed
from es_dedup.cli.progress import ProgressDisplay
from es_dedup.cli.session import Session
from es_dedup.errors import MissingExtra
from es_dedup.model import Page

PARENT_SECONDS: Final = 0.5  # between looks whether the process that asked for it still lives
OTHER_DETECTORS: Final = ("dwdcs",)
"""Methods with kernels that are not enabled by default."""
ZH: Final = (
    "市水务局昨日表示，城南三座泵站已完成检修，雨季前可全部投用。",
    "记者从现场了解到，这批设备共12台，总价3.5亿元，比去年多出两成！",
    "“我们等了整整七年。”住在河边的老周说，“如今夜里终于能睡安稳了。”",
    "二〇二六年一月起，新规将在全省四十二个县同时施行；讀者們都說裡面的書頁還留著濕氣。",
)
EN: Final = (
    "The harbour authority reopened its northern quay on Tuesday after eleven weeks of repairs. ",
    "Prices rose by 1,250 dollars (about 3.5%), the sharpest increase since 2019! ",
    "Nobody was hurt, said J. O\u2019Neill, who runs version 2.1 of the ticket system. ",
    "Will the council pay for it? A spokesman wouldn't say: the budget is still being written. ",
)


def compile_(session: Session, *, parent: Annotated[int, typer.Option(hidden=True)] = 0) -> None:
    """Compile the kernels of the extra `fast` ahead of their first use: about 20 seconds, once per installation.

    Args:
        parent: Stop when the process with this id ends.
    """
    from filelock import FileLock

    from es_dedup.kernels import dispatch

    if find_spec("numba") is None:
        raise MissingExtra("numba", "fast", "compiled kernels")
    folder = dispatch.cache_folder()
    if folder is None:
        raise CommandFailed("there is no folder to keep compiled code in: set NUMBA_CACHE_DIR")
    if parent:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    started = time.perf_counter()
    before = dispatch.is_compiled()
    if not before:
        with FileLock(folder / "compile.lock"):  # one process compiles, others wait
            if not dispatch.is_compiled():
                with session.progress() as progress:
                    _compile(progress)
                dispatch.mark_compiled()
    seconds = round(time.perf_counter() - started, 2)
    session.output.result({"compiled": not before, "folder": folder, "seconds": seconds})


def _compile(progress: ProgressDisplay) -> None:
    """Run every kernel on a few pages, so that numba compiles it and keeps the code."""
    import es_dedup
    from es_dedup.deduplicator.deduplicator import Deduplicator
    from es_dedup.kernels import dispatch
    from es_dedup.kernels.cache import kernels, listeners
    from es_dedup.settings import Settings

    os.environ[dispatch.SWITCH] = "on"
    dispatch.warm_up()
    for module in walk_packages(es_dedup.__path__, "es_dedup."):
        if ".kernels." in module.name:
            import_module(module.name)

    def show() -> None:
        progress.count("compile", sum(bool(each.signatures) for each in kernels), len(kernels))

    show()
    listeners.append(show)
    detectors = (*Settings().detectors, *OTHER_DETECTORS)
    settings = Settings.model_validate({"detectors": detectors, "workers": 1})
    pages = _pages()
    with Deduplicator.open(":memory:", settings=settings) as dedup:
        dedup.scan(pages)
        for page in pages:
            dedup.check(page)
    listeners.remove(show)


def _pages() -> list[Page]:
    """Articles and a thread with copies, in Chinese and English, as HTML and as text."""
    pages = []
    for name, sentences in (("zh", ZH), ("en", EN)):
        title, text = sentences[0], "".join(sentences)
        head = f"<html><head><title>{title} &amp; 12</title><script>var a = '<p>';</script></head><body>"
        links = "<ul class='nav'><li><a href=/a>A</a><li><a href='/b'>B</a></ul><a class='next' href='?page=2'>Next</a>"
        paragraphs = "".join(f"<p class='text'>{sentence * 3}</p>" for sentence in sentences)
        article = (
            f"{head}{links}<article><h1>{title}</h1>{paragraphs}<pre>1\n 2</pre></article></body></html>"
        )
        posts = "".join(
            f"<div class='post' id='p{at}'><a href='/u/{at}'>user {at}</a> 2026-01-0{at + 1} 10:0{at}<p>{sentence}</p></div>"
            for at, sentence in enumerate(sentences)
        )
        pages += [
            Page(id=f"{name}-page", html=article.encode(), url="https://www.example.org/a/1"),
            Page(id=f"{name}-copy", html=article.replace("1\n", "2\n").encode(), published="2026-01-02"),
            Page(id=f"{name}-thread", html=f"{head}{posts * 3}{links}".encode()),
            Page(id=f"{name}-text", text=text * 3, title=title),
            Page(id=f"{name}-part", text=text * 2 + "12, 13.", title=title),
        ]
    return pages


def _end_with(process: int) -> None:
    """End this process when another is gone."""
    while os.getppid() == process:
        time.sleep(PARENT_SECONDS)
    os._exit(1)
