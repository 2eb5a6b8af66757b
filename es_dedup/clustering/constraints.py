"""What overrides demand of clusters, as pure values: pages that belong together, pages that do not, canonical documents."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from es_dedup.model.batches import by_key
from es_dedup.model.overrides import Override, OverrideKind

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from es_dedup.model import Edge
    from es_dedup.settings.loading import ClusterConfig


@dataclass(frozen=True, slots=True)
class Constraints:
    """The demands of overrides, page by page; they hold whether the pages are stored or not.

    Attributes:
        units: of each page that was decided same as another, all pages of its unit, ascending: those that ``same``
            overrides connect with it, itself included.
        apart: of each page that must not share a cluster with some pages, these: the units of the two pages of a
            ``different`` override are apart as wholes.
        canonical: pages decided to be canonical documents.
    """

    units: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    apart: Mapping[str, frozenset[str]] = field(default_factory=dict)
    canonical: frozenset[str] = frozenset()

    def touch(self, page_ids: Iterable[str]) -> bool:
        """Whether any of the pages is constrained."""
        return any(name in self.units or name in self.apart or name in self.canonical for name in page_ids)

    @property
    def consistent(self) -> bool:
        """Whether they can hold together."""
        chosen = [self.units.get(name, (name,)) for name in self.canonical]
        return len(set(chosen)) == len(chosen) and all(
            name not in others for name, others in self.apart.items()
        )

    def with_units(self, page_ids: Iterable[str]) -> set[str]:
        """Pages and all those of their units."""
        return {other for name in page_ids for other in self.units.get(name, (name,))}

    def accepted(self, edges: Iterable[Edge]) -> list[Edge]:
        """Edges without those that call two pages the same that must be apart."""
        return [
            each
            for each in edges
            if not each.relation.same or each.right not in self.apart.get(each.left, ())
        ]

    def seen_at(self, places: Mapping[str, str]) -> Constraints:
        """The same demands, with pages replaced by others, such as their canonical documents."""
        units = [{places.get(name, name) for name in unit} for unit in set(self.units.values())]
        apart: dict[str, set[str]] = {}
        for name, others in self.apart.items():
            apart.setdefault(places.get(name, name), set()).update(places.get(each, each) for each in others)
        return Constraints(
            {name: tuple(sorted(unit)) for unit in units for name in unit},
            {name: frozenset(others) for name, others in apart.items()},
            self.canonical,
        )


UNCONSTRAINED: Final = Constraints()


@dataclass(frozen=True, slots=True)
class ClusterRules:
    """What clusters are made by: the canonical order, and the demands of overrides."""

    config: ClusterConfig
    constraints: Constraints = UNCONSTRAINED


def constraints_of(overrides: Iterable[Override]) -> Constraints:
    """The demands of those overrides that are in force; they must not contradict each other."""
    pairs: dict[OverrideKind, list[tuple[str, ...]]] = {kind: [] for kind in OverrideKind}
    for override in overrides:
        if override.in_force:
            pairs[override.kind].append(override.pages)
    units = _units(pairs[OverrideKind.SAME])
    apart: dict[str, set[str]] = {}
    for left, right in pairs[OverrideKind.DIFFERENT]:
        ours, theirs = units.get(left, (left,)), units.get(right, (right,))
        for some, others in ((ours, theirs), (theirs, ours)):
            for name in some:
                apart.setdefault(name, set()).update(others)
    canonical = frozenset(name for names in pairs[OverrideKind.CANONICAL] for name in names)
    return Constraints(units, {name: frozenset(others) for name, others in apart.items()}, canonical)


def contradiction(overrides: Iterable[Override], new: Override) -> tuple[Override, ...]:
    """The overrides in force because of which a new one cannot hold; empty if it can.

    What cannot hold: two pages of one unit that are different; one unit with two canonical documents.
    """
    known = [each for each in overrides if each.in_force and each.id != new.id]
    if new.kind in (OverrideKind.SAME, OverrideKind.DIFFERENT):
        chain = deciding(known, *new.pages)
        apart = any(each.kind is OverrideKind.DIFFERENT for each in chain)
        if chain and apart == (new.kind is OverrideKind.SAME):
            return chain
    unit = constraints_of([*known, new]).with_units(new.pages)
    canonical = [
        each
        for each in known
        if each.kind is OverrideKind.CANONICAL and unit.issuperset(each.pages) and each.pages != new.pages
    ]
    allowed = {OverrideKind.CANONICAL: 0, OverrideKind.SAME: 1}.get(new.kind, len(canonical))
    return tuple(canonical) if len(canonical) > allowed else ()


def deciding(overrides: Iterable[Override], left: str, right: str) -> tuple[Override, ...]:
    """The overrides in force by which two pages belong together or must be apart, as a shortest chain from left to right.

    Empty where none decides on the pair.
    """
    known = [each for each in overrides if each.in_force]
    same = [each for each in known if each.kind is OverrideKind.SAME]
    ours, theirs = _chains(same, left), _chains(same, right)
    if right in ours:
        return ours[right]
    found = [
        (*ours[one], each, *reversed(theirs[other]))
        for each in known
        if each.kind is OverrideKind.DIFFERENT
        for one, other in (each.pages, each.pages[::-1])
        if one in ours and other in theirs
    ]
    return min(found, key=len, default=())


def _chains(same: Iterable[Override], start: str) -> dict[str, tuple[Override, ...]]:
    """Of each page of the unit of a page, the overrides that lead there, as few as possible."""
    beside = by_key((one, (other, each)) for each in same for one, other in (each.pages, each.pages[::-1]))
    found: dict[str, tuple[Override, ...]] = {start: ()}
    front = [start]
    for page in front:
        for other, each in beside.get(page, ()):
            if other not in found:
                found[other] = (*found[page], each)
                front.append(other)
    return found


def _units(pairs: Iterable[Collection[str]]) -> dict[str, tuple[str, ...]]:
    """Connected components of pairs of pages, by page."""
    found: dict[str, set[str]] = {}
    for left, right in pairs:
        joined = found.get(left, {left}) | found.get(right, {right})
        found.update(dict.fromkeys(joined, joined))
    return {name: tuple(sorted(unit)) for name, unit in found.items()}
