"""Threads before they are rendered: posts of blocks of styled runs, and the sites that show them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from datetime import datetime
    from random import Random

Style = Literal["", "strong", "em", "code", "link"]
Kind = Literal["paragraph", "list", "ordered", "code", "quote"]
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
    """A block of a post.

    Attributes:
        kind: what it is.
        texts: one text; of a list its items; of code its lines.
        source: language of code, or author of a quote.
    """

    kind: Kind
    texts: tuple[Text, ...]
    source: str = ""


@dataclass(frozen=True, slots=True)
class Post:
    """A post of a thread.

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
class Thread:
    """A thread.

    Attributes:
        slug: name in addresses; different for all threads of a site.
        title, author, date, category, tags: metadata, no part of the gold text.
        posts: its posts by date.
    """

    slug: str
    title: str
    author: str
    date: datetime
    category: str
    tags: tuple[str, ...]
    posts: tuple[Post, ...]


@dataclass(frozen=True, slots=True)
class Site:
    """One installation of a program with a theme and a configuration.

    Attributes:
        program, theme: names.
        host: a made-up name.
        language: of texts and interface: zh, zh-hant, en, ja, de, fr, ru.
        title, tagline, owner: names of the site and its first author.
        phrases: short texts for menus, links and notices.
        phrasing: longer texts for notices and descriptions.
        threads: what it shows, oldest first.
        rng: draws the configuration.
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
    threads: tuple[Thread, ...]
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
        path: address below the host, with its first slash.
        html: as the program wrote it.
        gold: its main text, one line a block.
    """

    path: str
    html: bytes
    gold: str
