"""Source texts in seven languages: paragraphs, titles, phrases and short replies, free of markup characters."""

from __future__ import annotations

import json
import lzma
import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from lxml import html

from scripts.render_pages.model import SPACED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

SETS: Final = {"zh": ("portal-zh", "news-zh-2025", "broadcast-zh"), "en": ("news-en",)}
"""Labelled sets of a language, by file name."""
BOOKS: Final = {"en": "en-US", "ja": "ja-JP", "de": "de-DE", "fr": "fr-FR", "ru": "ru-RU"}
"""Folders of the package debian-handbook."""
NATIVE: Final = {
    "ja": re.compile(r"[\u3040-\u30ff]"),
    "ru": re.compile(r"[а-я]{3}"),
    "de": re.compile(r"\b(der|die|das|und|ist|ein|eine|zu|den)\b"),
    "fr": re.compile(r"\b(le|la|les|des|est|une|du|et)\b"),
}
"""What a paragraph that is translated has; some are not."""
LANGUAGES: Final = ("zh", "zh-hant", "en", "ja", "de", "fr", "ru")
ANY: Final = re.compile("")
MOST_TEXTS: Final = 4000
MARKUP: Final = re.compile(
    r"[*_<>\[\]{}|`\\#$~^&=@•\t\ue000-\uf8ff\ufffd]|https?:|www\.|--|\.\.\.|:\w+:|//|''|\(c\)|\(r\)"
)
"""What some markup language would read as more than text; a paragraph with any of it is left out."""
LEADING: Final = re.compile(r"^[\s\u3000+\-.)\d:>%!?、．（(·]+")
ENDS: Final = re.compile(r"(?<=[。！？!?])|(?<=[.!?])\s+")


@dataclass(frozen=True, slots=True)
class Corpus:
    """Texts of one language.

    Attributes:
        language: one of ``LANGUAGES``.
        texts: documents as lists of paragraphs.
        titles: one-line titles.
        phrases: short texts of one to four words, for menus, tags and cells.
        replies: posts of one or two sentences.
    """

    language: str
    texts: tuple[tuple[str, ...], ...]
    titles: tuple[str, ...]
    phrases: tuple[str, ...]
    replies: tuple[str, ...]


@cache
def load(language: str, data: Path, books: Path) -> Corpus:
    """Read the texts of a language.

    Args:
        language: one of ``LANGUAGES``.
        data: folder of the labelled sets (``*.jsonl.xz``).
        books: folder where the package debian-handbook is unpacked.
    """
    if language == "zh-hant":
        return _traditional(load("zh", data, books))
    texts: list[tuple[str, ...]] = []
    titles: list[str] = []
    for name in SETS.get(language, ()):
        for record in _records(data / f"{name}.jsonl.xz", MOST_TEXTS):
            texts.append(_clean(_paragraphs(record["text"], language)))
            titles.append(_title(record.get("title", ""), language))
    if language in BOOKS:
        for page in sorted(books.glob(f"**/html/{BOOKS[language]}/*.html")):
            texts.extend(tuple(filter(NATIVE.get(language, ANY).search, lines)) for lines in _book(page))
    texts = [paragraphs for paragraphs in texts if paragraphs]
    sentences = [part for paragraphs in texts for line in paragraphs for part in _sentences(line)]
    replies = [part for part in sentences if 6 <= len(part) <= 160]
    if language == "zh":
        shorts = (record["text"] for record in _records(data / "short-zh.jsonl.xz", MOST_TEXTS))
        replies = [line for short in shorts for line in _clean([short])] or replies
    titles = [title for title in titles if title] or [
        part.rstrip(".。") for part in sentences if 12 <= len(part) <= 60
    ]
    return Corpus(language, tuple(texts), tuple(titles), _phrases(sentences, language), tuple(replies))


def _records(path: Path, most: int) -> Iterator[dict[str, Any]]:
    with lzma.open(path, "rt", encoding="utf8") as lines:
        for _at, line in zip(range(most), lines, strict=False):
            yield json.loads(line)


def _paragraphs(value: str, language: str) -> list[str]:
    """Paragraphs; those of wrapped English agency news begin with four spaces."""
    if language == "en":
        return [" ".join(part.split()) for part in re.split(r"\n {3,}", value)]
    return value.splitlines()


def _clean(lines: Iterable[str]) -> tuple[str, ...]:
    tidy = (LEADING.sub("", " ".join(line.split())) for line in lines)
    return tuple(line for line in tidy if len(line) >= 8 and not MARKUP.search(line))


def _title(value: str, language: str) -> str:
    cleaned = LEADING.sub("", re.sub(r"^\[[^\]]*\]|\s+-\s.*$|_.*$", "", " ".join(value.split())))
    if language == "en":
        cleaned = cleaned.capitalize()
    return "" if MARKUP.search(cleaned) or "%" in cleaned or not 4 <= len(cleaned) <= 80 else cleaned


def _book(page: Path) -> Iterator[tuple[str, ...]]:
    """The running paragraphs of a page of the handbook, in groups as they stand together."""
    root = html.document_fromstring(page.read_bytes(), parser=html.HTMLParser(encoding="utf8"))
    for section in root.iter("div"):
        found = [
            child
            for child in section
            if (child.tag == "p" or child.get("class") == "para")
            and not any(inner is not child for inner in child.iter("div", "ul", "pre"))
        ]
        lines = _clean("".join(str(part) for part in element.itertext()) for element in found)
        if sum(len(line) for line in lines) >= 200:
            yield lines


def _sentences(line: str) -> list[str]:
    return [part.strip() for part in ENDS.split(line) if part and part.strip()]


def _phrases(sentences: Iterable[str], language: str) -> tuple[str, ...]:
    """Parts between punctuation that are short enough for a menu, in order of first use."""
    found: dict[str, None] = {}
    for sentence in sentences:
        for part in re.split(r"[^\w\s-]+", sentence):
            words = part.split()
            fits = (
                1 <= len(words) <= 4 and 4 <= len(part.strip()) <= 28
                if language in SPACED
                else 2 <= len(part) <= 9
            )
            if fits and not re.search(r"\d", part):
                found[" ".join(words)] = None
        if len(found) > MOST_TEXTS:
            break
    return tuple(found)


def _traditional(source: Corpus) -> Corpus:
    """The same texts in traditional characters, by phrase."""
    from opencc import OpenCC  # noqa: PLC0415 - the dictionary loads only where it is used

    convert = OpenCC("s2tw").convert

    def each(lines: Iterable[str]) -> tuple[str, ...]:
        return tuple(convert("\n".join(lines)).split("\n"))

    texts = tuple(each(paragraphs) for paragraphs in source.texts[1::3])
    return Corpus(
        "zh-hant", texts, each(source.titles[1::3]), each(source.phrases), each(source.replies[1::3])
    )
