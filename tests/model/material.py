"""Texts whose relations are known by how they are made.

A content is named ``kind:family[.number]``. Pages of one family have titles that agree and dates within days, so that statistics of the
corpus weigh every clause fully, however many pages are stored; pages of different families have nothing in common. Contents of kind
``template`` are the exception: unlike titles over the same closing sentences, over years.

=========== ================================================================= ===============================================
kind        text                                                              relation within the family
=========== ================================================================= ===============================================
full        24 random sentences                                               exact to itself
edit        the same with two other sentences, by number                      duplicate to ``full`` and to other edits
part        the first 9 sentences                                             contained in ``full`` and in edits
digest      ``full`` of this family and the next                              contains both
window      16 of 46 sentences, from the third of each number                 neighbours are duplicates, far ones different
template    8 sentences of its own, 12 that all templates share               different, once that is learned
=========== ================================================================= ===============================================
"""

import random
from dataclasses import dataclass
from functools import cache
from typing import Final

from es_dedup.model import Page
from tests.texts import article

FAMILIES: Final = 5
EDITS: Final = 4
WINDOWS: Final = 6
TEMPLATES: Final = 12
SENTENCES: Final = 24
DAYS: Final = 9
NEUTRAL: Final = ("full", "full", "edit", "edit", "part", "digest", "window")


@dataclass(frozen=True, slots=True)
class Version:
    """What a page holds: the name of a content, and a day (0: no time is known)."""

    content: str
    day: int

    @property
    def published(self) -> str | None:
        """ISO 8601 date."""
        if not self.day:
            return None
        if self.content.startswith("template"):
            return f"{2020 + self.day % 4}-0{self.day}-11"
        return f"2026-03-0{self.day}"

    def page(self, page_id: str) -> Page:
        """The page of that id with this version."""
        title, text = text_of(self.content)
        return Page(page_id, text=text, title=title, published=self.published)


@cache
def text_of(content: str) -> tuple[str, str]:
    """Title and text of a content."""
    kind, _, rest = content.partition(":")
    family, _, number = rest.partition(".")
    at = int(number or 0)
    if kind == "template":
        own, shared = _sentences(9_000 + int(family), 8), _sentences(8_999, 12)
        return _title(9_000 + int(family)), "".join(own + shared)
    if kind == "window":
        return _title(5_000 + int(family)), "".join(_sentences(5_000 + int(family), 46)[3 * at : 3 * at + 16])
    sentences = _sentences(int(family), SENTENCES)
    if kind == "part":
        sentences = sentences[:9]
    elif kind == "edit":
        sentences[3 + 4 * at : 5 + 4 * at] = _sentences(1_000 + 10 * int(family) + at, 2)
    elif kind == "digest":
        following = (int(family) + 1) % FAMILIES
        return _title(int(family)) + _title(following), "".join(sentences + _sentences(following, SENTENCES))
    return _title(int(family)), "".join(sentences)


def constructed(left: str, right: str) -> str | None:
    """How the first content stands to the second by how they are made; None for different ones. For all but windows and templates."""
    if left == right:
        return "exact"
    (first, own), (second, other) = (name.partition(".")[0].split(":") for name in (left, right))
    if "digest" in (first, second):
        if first == second:
            return None  # two digests share one article of two
        holds = left if first == "digest" else right
        families = {int(holds.partition(":")[2]), (int(holds.partition(":")[2]) + 1) % FAMILIES}
        inside = int(other if first == "digest" else own) in families
        return ("contains" if first == "digest" else "contained") if inside else None
    if own != other:
        return None
    if "part" in (first, second):
        return "contained" if first == "part" else "contains"
    return "duplicate"


def drawn(rng: random.Random, *, templates: bool = False) -> Version:
    """A random version."""
    day = rng.choice((0, *range(1, DAYS + 1)))
    if templates and rng.random() < 0.7:
        return Version(f"template:{rng.randrange(TEMPLATES)}", day)
    kind, family = rng.choice(NEUTRAL), rng.randrange(FAMILIES)
    numbers = {"edit": EDITS, "window": WINDOWS}
    number = f".{rng.randrange(numbers[kind])}" if kind in numbers else ""
    return Version(f"{kind}:{family % 2 if kind == 'window' else family}{number}", day)


def _sentences(seed: int, count: int) -> list[str]:
    return [f"{sentence}。" for sentence in article(seed, sentences=count).split("。") if sentence]


def _title(seed: int) -> str:
    return article(seed, sentences=1)[:12]
