"""Texts before they are rendered: blocks of runs, articles, threads and the sites that show them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from datetime import datetime
    from random import Random

Style = Literal["", "strong", "em", "code", "link"]
Kind = Literal["paragraph", "heading", "list", "ordered", "table", "code", "quote", "image"]
Text = tuple[tuple[str, Style], ...]
"""Runs of characters with their style; joined without a separator."""

SPACED: Final = frozenset({"en", "de", "fr", "ru", "es"})
"""Languages that put spaces between words."""


def text(value: str) -> Text:
    """One run without a style."""
    return ((value, ""),)


def plain(runs: Text) -> str:
    """The characters of the runs without their styles."""
    return "".join(value for value, _style in runs)


@dataclass(frozen=True, slots=True)
class Block:
    """A block of main text.

    Attributes:
        kind: what it is.
        texts: one text; of a list its items; of a table its cells, row by row, the first row being the head;
            of an image its caption, or nothing; of code its lines.
        level: of a heading, from 2.
        width: columns of a table.
        source: address of an image, language of code, or author of a quote.
    """

    kind: Kind
    texts: tuple[Text, ...]
    level: int = 2
    width: int = 0
    source: str = ""

    def rows(self) -> list[tuple[Text, ...]]:
        """The rows of a table."""
        return [self.texts[at : at + self.width] for at in range(0, len(self.texts), self.width)]


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment or a post of a thread.

    Attributes:
        author: a name.
        date: when it was written.
        blocks: its text.
        signature: text below each post of this author, or nothing.
        parent: index of the post that it answers; -1 for the opening post.
    """

    author: str
    date: datetime
    blocks: tuple[Block, ...]
    signature: str = ""
    parent: int = 0


@dataclass(frozen=True, slots=True)
class Document:
    """An article with its comments, or a thread.

    Attributes:
        kind: as in the labelled sets.
        slug: name in addresses; different for all documents of a site.
        title, author, date, category, tags: metadata, no part of the gold text.
        blocks: text of an article; empty for a thread.
        posts: the posts of a thread, or the comments below an article.
        poll: question and answers above a thread, or nothing.
    """

    kind: Literal["article", "thread"]
    slug: str
    title: str
    author: str
    date: datetime
    category: str
    tags: tuple[str, ...]
    blocks: tuple[Block, ...] = ()
    posts: tuple[Comment, ...] = ()
    poll: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Site:
    """One installation of a program with a theme and a configuration.

    Attributes:
        program, theme: names.
        host: a made-up name.
        language: of texts and interface: zh, zh-hant, en, ja, de, fr, ru.
        title, tagline, owner: names of the site and its first author.
        phrases: short texts for menus, links and notices.
        documents: what it shows, oldest first.
        rng: draws the configuration.
        phrasing: longer texts for notices and descriptions.
    """

    program: str
    theme: str
    host: str
    language: str
    title: str
    tagline: str
    owner: str
    phrases: tuple[str, ...]
    phrasing: tuple[str, ...]
    documents: tuple[Document, ...]
    rng: Random = field(compare=False)

    def chance(self, share: float) -> bool:
        """Yes with this probability."""
        return self.rng.random() < share

    def some(self, least: int, most: int) -> list[str]:
        """Between ``least`` and ``most`` different phrases."""
        return self.rng.sample(self.phrases, min(self.rng.randint(least, most), len(self.phrases)))


@dataclass(frozen=True, slots=True)
class Page:
    """A rendered page.

    Attributes:
        document: what it shows.
        path: address below the host, with its first slash.
        html: as the program wrote it.
        gold: its main text, one line a block.
    """

    document: Document
    path: str
    html: bytes
    gold: str
