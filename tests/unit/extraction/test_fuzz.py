"""Random and mutated pages: never an exception, never a lone surrogate, never out of time.

``ES_DEDUP_FUZZ=1000000 pytest tests/unit/extraction/test_fuzz.py`` runs that many mutations instead of 10,000;
``ES_DEDUP_FUZZ_SEED`` changes the seed. Every fifth input goes through the ``topic`` method and through lxml as well. A failure names the number of the input: it depends on nothing but the seed.
"""

from __future__ import annotations

import os
import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from es_dedup.config import ExtractionConfig
from es_dedup.extraction import create_extractor, extract
from es_dedup.model import Content, Skipped

COUNT = int(os.environ.get("ES_DEDUP_FUZZ", "10000"))
SEED = int(os.environ.get("ES_DEDUP_FUZZ_SEED", "20261121"))
MAX_SECONDS = 2.0  # of processor time; a page of a few kilobytes takes below 20 ms
REASONS = {"binary", "empty", "timeout"}

BASE = """<!DOCTYPE html><html><head><meta charset="{charset}"><title>标题 - 某某网</title>
<link rel="canonical" href="/a.html"><meta property="og:title" content="标题">
<meta property="article:published_time" content="2026-03-04T10:20:30+08:00">
<script type="application/ld+json">{{"datePublished": "2026-03-04"}}</script><style>p {{}}</style></head>
<body class="page"><div id="nav" style="width:30%"><ul><li><a href="/1">首页</a><li><a href='/2'>频道</a></ul></div>
<!-- 注释 --><div class="article" width=90%><h1>标题</h1><span>发布时间：2026-03-04 10:20 来源：某报</span>
<p>这是正文的第一段，有逗号，也有句号。<b>粗体<i>斜体</b></i> &amp; &#x4e2d; &nbsp; é</p><p hidden>隐藏。
<p>The second paragraph, in English, has commas and stops.<br>换行。<pre>a
b</pre><table><tr><td>1<td>2</table></div>
<div style="display:none">不可见</div><textarea>x</textarea><svg><path/></svg><footer>版权所有</footer></body></html>"""
THREAD = """<html><head><meta charset={charset}><meta name=generator content="Discuz! X3.4"><title>帖子 - 论坛</title>
<script type="application/ld+json">{{"@type": ["QAPage"], "text": "<p>正文</p>", "author": [{{"name": 1}}]}}</script>
<script>window.__STATE__ = {{"post": {{"content": "很长的正文。很长的正文。"}}}};</script></head><body class="forum">
<main role=main><article class="post hidden md:block"><a href=/u>楼主</a><div class="message">第一楼说，这里有话，也有图。<blockquote>引用</blockquote></div>
</article><article class="post"><h1>another</h1><div class="message">Second post, with a comma.<br>And a line.</div><div class=btn>回复</div></article>
<div class="comment-list"><p>评论一，说得好。<p>评论二，不同意。</div></main><figure><figcaption>图注，一句。</figcaption></figure></body></html>"""
PIECES = (
    b"<", b">", b"</", b"/>", b"<!--", b"-->", b"<![CDATA[", b"]]>", b"<!", b"<?", b"\0", b"\xff", b"\xfe\xff", b"\xe4\xb8",
    b"\x81", b"\x1b$B", b"\x0e", b"&", b"&#", b"&#0;", b"&#xD800;", b"&#x110000;", b"&#1;", b"&lt;", b'"', b"'", b"=", b"`",
    b"<p>", b"</p>", b"<div>", b"</div>", b"<b>", b"</b>", b"<table>", b"<td>", b"<title>", b"<script>", b"</script>",
    b"<textarea>", b"<plaintext>", b"<svg>", b"<math>", b"<template>", b"<select>", b"<frameset>", b"<body hidden>",
    b"<base href='http://['>", b"<a href=", b"<meta charset=utf-16>", b"<meta charset=utf-7>", b" style='width:'", b" hidden ",
    b"<time datetime='9999-99-99'>", b"\xed\xa0\x80", b"\xef\xbf\xbf", b"\xe2\x80\xae", b"\r", b"<xmp>", b"<o:p>", b"<a:b:c>",
    b"<\xc3\xa9>", b"<image>", b"<isindex>", b"</html>", b"</body>", b"<html>", b"<head>",
)  # fmt: skip
CHARSETS = ("utf-8", "gb18030", "big5", "utf-16", "utf-32", "iso2022_jp", "hz", "cp1252")
CLAIMS = (
    None,
    "",
    "gbk",
    "utf-8",
    "big5",
    "utf-16",
    "iso-8859-1",
    "iso-2022-jp",
    "hz",
    "utf-7",
    "\ud800",
    "x-none",
    "cp037",
)
EXTRACTORS = (
    create_extractor(ExtractionConfig(max_depth=32)),
    create_extractor(ExtractionConfig(max_depth=32, extractor="topic")),
    create_extractor(ExtractionConfig(max_depth=32, parser="lxml")),
)


