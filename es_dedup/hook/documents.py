"""Bulk actions as the hook reads them: the document that each is about, and what is written for it."""

from __future__ import annotations

import base64
import json
import re
import uuid
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from es_dedup.batch.deciding import Concluded
from es_dedup.index.records import encodable
from es_dedup.index.source_index import DEDUP, DedupField, DocumentKey, documents_of
from es_dedup.model import Decision, Outcome
from es_dedup.model.values import value_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from es_dedup.hook.report import HookReport

    Dumps = Callable[[Any], bytes | str]

WRITES: Final = ("index", "create")
"""Operations that bring a whole document."""
CHANGES: Final = ("update", "delete")
"""Operations after which the document is read again."""
INCONCLUSIVE: Final = "inconclusive"
"""``dedup.relation`` of a document that is to be decided on again."""
UNCHECKED: Final = "unchecked"
"""``dedup.relation`` of a document that cannot be a page."""
PENDING: Final = "pending"
"""``dedup.relation`` of a document that a later task decides on."""
OF_DELETE: Final = ("_index", "_id", "routing", "if_seq_no", "if_primary_term")
"""Parameters of an action that its delete takes over."""
_NO_NAME: Final = re.compile(r"[*?,<>|\"\\/ ]|^[-+_]")
Head = dict[str, Any]


@dataclass(slots=True)
class Item:
    """One action.

    Attributes:
        operation: ``index``, ``create``, ``update`` or ``delete``.
        head: parameters of the action (``_index``, ``_id``, ``routing`` …).
        body: as the caller gave it: the document, or what ``update`` takes; None for ``delete``.
        key: where the document is to be; its index is a concrete one as far as that is known before the write, its routing maybe that of an alias.
        target, routing: the index or alias that the action names, and the routing.
        place: where the server has put it, if that is elsewhere: a rollover or a pipeline has changed its index or ``_id``.
        source: the fields of a whole document.
        problem: why the hook does not decide on the document; it is then sent as it was given. Empty: it decides.
        creates: the write makes an index that is not there.
        size: bytes of the action in a request.
        ends_chunk: the last action of a chunk of the client's helper, which raises the errors of a chunk together.
        decision: None for updates and deletes until they are done.
        dedup_field: the ``dedup`` field of the document.
        kept: the document is to be written.
        because: the pages because of which it is not.
        leaving: documents whose text the same batch deletes or replaces later: it is not left out because of them.
        withdrawn: an older version is stored, and deleted because the document is not written.
        deferred: an update; the document waits for a decision afterwards.
        repeated: it was sent a second time, after the mapping of ``dedup`` had been put on its index.
    """

    operation: str
    head: Head
    body: Any
    key: DocumentKey
    target: str
    routing: str = ""
    place: DocumentKey | None = None
    source: dict[str, Any] = field(default_factory=dict)
    problem: str = ""
    creates: bool = True
    size: int = 0
    ends_chunk: bool = False
    decision: Decision | None = None
    dedup_field: DedupField | None = None
    kept: bool = True
    because: Collection[str] = ()
    leaving: Collection[str] = ()
    withdrawn: bool = False
    deferred: bool = False
    repeated: bool = False

    @property
    def page_id(self) -> str:
        """The page's id, as it is decided on."""
        return self.key.page_id

    @property
    def written_id(self) -> str:
        """The page's id, as it is written."""
        return (self.place or self.key).page_id

    @property
    def whole(self) -> bool:
        """Whether it brings a whole document that the hook decides on."""
        return self.operation in WRITES and not self.problem

    def loses_text(self, content: str) -> bool:
        """Whether it deletes a document, or updates the field that holds its text."""
        doc = (_object(self.body) or {}).get("doc") if self.operation == "update" else None
        return self.operation == "delete" or (isinstance(doc, dict) and value_of(doc, content) is not None)

    @property
    def external(self) -> bool:
        """Whether the action gives the document's version."""
        kind = self.head.get("version_type", self.head.get("_version_type"))
        return kind in ("external", "external_gte")

    @property
    def sure(self) -> bool:
        """Whether the ``dedup`` field rests on a decision."""
        return self.dedup_field is None or self.dedup_field.relation not in (INCONCLUSIVE, PENDING, UNCHECKED)

    def rests_on(self, page_ids: Collection[str]) -> bool:
        """Whether the document is left out, and because of these pages only."""
        return not self.kept and bool(self.because) and set(self.because) <= set(page_ids)

    @property
    def document(self) -> dict[str, Any]:
        """The document with its ``dedup`` field, without what flattened copies of documents have instead of it (``dedup.cluster_id``)."""
        if self.dedup_field is None:
            return dict(self.source)
        own = {name: value for name, value in self.source.items() if str(name).partition(".")[0] != DEDUP}
        return own | {DEDUP: _fields_of(self.dedup_field)}

    @property
    def action(self) -> tuple[Head, Any]:
        """Header and body as ``expand_action_callback`` returns them; JSON stays the JSON that it was."""
        body = self.body
        if self.deferred:
            body = _waiting_update(body)
        elif self.whole and self.dedup_field is not None:
            document = self.document
            kept = isinstance(body, bytes | str) and self.source.keys() <= document.keys() - {DEDUP}
            body = _appended(body, {DEDUP: document[DEDUP]}) if kept else document
        return {self.operation: self.head}, body

    @property
    def withdrawal(self) -> tuple[Head, None]:
        """The delete of the stored version, under the conditions of the action."""
        return {"delete": {name: self.head[name] for name in OF_DELETE if name in self.head}}, None


