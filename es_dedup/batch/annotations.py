"""Annotations of an index: the stored form. Clusters do not depend on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from es_dedup.batch import journal
from es_dedup.batch.journal import Journal, Recorded
from es_dedup.errors import InvalidAnnotation
from es_dedup.model import Relation
from es_dedup.model.annotations import Annotation, Label

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from es_dedup.index.port import ClusterUpdates, Index

ANNOTATIONS: Final = "annotations"
"""Name of the journal of annotations, and of its first note."""
FORMAT: Final = 2
FIELDS: Final = frozenset(("id_a", "id_b", "label", "relation", "reader", "time", "removed", "override"))


def load_annotations(index: ClusterUpdates, *, removed: bool = False) -> tuple[Annotation, ...]:
    """All annotations, by time; with ``removed`` also those that were taken back. Errors as of ``Journal.recorded``."""
    return tuple(each for each in JOURNAL.recorded(index).entries.values() if removed or not each.removed)


def record(index: Index, changes: Sequence[Annotation]) -> None:
    """Store new and changed annotations; the caller keeps other writers out.

    Raises:
        InvalidAnnotation: a string is too long, or no text; nothing was stored.
    """
    if problem := journal.problem_of(changes):
        raise InvalidAnnotation(problem)
    if changes:
        JOURNAL.record(index, changes)


def merged(known: Iterable[Annotation], given: Iterable[Annotation]) -> list[Annotation]:
    """Those of some annotations that change something beside the known ones: of two of one reader on one pair the later one counts."""
    after, changes = {each.key: each for each in known}, dict[tuple[str, str, str], Annotation]()
    for each in given:
        before = after.get(each.key)
        if before is None or before.changed < each.changed:
            after[each.key] = changes[each.key] = each
    return list(changes.values())


def from_dict(values: Mapping[str, Any]) -> Annotation:
    """The annotation that ``Annotation.as_dict`` was made of.

    Raises:
        ValueError: an unknown label or relation, one page twice, an empty string, or no relation of one that contains the other.
        TypeError: a value of another type, or an unknown field.
        LookupError: a missing field.
    """
    if not isinstance(values, dict) or not all(isinstance(each, str) for each in values.values()):
        raise TypeError("not an object, or a field that is no string")
    if unknown := values.keys() - FIELDS:
        raise TypeError(f"unknown fields {sorted(unknown)}")
    left, right, reader, time = [values[name] for name in ("id_a", "id_b", "reader", "time")]
    if not (left and right and reader.strip() and time.strip()) or left == right:  # an id may be a space
        raise ValueError("two page ids, a reader and a time are needed")
    label, relation = Label(values["label"]), values.get("relation")
    if relation not in ((Relation.CONTAINS, Relation.CONTAINED) if label is Label.CONTAIN else (None,)):
        raise ValueError(f"the relation {relation} of a pair labelled {label}")
    direction = None if relation is None else Relation(relation)
    removed, override = values.get("removed", ""), values.get("override", "")
    annotation = Annotation(left, right, label, reader, time, direction, removed, override)
    return annotation if left < right else annotation.reversed


JOURNAL: Final = Journal(ANNOTATIONS, FORMAT, Recorded[Annotation](), from_dict, "label")
"""The annotations of an index; a row for each that was given or taken back, or for those imported together."""
read_jsonl: Final = JOURNAL.read_jsonl
"""Annotations of a file."""