def mutated(number: int) -> tuple[bytes | str, str | None]:
    """Input ``number`` of the series: a page in a random charset with random damage, and a random claim."""
    rng = random.Random(f"{SEED}/{number}")
    charset = rng.choice(CHARSETS)
    data = bytearray(
        rng.choice((BASE, THREAD)).format(charset=rng.choice(CHARSETS)).encode(charset, "ignore")
    )
    for _ in range(rng.choice((1, 3, 10, 60))):
        start = rng.randrange(len(data) + 1)
        end = min(len(data), start + rng.choice((0, 0, 1, 5, 80)))
        match rng.randrange(5):
            case 0:
                data[start:end] = rng.choice(PIECES) * rng.choice((1, 1, 2, 40))
            case 1:
                data[start:end] = rng.randbytes(rng.randrange(1, 9))
            case 2:
                del data[start:end]
            case 3:
                data[start:start] = data[start : start + rng.randrange(1, 400)]
            case _:
                data[start:end] = data[start:end][::-1]
    if rng.random() < 0.05:
        data = data[: rng.randrange(len(data) + 1)]
    page = bytes(data)
    return (page.decode("utf-8", "surrogateescape") if rng.random() < 0.1 else page), rng.choice(CLAIMS)


def check(found: Content | Skipped) -> None:
    if isinstance(found, Skipped):
        assert found.reason in REASONS
        return
    assert found.text.strip()
    assert found.language in {"zh", "en", "und"}
    for text in (found.text, found.title, found.url or "", found.site):
        text.encode("utf-8")  # raises for lone surrogates
        assert "\0" not in text


@pytest.mark.timeout(0)
def test_mutated_pages_give_content_or_a_reason() -> None:
    print(f"seed {SEED}, {COUNT} inputs")
    for number in range(COUNT):
        page, claim = mutated(number)
        for extractor in EXTRACTORS[: 1 if number % 5 else None]:
            start = time.process_time()
            try:
                check(extractor.extract(page, url="http://example.cn/x/", http_charset=claim))
            except Exception as error:
                raise AssertionError(f"input {number} of seed {SEED}, {extractor.name}") from error
            assert time.process_time() - start < MAX_SECONDS, (
                f"input {number} of seed {SEED}, {extractor.name}"
            )


markup = st.lists(
    st.one_of(
        st.sampled_from([piece.decode("utf-8", "surrogateescape") for piece in PIECES]),
        st.text(max_size=20),
        st.text(alphabet=st.characters(codec=None, exclude_categories=()), max_size=5),
        st.sampled_from(["<p>正文，内容。</p>", "<div class='nav'>", "<h1>", "标题", " ", "\n"]),
    ),
    max_size=40,
).map("".join)


@given(st.binary(max_size=2000), st.one_of(st.none(), st.text(max_size=12)))
@settings(max_examples=300, deadline=2000)
def test_any_bytes_give_content(data: bytes, claim: str | None) -> None:
    found = extract(data, http_charset=claim)
    found.text.encode("utf-8")


@given(markup, st.one_of(st.none(), st.text(max_size=30)))
@settings(max_examples=300, deadline=2000)
def test_any_markup_gives_content(page: str, url: str | None) -> None:
    for extractor in EXTRACTORS:
        found = extractor.extract(page, url=url)
        if isinstance(found, Content):
            found.text.encode("utf-8")
            found.title.encode("utf-8")


@given(
    st.text(
        alphabet=st.characters(codec="gb18030", exclude_categories=("Cs", "Cc", "Cn", "Co")), max_size=200
    )
)
@settings(max_examples=200, deadline=2000)
def test_declared_and_true_charsets_agree_on_the_text(text: str) -> None:
    page = f"<html><head><meta charset=gb18030></head><body><p>的一是不了在人有我他，{text.replace('<', '')}。</p></body></html>"
    assert extract(page.encode("gb18030")).text == extract(page).text