@dataclass(slots=True)
class Batch:
    """Documents with distinct ``_id``, and what was decided on them.

    Attributes:
        items: in the order of the call.
        decided: decisions, and the ``dedup`` fields of these and of other documents.
        outdated: stored pages whose documents were given another text past the hook.
    """

    items: list[Item]
    decided: Concluded = field(default_factory=Concluded)
    outdated: set[str] = field(default_factory=set)

    def __iter__(self) -> Iterator[Item]:
        """The documents, in order."""
        return iter(self.items)

    def __len__(self) -> int:
        """How many documents."""
        return len(self.items)

    @property
    def moved(self) -> dict[str, str]:
        """Page id as decided on to page id as written, of documents that were put elsewhere."""
        return {item.page_id: item.written_id for item in self.items if item.place is not None}

    @property
    def others(self) -> set[str]:
        """Documents of earlier batches whose ``dedup`` field has to be written."""
        return self.decided.dedup_fields.keys() - {item.page_id for item in self.items}

    def written(self, failed: Collection[str]) -> set[str]:
        """Pages whose whole document was written with its ``dedup`` field, as they were written."""
        read = self.to_read(failed)
        return {item.written_id for item in self.items if not item.problem and item.page_id not in read}

    def replaced(self, written: Collection[str]) -> dict[str, set[str]]:
        """Pages whose place written ones take by policy ``overwrite``, each with these.

        Not those of the batch that were not written, whose older version is no copy, nor those that another document was moved to.
        """
        moved, places = self.moved, Counter(item.written_id for item in self.items)
        taken = set(moved.values())
        found: dict[str, set[str]] = {}
        for name, others in self.decided.replaces.items():
            new = moved.get(name, name)
            if new not in written:
                continue
            for other in documents_of(others):
                place = moved.get(other, other)
                alone = places[place] == 1 if other in moved else place not in taken
                if alone and (place in written or place not in places):
                    found.setdefault(place, set()).add(new)
        return found

    def to_read(self, failed: Collection[str]) -> list[str]:
        """Pages of which only the source index can say what they are now."""
        return [
            item.page_id
            for item in self.items
            if not item.problem and not (item.whole and item.kept and item.page_id not in failed)
        ]


