"""How many terms the methods queried, and how many were left out because they have too many postings."""

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
        queried: terms queried, terms without postings included.
        left_out: of these, terms with more postings than their limit allows.
    """

    queried: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, method: str, queried: int, left_out: int) -> TermUse:
        """Those of one method."""
        return cls(Counter({method: queried}), Counter({method: left_out}))

    @classmethod
    def of_answer(cls, candidate_query: CandidateQuery, answer: CandidateResult) -> TermUse:
        """Those of one candidate query."""
        queried, left_out = Counter[str](), Counter[str]()
        for group in candidate_query.groups:
            queried[group.method] += len(group.terms)
            if answer.capped:
                left_out[group.method] += len(answer.capped.intersection(group.terms))
        return cls(+queried, +left_out)

    def __add__(self, other: TermUse) -> TermUse:
        """Those of both."""
        return TermUse(self.queried + other.queried, self.left_out + other.left_out)

    def notes(self) -> tuple[str, ...]:
        """Notes on methods of which most terms were left out."""
        return tuple(
            f"{method}: {count:,} of {self.queried[method]:,} terms are in too many pages and were not queried, "
            "so pairs that only this method finds may be missing"
            for method, count in sorted(self.left_out.items())
            if count > MOST * self.queried[method]
        )
