"""Pages made of the sentences of stored ones, for collections larger than any set at hand, and pages to ask of them."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final

from bench_check import LEAST_CHARS, edited

from es_dedup import Page

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FULL_STOPS: Final = "。！？"
AS_IT_IS: Final = 0.1  # of the sentences of a made page


def questions(real: Sequence[Page], clauses: Sequence[str], count: int) -> list[tuple[Page, str]]:
    """Pages to ask, each with the id of the stored page it is an edited copy of; half of them are new, with no such id."""
    source = random.Random(11)
    long = [page for page in real if len(page.text or "") >= LEAST_CHARS]
    copied = source.sample(long, count // 2)
    asked = [(edited(f"copy-of-{page.id}", page, source), page.id) for page in copied]
    asked += [(page, "") for page in made(count - len(asked), clauses, seed=12, name="new")]
    source.shuffle(asked)
    return asked


def clauses_of(pages: Sequence[Page]) -> list[str]:
    """Sentences of the pages, each once."""
    found: dict[str, None] = {}
    for page in pages:
        text = page.text or ""
        for mark in FULL_STOPS:
            text = text.replace(mark, mark + "\n")
        found.update((line, None) for line in text.split("\n") if len(line) > 8)
    return list(found)


def made(count: int, clauses: Sequence[str], *, seed: int, name: str) -> Iterator[Page]:
    """Pages of 4 to 24 sentences: one in ten is taken as it is, a few of them very often; the others are made of two.

    So most terms are rare, some are common and a few are in thousands of pages, as among real pages: of what a new page asks for,
    between a tenth and a fifth is stored among 70,000 broadcast items, and among 30,000 of these.
    """
    source = random.Random(seed)
    letters = "".join(clauses[::50])
    for number in range(count):
        sentences = (
            clauses[int(len(clauses) * source.random() ** 3)]
            if source.random() < AS_IT_IS
            else spliced(source, clauses, letters)
            for _ in range(source.randint(4, 24))
        )
        yield Page(id=f"{name}-{number:07}", text="".join(sentences), title=f"{name} {number}")


def spliced(source: random.Random, clauses: Sequence[str], letters: str) -> str:
    """The beginning of one sentence and the end of another, one character in ten replaced."""
    first, last = (clauses[int(len(clauses) * source.random())] for _ in range(2))
    at, to = (round(len(each) * source.uniform(0.25, 0.75)) for each in (first, last))
    text = list(first[:at] + last[to:])
    for _ in range(max(1, len(text) // 10)):
        text[int(len(text) * source.random())] = letters[int(len(letters) * source.random())]
    return "".join(text)