def item_of(
    action: Mapping[str, Any], body: Any, defaults: Mapping[str, Any], dumps: Dumps | None = None
) -> Item:
    """An expanded action as an item; a whole document without ``_id`` is given one.

    Args:
        action: one operation with its parameters.
        body: its document, as a mapping or as JSON.
        defaults: ``index``, ``routing`` and ``require_alias`` of the whole call.
        dumps: how the client writes JSON; None: as a client does by default.

    Raises:
        SerializationError: what ``dumps`` raises for a value that JSON cannot hold.
    """
    write = dumps or _default_dumps()
    size = sum(len(_bytes(write(part))) + 1 for part in (action, body) if part is not None)
    ((operation, given),) = action.items()
    head = dict(given)
    name = _simple(head.get("_id"), write)
    if name is None and operation in WRITES:
        name = head["_id"] = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    index = _simple(head.get("_index"), write) or str(defaults.get("index") or "")
    routing = _simple(head.get("routing", head.get("_routing")), write) or str(defaults.get("routing") or "")
    source = _object(body) if operation in WRITES else {}
    item = Item(
        operation,
        head,
        body,
        DocumentKey(index, name or "", routing),
        index,
        routing,
        source=source or {},
        creates=operation != "delete" and not head.get("require_alias", defaults.get("require_alias")),
        size=size,
    )
    item.problem = _problem(item, source)
    return item


def items_of(documents: Iterable[Mapping[str, Any]], index: str) -> list[Item]:
    """Documents in the form of bulk actions as items that index them.

    Args:
        documents: ``_index``, ``_id`` and ``routing`` beside ``_source``, or beside the fields.
        index: of documents that name none.

    Raises:
        ValueError: a document names no index, or two have one place.
    """
    items = []
    for document in documents:
        head = {name: document[name] for name in ("_index", "_id", "routing") if name in document}
        body = document.get("_source", {k: v for k, v in document.items() if k not in head})
        items.append(item_of({"index": head}, body, {"index": index}))
    if not all(item.key.index for item in items):
        raise ValueError("a document must name its index, by _index or for all by index=…")
    if len({item.key.id for item in items}) < len(items):
        raise ValueError("two documents of one call have one _id: pass them in two calls")
    return items


def in_parts(items: Iterable[Item], stored: Collection[str], changed: Collection[str]) -> list[list[Item]]:
    """Parts of a batch that are written one after the other, so that the size of batches makes no difference to a policy.

    Documents of a part are compared with each other as they will be. So a stored document that the batch changes begins
    a part, for those before it meet its older version; and what is read again after the write ends one.

    Args:
        items: the batch, in order.
        stored: page ids with features.
        changed: of these, those that the batch brings with other features.
    """
    parts: list[list[Item]] = [[]]
    ended = False
    for item in items:
        if parts[-1] and item.whole and (ended or item.page_id in changed):
            parts.append([])
            ended = False
        parts[-1].append(item)
        ended |= not item.whole or (item.operation == "create" and item.page_id in stored)
    return parts


def set_leaving(parts: Iterable[Sequence[Item]], lost: Collection[str]) -> None:
    """Note with each document of a batch in parts which documents lose their stored text after it; ``lost``: all that do."""
    leaving: frozenset[str] = frozenset()
    for part in reversed([*parts]):
        after = leaving.union(item.page_id for item in part if not item.whole)
        for item in part:
            item.leaving = after.intersection(lost)
        leaving = after.union(item.page_id for item in part)


def waiting_field(page_id: str, relation: str) -> DedupField:
    """The ``dedup`` field of a document before it is decided on: a cluster of its own."""
    return DedupField(page_id, canonical=True, relation=relation, waiting=relation != UNCHECKED)


def undecided(items: Iterable[Item], reason: str, report: HookReport) -> None:
    """Let documents be written without a decision, and wait for one."""
    for item in items:
        item.dedup_field = waiting_field(item.page_id, INCONCLUSIVE)
        item.decision = Decision(item.page_id, Outcome.INCONCLUSIVE, item.page_id, notes=(reason,))
        report.count(item.decision)
        report.inconclusive[item.page_id] = reason


