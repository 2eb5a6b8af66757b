"""Targets: reading of charsets, and extraction by two methods."""

import random
from functools import partial
from typing import Final, NamedTuple

from es_dedup.extraction import HtmlExtractor, create_extractor
from es_dedup.extraction.reading.charset import decode
from es_dedup.model import Content, Skipped
from es_dedup.settings.loading import ExtractionConfig
from tests.fuzz.corpus import pages
from tests.fuzz.harness import Target
from tests.fuzz.mutate import TOKENS, damaged, window

MOST_BYTES: Final = 9_000
"""Of most pages, so that a second has room for hundreds."""
REASONS: Final = frozenset({"binary", "empty", "no-main-text", "timeout"})
CHARSETS: Final = tuple("utf-8 gb18030 big5 utf-16 utf-32 iso2022_jp hz cp1252 euc_jp euc_kr koi8-r".split())
CLAIMS: Final = (
    None, None, "", "gbk", "utf-8", "big5", "utf-16", "iso-8859-1", "iso-2022-jp", "hz", "utf-7", "\ud800", "x-none", "cp037", "idna",
    "punycode", "base64", "unicode_escape", "undefined", "\0", "a" * 300, "text/html; charset=", "utf_8_sig", "mbcs",
)  # fmt: skip
URLS: Final = (
    None,
    "http://example.cn/x/",
    "",
    "http://[",
    "//",
    "javascript:1",
    "http://\ud800/",
    "http://a/?p=2",
    "x" * 3000,
    "http://a:b/",
)
LIMITS: Final = ExtractionConfig(max_depth=32)
BLOCKS: Final = create_extractor(LIMITS)
TOPIC: Final = create_extractor(LIMITS.model_copy(update={"extractor": "topic"}))


class Given(NamedTuple):
    """A page, and what is said of it."""

    html: bytes | str
    charset: str | None
    url: str | None


def given(rng: random.Random) -> Given:
    """A damaged page in any charset, with any claims; now and then as text."""
    whole = rng.choice(pages())
    data = whole if rng.random() < 0.05 else window(rng, whole, rng.choice((300, 2_000, MOST_BYTES)))
    if rng.random() < 0.3:
        data = data.decode("utf-8", "ignore").encode(rng.choice(CHARSETS), "ignore")
    if rng.random() < 0.05:
        data = b"".join(rng.choice(TOKENS) for _ in range(rng.randrange(60)))
    data = damaged(rng, data, pages() if rng.random() < 0.1 else (), most=rng.choice((3, 30)))
    html: bytes | str = data if rng.random() < 0.9 else data.decode("utf-8", "surrogateescape")
    return Given(html, rng.choice(CLAIMS), rng.choice(URLS))


def extracted(extractor: HtmlExtractor, page: Given) -> Content | Skipped:
    """What an extractor says, checked."""
    found = extractor.extract(page.html, url=page.url, http_charset=page.charset)
    if isinstance(found, Skipped):
        assert found.reason in REASONS
        return found
    assert found.text.strip()
    for text in (found.text, found.title, found.url or "", found.site):
        text.encode()  # no lone surrogates
        assert "\0" not in text
    return found


def decoded(page: Given) -> None:
    """Only the charset."""
    if isinstance(page.html, bytes):
        decode(page.html, page.charset).text.encode("utf-8", "surrogatepass")


TARGETS: Final = (
    Target("charset", given, decoded, 100_000),
    Target("extract", given, partial(extracted, BLOCKS), 100_000),
    Target("extract-topic", given, partial(extracted, TOPIC), 10_000),
)
