"""Facts about pairs by name, conditions on them, and rules made of conditions.

A rule is data: which pairs it is asked of, and which of these it rejects. What ``rejects`` computes and what ``explain`` shows
are therefore the same conditions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import and_, eq, ge, lt, or_
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from es_dedup.decision.pair_facts import PairFacts

    Mask = NDArray[np.bool_]

AT_LEAST: Final = "≥"
BELOW: Final = "<"
IS: Final = "="
COMPARISONS: Final = {AT_LEAST: ge, BELOW: lt, IS: eq}


@dataclass(frozen=True, slots=True, eq=False)
class Fact:
    """A fact about pairs, or a threshold that depends on the preset or the pair; comparing one gives a condition.

    Attributes:
        name: in the explanation of a pair; a field of ``PairFacts`` unless ``compute`` is given.
        words: what it is, for readers.
        otherwise: of a yes-or-no fact, what is true of pairs on which it is not.
        compute: its values, where they are no field.
    """

    name: str
    words: str = ""
    otherwise: str = ""
    compute: Callable[[PairFacts], Any] | None = None

    def of(self, facts: PairFacts) -> Any:
        """Its values for some pairs; shape (pairs,), or one value for all."""
        return self.compute(facts) if self.compute else getattr(facts, self.name)

    def __ge__(self, bound: float | Fact) -> Condition:
        return Condition(self, AT_LEAST, bound)

    def __lt__(self, bound: float | Fact) -> Condition:
        return Condition(self, BELOW, bound)

    @property
    def yes(self) -> Condition:
        """Holds where the fact is true."""
        return Condition(self, IS, bound=True)

    @property
    def no(self) -> Condition:
        """Holds where the fact is false."""
        return Condition(self, IS, bound=False)


@dataclass(frozen=True, slots=True)
class Condition:
    """A fact and the threshold that it is compared with.

    Attributes:
        fact: what is compared.
        sign: ``AT_LEAST``, ``BELOW`` or ``IS``.
        bound: the threshold.
    """

    fact: Fact
    sign: str
    bound: float | Fact

    def threshold(self, facts: PairFacts) -> Any:
        """The threshold for each pair, or one for all."""
        return self.bound.of(facts) if isinstance(self.bound, Fact) else self.bound

    def holds(self, facts: PairFacts) -> Mask:
        """On which pairs the condition holds; shape (pairs,)."""
        return np.asarray(COMPARISONS[self.sign](self.fact.of(facts), self.threshold(facts)))


@dataclass(frozen=True, slots=True)
class Rule:
    """One reason to reject pairs.

    Attributes:
        name: what the evidence says.
        applies_if: the rule is asked of pairs on which all of these hold; of others it says nothing.
        rejects_if: of these it rejects pairs on which all conditions of one of the alternatives hold.
        why: what it guards against.
        group: ``series`` or ``titles``, of rules that presets leave out together; else empty.
    """

    name: str
    applies_if: tuple[Condition, ...]
    rejects_if: tuple[tuple[Condition, ...], ...]
    why: str
    group: str = ""

    def rejects(self, facts: PairFacts) -> Mask:
        """Which pairs the rule rejects; shape (pairs,)."""
        found = all_hold(self.applies_if, facts)
        if not found.any():
            return found
        rejected = reduce(or_, (all_hold(alternative, facts) for alternative in self.rejects_if))
        return found & rejected


def all_hold(conditions: tuple[Condition, ...], facts: PairFacts) -> Mask:
    """On which pairs all conditions hold; shape (pairs,)."""
    every = np.ones(len(facts.better_cover), dtype=np.bool_)
    return reduce(and_, (each.holds(facts) for each in conditions), every)