def with_decision(item: Item, decided: Concluded, report: HookReport) -> None:
    """Give a document its decision and ``dedup`` field, and count it."""
    name = item.page_id
    if name in decided.failed:
        report.failed[name] = decided.failed[name]
        item.dedup_field = waiting_field(name, UNCHECKED)
        return
    item.decision = decision = decided.decisions[name]
    item.because = decided.left_out.get(name, ())
    item.kept = not item.because
    item.dedup_field = decided.dedup_fields.get(name)
    report.count(decision)
    if decision.outcome is Outcome.INCONCLUSIVE:
        report.inconclusive[name] = "; ".join(decision.notes)
        item.dedup_field = waiting_field(name, INCONCLUSIVE)


def without_decision(items: Iterable[Item], report: HookReport) -> None:
    """Take back what was decided on documents that are decided on once more."""
    for item in items:
        report.withdraw(item.page_id, item.decision)
        item.dedup_field = item.decision = None
        item.kept, item.because, item.withdrawn = True, (), False


def dedup_fields_with_doubts(decided: Concluded, report: HookReport, *, last: bool) -> dict[str, DedupField]:
    """``dedup`` fields after a decision, those of inconclusive pages say so; on the ``last`` check a truncated candidate list is accepted."""
    dedup_fields = dict(decided.dedup_fields)
    for name, decision in decided.decisions.items():
        if decision.outcome is not Outcome.INCONCLUSIVE:
            continue
        if last and name not in decided.unsure:
            report.decided_on_part += 1
            continue
        dedup_fields[name] = waiting_field(name, INCONCLUSIVE)
        report.inconclusive[name] = "; ".join(decision.notes)
    return dedup_fields


def _problem(item: Item, source: Mapping[str, Any] | None) -> str:
    """Why the hook cannot decide on a document; what is wrong with the action itself, the server says."""
    if item.operation not in (*WRITES, *CHANGES):
        return f"{item.operation} is no operation"
    if not item.key.index or not item.key.id:
        return "the action names no index" if not item.key.index else "the action has an empty _id"
    if _NO_NAME.search(item.key.index) and not item.key.index.startswith("<"):  # date math is resolved
        return f"{item.key.index} is no name of an index"
    if any(isinstance(item.head.get(name), list | dict) for name in ("_id", "_index", "routing", "_routing")):
        return "_index, _id or routing is no simple value"
    if not encodable(f"{item.key.index}{item.key.routing}{item.key.id}"):
        return "its place holds half a surrogate pair"
    return item.key.problem or ("its body is no JSON object" if source is None else "")


def _object(body: Any) -> dict[str, Any] | None:
    """The document that a body holds; None when it is no object, or no line of JSON."""
    if isinstance(body, bytes | str):
        try:
            text = _bytes(body).decode()
            body = None if "\n" in text.strip() else json.loads(text)
        except (ValueError, RecursionError):
            return None
    return dict(body) if isinstance(body, dict) else None


def _simple(value: Any, dumps: Dumps) -> str | None:
    """A value of an action's parameter as the server reads it; None for null."""
    if value is None or isinstance(value, str):
        return value
    text = _bytes(dumps(value)).decode("utf-8", "surrogatepass")
    said = json.loads(text) if text.startswith('"') else text
    return None if said == "null" and text == "null" else str(said)


def _waiting_update(body: Any) -> Any:
    """The body of an update after which the document waits for a decision; JSON and what a script does stay as they are."""
    if not hasattr(body, "items"):
        return body
    changed = {name: body[name] for name in ("doc", "upsert") if hasattr(body.get(name), "items")}
    return {**body, **{name: {**each, DEDUP: {"waiting": True}} for name, each in changed.items()}}


def _appended(body: bytes | str, more: Mapping[str, Any]) -> bytes:
    """A JSON object with further members, the others untouched: numbers keep their digits."""
    head = _bytes(body).strip()[:-1].rstrip()
    tail = json.dumps(more, ensure_ascii=False).encode()[1:]
    return head + (b"" if head == b"{" else b", ") + tail


def _bytes(text: bytes | str) -> bytes:
    return text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text


def _fields_of(dedup_field: DedupField) -> dict[str, Any]:
    return {name: value for name, value in dedup_field.as_dict().items() if value is not None}


@cache
def _default_dumps() -> Dumps:
    from elasticsearch.serializer import JsonSerializer  # noqa: PLC0415 - of an extra

    return JsonSerializer().dumps
