"""Bulk actions as the hook sees them: which document each is about, and what it says of it."""

from __future__ import annotations

import base64
import json
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from es_dedup.hook.settling import Settlement
from es_dedup.index.host import DEDUP, DocumentKey

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from es_dedup.index.host import Mark
    from es_dedup.model import Decision

WRITES: Final = ("index", "create")
"""Operations that bring a whole document."""
INCONCLUSIVE: Final = "inconclusive"
"""``dedup.relation`` of a document that is to be decided on again."""
UNCHECKED: Final = "unchecked"
"""``dedup.relation`` of a document that cannot be a page."""
PENDING: Final = "pending"
"""``dedup.relation`` of a document that a later task decides on."""

Head = dict[str, Any]


@dataclass(slots=True)
class Item:
    """One action.

    Attributes:
        operation: ``index``, ``create``, ``update`` or ``delete``.
        head: what the action says beside its body (``_index``, ``_id``, ``routing`` …).
        body: the document, or what ``update`` takes; None for ``delete``.
        key: the document's place; its index is a concrete one as far as that is known before the write.
        decision: what is said of the page; None for updates and deletes until they are done.
        mark: what is written into the document.
        target: the index or alias that the action names.
        kept: the document is to be written.
    """

    operation: str
    head: Head
    body: dict[str, Any] | None
    key: DocumentKey
    target: str
    decision: Decision | None = None
    mark: Mark | None = None
    kept: bool = True

    @property
    def page_id(self) -> str:
        """The page's id."""
        return self.key.page_id

    @property
    def sure(self) -> bool:
        """Whether the mark rests on a decision."""
        return self.mark is None or self.mark.relation not in (INCONCLUSIVE, PENDING, UNCHECKED)

    def rests_on(self, page_ids: Collection[str]) -> bool:
        """Whether the document was left out because of one of these pages."""
        if self.kept or self.decision is None:
            return False
        others = {*self.decision.contained_in, self.decision.duplicate_of}
        return bool(others.intersection(page_ids))

    @property
    def document(self) -> dict[str, Any]:
        """The document with its object ``dedup``."""
        body = dict(self.body or {})
        if self.mark is not None:
            body[DEDUP] = {name: value for name, value in self.mark.as_dict().items() if value is not None}
        return body

    @property
    def action(self) -> tuple[Head, dict[str, Any] | None]:
        """Header and body as ``expand_action_callback`` returns them."""
        body = self.document if self.operation in WRITES else self.body
        return {self.operation: self.head}, body


@dataclass(slots=True)
class Batch:
    """Documents with distinct ``_id``, and what was said of them.

    Attributes:
        items: in the order of the call.
        settled: decisions, and marks also of other documents.
    """

    items: list[Item]
    settled: Settlement = field(default_factory=Settlement)

    def __iter__(self) -> Iterator[Item]:
        """The documents, in order."""
        return iter(self.items)

    def __len__(self) -> int:
        """How many documents."""
        return len(self.items)

    @property
    def others(self) -> set[str]:
        """Documents of others that have to be marked."""
        return self.settled.marks.keys() - {item.page_id for item in self.items}

    def written(self, failed: Collection[str]) -> set[str]:
        """Pages whose whole document was written with its mark."""
        return {
            item.page_id
            for item in self.items
            if item.operation in WRITES and item.kept and item.page_id not in failed
        }

    def to_read(self, failed: Collection[str]) -> list[str]:
        """Pages of which only the host index can say what they are now."""
        done = self.written(failed)
        return [item.page_id for item in self.items if item.page_id not in done]


def item_of(
    action: Mapping[str, Any], body: bytes | str | Mapping[str, Any] | None, defaults: Mapping[str, Any]
) -> Item:
    """An expanded action as an item; a document without ``_id`` is given one.

    Args:
        action: one operation with its header.
        body: its document, as a mapping or as JSON.
        defaults: ``index`` and ``routing`` of the whole call.

    Raises:
        ValueError: no index is named, or the body is no JSON object.
    """
    ((operation, given),) = action.items()
    head = dict(given)
    source: Any = json.loads(body) if isinstance(body, bytes | str) else body
    if source is not None:
        if not hasattr(source, "items"):
            raise ValueError(f"the body of an action must be an object, not {type(source).__name__}")
        source = dict(source)
    index = head.get("_index") or defaults.get("index")
    if not index:
        raise ValueError("an action must name its index, by _index or for all by index=…")
    if not head.get("_id"):
        if operation not in WRITES:
            raise ValueError(f"{operation} needs an _id")
        head["_id"] = fresh_id()
    routing = head.get("routing", head.get("_routing")) or defaults.get("routing") or ""
    return Item(operation, head, source, DocumentKey(str(index), str(head["_id"]), str(routing)), str(index))


def fresh_id() -> str:
    """An ``_id`` for a document that has none: 22 characters, unique."""
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
