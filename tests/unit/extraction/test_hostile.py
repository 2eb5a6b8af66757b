"""Pages made to hurt: each ends in bounded time and memory, and gives what text there is."""

import subprocess
import sys
import time
from collections.abc import Callable
from typing import Final

import pytest

from es_dedup.extraction import extract
from es_dedup.settings.loading import ExtractionConfig

MAX_SECONDS = 30.0  # of processor time; the slowest takes below 3 s, several times that under coverage
MANY = 300_000
ENTITIES = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))

PAGES: dict[str, Callable[[], str | bytes]] = {
    "nested": lambda: "<div>" * 1_000_000 + "x",
    "misnested": lambda: "<div><span></div>x" * MANY,
    "attributes": lambda: "<div " + " ".join(f"a{n}=1" for n in range(100_000)) + ">x</div>",
    "formatting with ids": lambda: "".join(f"<b id={n}><p>x" for n in range(6000)),
    "character references": lambda: "<p>x" + "&amp;&#x1F600;&nosuch;" * MANY,
    "entity bomb": lambda: f"<!DOCTYPE l [<!ENTITY l0 'x'>{ENTITIES}]><p>x &l11;</p>",
    "external entity": lambda: '<!DOCTYPE l [<!ENTITY e SYSTEM "file:///etc/passwd">]><p>x &e;</p>',
    "quotes out of step": lambda: '<p a=="b c=">" ' + " ".join(f"a{n}=1" for n in range(100_000)) + ">x",
    "cells in items": lambda: "<li><td>" * 50_000 + "x",
    "ends of the page": lambda: "<html/></body >x" * MANY,
    "unclosed quotes": lambda: "x" + '<a href="' * MANY,
    "equal signs": lambda: "x<a " + "= " * MANY,
    "empty comments": lambda: "x" + "<!-->" * MANY,
    "tables": lambda: "<table><tr><td>x" * 100_000,
    "paragraphs": lambda: "<p>x" * MANY,
    "stray end tags": lambda: "x" + "</p>" * 1_000_000,
    "links": lambda: "<a href=x>x" * MANY,
    "angle brackets": lambda: b"<" * 5_000_000,
    "spaces": lambda: "<p>" + " \n" * 2_000_000 + "x",
    "dates": lambda: "<p>" + "2026-" * 1_000_000 + "发布时间：" * MANY,
    "title": lambda: "<title>" + "a - " * 1_000_000 + "</title><p>x",
    "a long heading": lambda: "<h1>" + "x" * 5_000_000,
    "deep JSON": lambda: '<script type="application/ld+json">' + "[" * 90_000 + "</script><p>x",
    "class words": lambda: ('<p class="' + "ab " * 600 + '">x') * 3000,
    "brackets": lambda: "<p>x，" + "（【" * 2_000_000,
    "null bytes": lambda: b"<p>\0x\0</p>" * MANY,
    "high bytes": lambda: b"<p>x" + bytes(range(128, 256)) * 40_000,
    "unclosed drawings": lambda: "x" + "<svg><noscript>" * MANY,
    "scripts in quotes": lambda: "x" + '"<script>' * MANY,
    "an unclosed attribute": lambda: 'x<a href="' + "x" * 9_000_000,
    "quotes in a tag": lambda: "x<a " + "b='c " * 1_500_000,
    "tags whose ends stand in a quotation": lambda: "x" + "<a " * 1_500_000 + '="  > "',
    "a comment of dashes": lambda: "x<!--" + "-" * 5_000_000,
    "state of a script": lambda: "x<script>window.a=" + "[" * 900_000 + "</script>",
    "headings": lambda: "<title>abcd</title>" + "<div><h1>abcd</h1><p>words, and more.</div>" * 60_000,
    "tags in one tag": lambda: ("<a " * 999 + ">x") * 3000,
    "attributes in many tags": lambda: ("<p " + " ".join(f"a{n:x}" for n in range(1990)) + ">x") * 900,
    "zero width": lambda: "<p>x" + "\u200b\u202e" * 1_000_000,
}

METHODS: Final = dict.fromkeys(
    ("nested", "misnested", "tables", "links", "paragraphs", "headings"), ("blocks", "topic")
)
"""Pages whose tree is large are read by the published method, too; the others hurt before either begins."""


@pytest.mark.parametrize("name", PAGES)
def test_a_hostile_page_ends_in_time(name: str) -> None:
    page = PAGES[name]()
    for method in METHODS.get(name, ("blocks",)):
        config = ExtractionConfig(extractor=method, max_seconds=600)
        start = time.process_time()
        found = extract(page, url="http://example.cn/", config=config)
        assert time.process_time() - start < MAX_SECONDS
        assert all("skipped" not in note or "empty" in note for note in found.notes)
        assert "root:" not in found.text
        assert name != "entity bomb" or len(found.text) < 100


GROWING: dict[str, Callable[[int], str]] = {
    "boilerplate": lambda n: "<nav>x</nav><main>y</main>" * n,
    "messages and lists": lambda n: (
        "".join(f"<div><pre>aa bb {i}. cc, dd.</pre></div>" for i in range(n // 2))
        + "".join(f"<li>aa bb {i}. cc, dd. <a>y</a></li>" for i in range(n // 2))
    ),
}


@pytest.mark.parametrize("name", GROWING)
def test_the_time_of_a_page_grows_with_its_length(name: str) -> None:
    def seconds(count: int) -> float:
        html = GROWING[name](count)
        start = time.process_time()
        extract(html, url="https://x.example/forum/thread-1")
        return time.process_time() - start

    assert min(seconds(6_000) for _ in range(2)) < 10 * max(min(seconds(1_500) for _ in range(3)), 0.01)


@pytest.mark.parametrize("name", ["formatting with ids", "attributes", "tables", "links"])
def test_the_text_survives_the_guard(name: str) -> None:
    assert "x" in extract(PAGES[name](), config=ExtractionConfig(extractor="plain")).text


def test_a_hundred_megabytes_are_cut_in_bounded_memory() -> None:
    code = (
        "import resource; from es_dedup.extraction import extract\n"
        "page = '<div><p>正文，内容。</p>'.encode() * 2_100_000\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "found = extract(page)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, len(page), found.notes[0])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    kilobytes, size, note = done.stdout.split(maxsplit=2)
    assert int(size) > 60_000_000
    assert int(kilobytes) < 700_000
    assert note.startswith("longer than 10000000 bytes")


def test_an_address_with_half_a_surrogate_pair_gives_content_that_can_be_stored() -> None:
    for page in ("<p>text</p>", ""):
        for url in ("http://a.example/\ud800", "http://\ud800.example/"):
            found = extract(page, url=url)
            assert f"{found.url}{found.site}".encode()
