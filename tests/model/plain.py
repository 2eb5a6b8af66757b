"""The model: which pages are live, and by slow and plain code what must be said of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from itertools import combinations
from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup.batch.corpus import corpus_of
from es_dedup.batch.featurise import FeatureMaker
from es_dedup.batch.learning import learn
from es_dedup.clustering.order import PageKey
from es_dedup.decision.comparison import PagePairs, compare
from es_dedup.decision.rules import RELATIONS
from es_dedup.decision.statistics import Statistics
from es_dedup.settings import Settings
from tests.model.material import Version, text_of
from tests.reference.star_clusters import same_unit, star_clusters

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from es_dedup.decision.comparison import Pages

    Related = dict[tuple[str, str], tuple[str, float]]

SAME: Final = ("exact", "duplicate")
REVERSED: Final = {"contains": "contained", "contained": "contains"}
NEVER: Final = "9999"
KINDS: Final = ("different", "same", "canonical")


@dataclass(frozen=True, slots=True)
class Expected:
    """What must be said of a page: who is in its cluster, which is canonical, how it relates to that, what contains it."""

    members: frozenset[str]
    canonical: str
    relation: str
    contained_in: tuple[str, ...]


class Oracle:
    """Relations of versions, by the library's comparison of one pair; all else is the model's own.

    Args:
        learns: statistics are learned from the live pages; else there are none.
    """

    def __init__(self, *, learns: bool = False) -> None:
        self._learns = learns
        self._settings = Settings()
        self._known: dict[tuple[Version, Version], tuple[str, float] | None] = {}

    def related(self, live: Mapping[str, Version]) -> Related:
        """Relation and score of each related pair of live pages, seen from both."""
        found: Related = {}
        known = {} if self._learns else self._known
        self._compare(live, known)
        for left, right in combinations(sorted(live), 2):
            first, second = sorted((live[left], live[right]), key=_order)
            related = known[first, second]
            if related is None:
                continue
            relation, score = related
            back = REVERSED.get(relation, relation)
            straight = first == live[left]
            found[left, right] = (relation if straight else back, score)
            found[right, left] = (back if straight else relation, score)
        return found

    def relation(self, first: Version, second: Version) -> str | None:
        """How one version stands to another, where statistics are not learned; None: they are different."""
        return self.related({"first": first, "second": second}).get(("first", "second"), (None,))[0]

    def _compare(
        self, live: Mapping[str, Version], known: dict[tuple[Version, Version], tuple[str, float] | None]
    ) -> None:
        versions = sorted(set(live.values()), key=_order)
        pairs = [
            (first, second)
            for first in versions
            for second in versions
            if _order(first) <= _order(second) and (first, second) not in known
        ]
        if not pairs:
            return
        place = {version: at for at, version in enumerate(versions)}
        pages = self._pages(versions)
        statistics = self._statistics(live) if self._learns else Statistics.empty()
        rows = [np.array([place[pair[side]] for pair in pairs], dtype=np.int64) for side in (0, 1)]
        judged = compare(PagePairs(pages, rows[0], pages, rows[1]), statistics, Settings()).decisions
        for at, pair in enumerate(pairs):
            related = judged.rule[at] == 0
            said = (str(RELATIONS[int(judged.relation[at])]), round(float(judged.score(at)), 4))
            known[pair] = said if related else None

    def _pages(self, versions: Iterable[Version]) -> Pages:
        given = [version.page(f"v{at}") for at, version in enumerate(versions)]
        return self._featurised(given)

    def _statistics(self, live: Mapping[str, Version]) -> Statistics:
        pages = self._featurised([version.page(name) for name, version in live.items()])
        keys = [
            PageKey(name, date.fromordinal(day).isoformat() if day else "")
            for name, day in zip(pages.ids, pages.days.tolist(), strict=True)
        ]
        return learn(corpus_of(keys, pages.table), self._settings.ccdet)

    def _featurised(self, given: list) -> Pages:  # type: ignore[type-arg]
        pages, failed = FeatureMaker(self._settings).pages(given)
        assert not failed
        return pages


class Plain:
    """The pages that are live, and what must be said of them.

    Attributes:
        live: page id to version.
        overrides: the pages of those in force, by kind.
    """

    def __init__(self, oracle: Oracle) -> None:
        self.live: dict[str, Version] = {}
        self.overrides: dict[str, list[tuple[str, ...]]] = {kind: [] for kind in KINDS}
        self._oracle = oracle

    def related(self) -> Related:
        """See ``Oracle.related``."""
        return self._oracle.related(self.live)

    def relation(self, first: Version, second: Version) -> str | None:
        """See ``Oracle.relation``."""
        return self._oracle.relation(first, second)

    def allows(self, kind: str, pages: tuple[str, ...]) -> bool:
        """Whether an override can hold beside those in force."""
        after = {each: [*known, pages] if each == kind else known for each, known in self.overrides.items()}
        same, chosen = after["same"], {name for names in after["canonical"] for name in names}
        return not any(same_unit(left, right, same) for left, right in after["different"]) and not any(
            same_unit(left, right, same) for left, right in combinations(chosen, 2)
        )

    def expected(self) -> dict[str, Expected]:
        """What must be said of each live page.

        In canonical order a page joins, of the canonical pages before it to which it is exact or duplicate, the one that it agrees
        with most: exact before duplicate, then the higher score in eighths, then the earlier one. A page that finds none is canonical. Overrides
        go before this, see ``star_clusters``.
        """
        related = self.related()
        strengths = {
            frozenset(pair): (relation == "exact", int(8 * score + 0.5))
            for pair, (relation, score) in related.items()
            if relation in SAME
        }
        chosen = star_clusters(
            sorted(self.live, key=self.order),
            strengths,
            self.overrides["same"],
            self.overrides["different"],
            {name for names in self.overrides["canonical"] for name in names},
        )
        members: dict[str, set[str]] = {}
        for name, other in chosen.items():
            members.setdefault(other, set()).add(name)
        within: dict[str, list[str]] = {}
        for (name, other), (relation, _) in related.items():
            if relation == "contained":
                within.setdefault(name, []).append(other)
        return {
            name: Expected(
                frozenset(members[other]),
                other,
                _member(related, name, other)
                if name != other
                else ("contained" if name in within else "unique"),
                tuple(sorted(within.get(name, ()))),
            )
            for name, other in chosen.items()
        }

    def order(self, name: str) -> tuple[str, int, str]:
        """Place of a live page in canonical order: the earliest, then the longest, then by id."""
        version = self.live[name]
        return version.published or NEVER, -len(text_of(version.content)[1]), name


def _member(related: Related, name: str, canonical: str) -> str:
    relation = related.get((name, canonical), ("",))[0]
    return relation if relation in SAME else "duplicate"


def _order(version: Version) -> tuple[str, int]:
    return version.content, version.day
