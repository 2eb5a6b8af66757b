"""Annotations of an index: the stored form. All of them are one note; clusters do not depend on it."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Protocol

from es_dedup.errors import InvalidAnnotation, SchemaMismatch, reading_stored
from es_dedup.model import Relation
from es_dedup.model.annotations import Annotation, Label

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    class _Notes(Protocol):
        def note(self, name: str) -> str | None: ...


ANNOTATIONS: Final = "annotations"
"""Name of the note that holds all annotations of an index."""
FORMAT: Final = 1


def load_annotations(index: _Notes) -> tuple[Annotation, ...]:
    """All annotations, by time.

    Raises:
        SchemaMismatch: they are of a later format.
        DamagedData: they cannot be read.
    """
    return _read(index.note(ANNOTATIONS))


def note_of(annotations: Iterable[Annotation]) -> str:
    """The text of the note ``ANNOTATIONS``.

    Raises:
        InvalidAnnotation: a string has half a surrogate pair.
    """
    text = json.dumps(
        {"format": FORMAT, "annotations": [as_dict(each) for each in annotations]}, ensure_ascii=False
    )
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidAnnotation("a string is no text") from error
    return text


def as_dict(annotation: Annotation) -> dict[str, str]:
    """JSON-ready form; a file of such lines can be read as labels where one reader wrote it."""
    found = {"id_a": annotation.left, "id_b": annotation.right, "label": str(annotation.label)}
    if annotation.relation is not None:
        found["relation"] = str(annotation.relation)
    return found | {"reader": annotation.reader, "time": annotation.time}


def _from_dict(values: Mapping[str, Any]) -> Annotation:
    left, right, reader, time = strings = [values[name] for name in ("id_a", "id_b", "reader", "time")]
    if not all(isinstance(each, str) for each in strings):
        raise TypeError("ids, reader and time must be strings")
    relation = values.get("relation")
    return Annotation(
        left, right, Label(values["label"]), reader, time, None if relation is None else Relation(relation)
    )


@lru_cache(maxsize=2)
def _read(note: str | None) -> tuple[Annotation, ...]:
    with reading_stored("annotations"):
        stored: dict[str, Any] = json.loads(note) if note else {"format": FORMAT, "annotations": []}
        if stored["format"] != FORMAT:
            raise SchemaMismatch("the note of annotations", FORMAT, int(str(stored["format"])))
        return tuple(_from_dict(each) for each in stored["annotations"])
