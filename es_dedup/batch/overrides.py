"""Overrides of an index: the stored form, and the clusters that follow them."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from es_dedup.batch.journal import Journal, Recorded, problem_of
from es_dedup.clustering.constraints import Constraints, constraints_of, contradiction, deciding
from es_dedup.errors import InvalidOverride, OverrideConflict
from es_dedup.model import Edge, Relation
from es_dedup.model.batches import by_key
from es_dedup.model.overrides import Override, OverrideKind

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from es_dedup.batch.featurise import Ignored
    from es_dedup.index.port import ClusterUpdates

OVERRIDES: Final = "overrides"
"""Name of the journal of overrides, and of its first note."""
FORMAT: Final = 2
PAGES: Final = {
    OverrideKind.DIFFERENT: 2,
    OverrideKind.SAME: 2,
    OverrideKind.CANONICAL: 1,
    OverrideKind.IGNORE: 0,
}
"""How many pages an override of each kind names."""


@dataclass(frozen=True)
class RecordedOverrides(Recorded[Override]):
    """The overrides of an index as they were read, those that were undone too; the key of an entry is its id."""

    @cached_property
    def constraints(self) -> Constraints:
        """What those in force demand of clusters."""
        return constraints_of(self.entries.values())

    @cached_property
    def by_page(self) -> Mapping[str, tuple[Override, ...]]:
        """Those in force that name a page, by time."""
        found = by_key((page, each) for each in self.entries.values() if each.in_force for page in each.pages)
        return {page: tuple(some) for page, some in found.items()}

    @cached_property
    def ignored(self) -> Ignored:
        """Passages by site that never count."""
        return _passages(each for each in self.entries.values() if each.in_force)

    @cached_property
    def ever_ignored(self) -> Ignored:
        """These, and passages of overrides that were undone."""
        return _passages(self.entries.values())


def _passages(overrides: Iterable[Override]) -> Ignored:
    """The passages that overrides ignore, by site."""
    found = by_key((each.site, each.text) for each in overrides if each.kind is OverrideKind.IGNORE)
    return {site: tuple(passages) for site, passages in found.items()}


def load_overrides(index: ClusterUpdates) -> Mapping[str, Override]:
    """All overrides by id, by time, those that were undone too; errors as of ``Journal.recorded``."""
    return JOURNAL.recorded(index).entries


def load_constraints(index: ClusterUpdates) -> Constraints:
    """What the overrides in force demand of clusters; errors as of ``Journal.recorded``."""
    return JOURNAL.recorded(index).constraints


def load_ignored(index: ClusterUpdates, *, undone: bool = False) -> Ignored:
    """The passages of each site that never count; with ``undone`` also those of overrides that were undone. Errors as of ``Journal.recorded``."""
    recorded = JOURNAL.recorded(index)
    return recorded.ever_ignored if undone else recorded.ignored


def decided_edges(index: ClusterUpdates, edges: Iterable[Edge], page_ids: Collection[str]) -> list[Edge]:
    """Edges as people have decided: none that calls two pages the same that must be apart, and one for each two that were decided same.

    Args:
        index: has the overrides, and knows which pages are stored.
        edges: those that touch the pages.
        page_ids: pages whose decided pairs are wanted.
    """
    constraints = load_constraints(index)
    accepted = constraints.accepted(edges)
    units = {name: constraints.units[name] for name in page_ids if name in constraints.units}
    if not units:
        return accepted
    named = {name for unit in units.values() for name in unit}
    stored = set(index.assignments(named))
    decided_same = {
        (min(name, other), max(name, other))
        for name, unit in units.items()
        for other in stored.intersection(unit) - {name}
    }
    kept = [
        each
        for each in accepted
        if each.relation is Relation.EXACT or (each.left, each.right) not in decided_same
    ]
    without_edge = decided_same - {(each.left, each.right) for each in kept}
    return kept + [Edge(left, right, Relation.DUPLICATE, 1.0) for left, right in sorted(without_edge)]


def overrides_on(index: ClusterUpdates, left: str, right: str) -> tuple[Override, ...]:
    """The overrides that decide on two pages; see ``clustering.deciding``."""
    constraints = load_constraints(index)
    if right in constraints.units.get(left, ()) or right in constraints.apart.get(left, ()):
        return deciding(load_overrides(index).values(), left, right)
    return ()


def from_dict(values: Mapping[str, Any]) -> Override:
    """The override that ``Override.as_dict`` was made of.

    Raises:
        ValueError: an unknown kind, or not as many pages as the kind has.
        TypeError: a missing or unknown field, or a value of another type.
    """
    pages = values["pages"]
    texts = [value for name, value in values.items() if name != "pages"]
    if not isinstance(pages, list) or not all(isinstance(each, str) for each in (*pages, *texts)):
        raise TypeError("pages must be a list of strings, all other fields strings")
    kind = OverrideKind(values["kind"])
    if len(set(pages) - {""}) != len(pages) or len(pages) != PAGES[kind]:
        raise ValueError(f"{kind} of the pages {pages}")
    override = Override(**{**values, "kind": kind, "pages": tuple(sorted(pages))})
    site, text = override.site, override.text
    of_passage = bool(site and text.strip())
    if (kind is OverrideKind.IGNORE) != of_passage or bool(site) != bool(text):
        raise ValueError(f"{kind} of the site {site!r} and the passage {text!r}")
    return override


def merged(known: Mapping[str, Override], given: Iterable[Override]) -> tuple[list[Override], Constraints]:
    """Those of some overrides that change something beside the stored ones, and what all demand together.

    One that is stored changes something if it was undone since; a new one unless the same is in force already.

    Raises:
        OverrideConflict: one cannot hold beside others.
        InvalidOverride: a string of one is too long, or no text.
    """
    after, changes = dict(known), []
    decided = {each.subject for each in known.values() if each.in_force}
    for override in sorted(given, key=lambda each: (each.in_force, each.time)):
        stored = after.get(override.id)
        if stored is not None and (override.in_force or not stored.in_force):
            continue
        if override.in_force:
            if override.subject in decided:
                continue
            decided.add(override.subject)
        elif stored is not None:
            decided.discard(override.subject)
        after[override.id] = override
        changes.append(override)
    constraints = constraints_of(after.values())
    if not constraints.consistent:
        _refuse({name: after[name] for name in known}, changes)
    if problem := problem_of(changes):
        raise InvalidOverride(problem)
    return changes, constraints


def _refuse(known: Mapping[str, Override], changes: Sequence[Override]) -> None:
    """Name the first of the changes that cannot hold beside those before it."""
    before = list(known.values())
    at = bisect_left(
        range(len(changes)),
        1,
        key=lambda last: not constraints_of([*before, *changes[: last + 1]]).consistent,
    )
    against = contradiction([*before, *changes[:at]], changes[at])
    raise OverrideConflict(_said(changes[at]), tuple(f"{_said(each)} ({each.id})" for each in against))


def _said(override: Override) -> str:
    return f"{override.kind} {override.about}"


JOURNAL: Final = Journal(OVERRIDES, FORMAT, RecordedOverrides(), from_dict, "override")
"""The overrides of an index; rows of what was recorded, changed or undone together."""
read_jsonl: Final = JOURNAL.read_jsonl
"""Overrides of a file."""
