"""Overrides of an index: the stored form, and the clusters that follow them."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Protocol

from es_dedup.clustering import constraints_of, contradiction, deciding
from es_dedup.errors import InputError, InvalidOverride, OverrideConflict, SchemaMismatch, reading_stored
from es_dedup.model import Edge, Relation
from es_dedup.model.overrides import Override, OverrideKind

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from typing import Any

    from es_dedup.batch.featurise import Ignored
    from es_dedup.clustering import Constraints
    from es_dedup.index.port import Assignment

    class _Notes(Protocol):
        def note(self, name: str) -> str | None: ...

    class _Assigned(_Notes, Protocol):
        def assignments(self, page_ids: Iterable[str]) -> dict[str, Assignment]: ...


OVERRIDES: Final = "overrides"
"""Name of the note that holds all overrides of an index, those that were undone too."""
FORMAT: Final = 1
PAGES: Final = {
    OverrideKind.DIFFERENT: 2,
    OverrideKind.SAME: 2,
    OverrideKind.CANONICAL: 1,
    OverrideKind.IGNORE: 0,
}
"""How many pages an override of each kind names."""


def load_overrides(index: _Notes) -> dict[str, Override]:
    """All overrides by id, by time, those that were undone too.

    Raises:
        SchemaMismatch: they are of a later format.
        DamagedData: they cannot be read.
    """
    return dict(_read(index.note(OVERRIDES))[0])


def load_constraints(index: _Notes) -> Constraints:
    """What the overrides in force demand of clusters; errors as of ``load_overrides``."""
    return _read(index.note(OVERRIDES))[1]


def load_ignored(index: _Notes, *, undone: bool = False) -> Ignored:
    """The passages of each site that never count; with ``undone`` also those of overrides that were undone. Errors as of ``load_overrides``."""
    found: dict[str, tuple[str, ...]] = {}
    for each in load_overrides(index).values():
        if each.kind is OverrideKind.IGNORE and (undone or each.in_force):
            found[each.site] = (*found.get(each.site, ()), each.text)
    return found


def decided_edges(
    index: _Assigned, edges: Iterable[Edge], page_ids: Collection[str], there: Collection[str] = ()
) -> list[Edge]:
    """Edges as people have decided: none that calls two pages the same that must be apart, and one for each two that were decided same.

    Args:
        index: has the overrides, and knows which pages are stored.
        edges: those that touch the pages.
        page_ids: pages whose decided pairs are wanted.
        there: pages that count as stored.
    """
    constraints = load_constraints(index)
    found = constraints.accepted(edges)
    units = {name: constraints.units[name] for name in page_ids if name in constraints.units}
    if not units:
        return found
    others = {other for unit in units.values() for other in unit}
    stored = {*index.assignments(others), *others.intersection(there)}
    pairs = {
        (min(name, other), max(name, other))
        for name, unit in units.items()
        for other in stored.intersection(unit) - {name}
    }
    kept = [each for each in found if each.relation.same or (each.left, each.right) not in pairs]
    pairs -= {(each.left, each.right) for each in kept}
    return kept + [Edge(left, right, Relation.DUPLICATE, 1.0) for left, right in sorted(pairs)]


def overrides_on(index: _Notes, left: str, right: str) -> tuple[Override, ...]:
    """The overrides that decide on two pages; see ``clustering.deciding``."""
    constraints = load_constraints(index)
    if right in constraints.units.get(left, ()) or right in constraints.apart.get(left, ()):
        return deciding(load_overrides(index).values(), left, right)
    return ()


def note_of(overrides: Iterable[Override]) -> str:
    """The text of the note ``OVERRIDES``."""
    listed = sorted(overrides, key=lambda each: each.time)  # those of one second as they came
    return json.dumps(
        {"format": FORMAT, "overrides": [each.as_dict() for each in listed]}, ensure_ascii=False
    )


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
    made = Override(**{**values, "kind": kind, "pages": tuple(sorted(pages))})
    if (kind is OverrideKind.IGNORE) != bool(made.site and made.text.strip()) or bool(made.site) != bool(
        made.text
    ):
        raise ValueError(f"{kind} of the site {made.site!r} and the passage {made.text!r}")
    return made


def merged(
    known: Mapping[str, Override], given: Iterable[Override]
) -> tuple[dict[str, Override], list[Override]]:
    """Stored overrides with others beside them, and those of the others that change something.

    One that is stored changes something if it was undone since; a new one unless the same is in force already.

    Raises:
        OverrideConflict: one cannot hold beside others.
        InvalidOverride: one has half a surrogate pair in a string.
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
    if not constraints_of(after.values()).consistent:
        _refuse({name: after[name] for name in known}, changes)
    try:
        note_of(changes).encode()
    except UnicodeEncodeError as error:
        raise InvalidOverride("a string is no text") from error
    return after, changes


def _refuse(known: Mapping[str, Override], changes: Iterable[Override]) -> None:
    """Name the first of the changes that cannot hold beside those before it."""
    before = list(known.values())
    for override in changes:
        if override.in_force and (others := contradiction(before, override)):
            against = tuple(f"{_said(each)} ({each.id})" for each in others)
            raise OverrideConflict(_said(override), against)
        before.append(override)


def same_in_force(overrides: Iterable[Override], wanted: Override) -> Override | None:
    """The override in force that decides the same, if any."""
    for each in overrides:
        if each.in_force and each.subject == wanted.subject:
            return each
    return None


def read_jsonl(lines: Iterable[str], source: str) -> Iterator[Override]:
    """Overrides of a file, one JSON object a line, as ``Override.as_dict`` gives them; empty lines are passed over.

    Raises:
        InputError: a line that is none; names the file and the line.
    """
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                yield from_dict(json.loads(line))
            except (LookupError, TypeError, ValueError, RecursionError) as error:
                raise InputError(source, number, f"no override ({error})") from error


def _said(override: Override) -> str:
    return f"{override.kind} {override.about}"


@lru_cache(maxsize=4)
def _read(note: str | None) -> tuple[Mapping[str, Override], Constraints]:
    """Overrides by id and their constraints; the text of the note is read again only when it has changed."""
    with reading_stored("overrides"):
        stored: dict[str, Any] = json.loads(note) if note else {"format": FORMAT, "overrides": []}
        if stored["format"] != FORMAT:
            raise SchemaMismatch("the note of overrides", FORMAT, int(str(stored["format"])))
        overrides = [from_dict(each) for each in stored["overrides"]]
    return {each.id: each for each in overrides}, constraints_of(overrides)
