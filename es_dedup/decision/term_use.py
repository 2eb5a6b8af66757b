"""How many terms the methods asked an index for, and how many were left out because too many pages carry them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from es_dedup.model import CandidateQuery, CandidateResult

MOST: Final = 0.5  # share of a method's terms that may be left out without a word


@dataclass(frozen=True, slots=True)
class TermUse:
    """Terms by method.

    Attributes:
        asked: terms asked for, those among them that no page carries included.
        left_out: of these, terms that more pages carry than their limit allows.
        unasked: further terms of the pages, of a method that asks for a bounded number of them.
    """

    asked: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    unasked: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, method: str, asked: int, left_out: int) -> TermUse:
        """Those of one method."""
        return cls(Counter({method: asked}), Counter({method: left_out}))

    @classmethod
    def of_answer(cls, candidate_query: CandidateQuery, answer: CandidateResult) -> TermUse:
        """Those of one probe."""
        made = cls()
        for group in candidate_query.groups:
            made += cls.of(group.method, len(group.terms), len(answer.capped.intersection(group.terms)))
        return made

    def __add__(self, other: TermUse) -> TermUse:
        """Those of both."""
        return TermUse(self.asked + other.asked, self.left_out + other.left_out, self.unasked + other.unasked)

    def notes(self) -> tuple[str, ...]:
        """A note on each method of which most terms were left out, then one on each that asked for a part of the pages' terms."""
        missing = [
            f"{method}: {count:,} of {self.asked[method]:,} terms are in too many pages and were not asked for, "
            "so pairs that only this method finds may be missing"
            for method, count in sorted(self.left_out.items())
            if count > MOST * self.asked[method]
        ]
        partly = [
            f"{method}: {self.asked[method]:,} of {self.asked[method] + count:,} terms were asked for, so that some pairs are left to "
            "other methods to find"
            for method, count in sorted(self.unasked.items())
        ]
        return (*missing, *partly)
