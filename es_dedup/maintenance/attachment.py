"""Which source indices are attached to an index, and which of their fields hold a page."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from es_dedup.errors import reading_stored
from es_dedup.index.source_index import ATTACHMENTS, SourceFields

if TYPE_CHECKING:
    from collections.abc import Iterable

    from es_dedup.index.port import Index


@dataclass(frozen=True, slots=True)
class Attachment:
    """One attached target: an index, an alias, a data stream or a pattern, and how its documents are read."""

    target: str
    fields: SourceFields

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {"target": self.target, "fields": self.fields.as_dict()}


def load_attachments(index: Index) -> list[Attachment]:
    """All attachments of an index, by target."""
    with reading_stored("attachments"):
        known = json.loads(index.note(ATTACHMENTS) or "[]")
        return [Attachment(each["target"], SourceFields(**each["fields"])) for each in known]


def save_attachments(index: Index, attachments: Iterable[Attachment]) -> None:
    """Replace all attachments."""
    listed = sorted(attachments, key=lambda each: each.target)
    index.set_note(ATTACHMENTS, json.dumps([each.as_dict() for each in listed]))


def fits(attachment: Attachment, index: str) -> bool:
    """Whether a concrete index is named by a target without asking the server; not known for an alias."""
    return any(fnmatchcase(index, part) for part in attachment.target.split(","))
