"""Feature records as documents."""

from __future__ import annotations

import base64
import hashlib
import time
from dataclasses import asdict, dataclass, field
from functools import cached_property
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from es_dedup.errors import DamagedData
from es_dedup.index.cluster_changes import Assignment, turned
from es_dedup.index.elastic.collection import Collection, Write, any_of
from es_dedup.index.records import WORDS, FeatureRecord, RecordBatch, encodable, version_of
from es_dedup.model import Edge, Relation
from es_dedup.text.ragged import run_starts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray


FIELDS: Final = ("page_id", "content_hash", "length", "payload_version", *WORDS)
BY_ID: Final = ({"page_id": "asc"},)
HASHES_AT_A_TIME: Final = 500
FEW: Final = 1_000  # exact copies that are read at once, of all hashes asked for
COMPARED: Final = ("page_id", "payload", "published")
"""Doc values that comparing two pages needs. Read from columns, they cost less than whole documents, but only a search
can read them, and it sees a write after a refresh. ``payload_version`` tells whether it has seen the last one."""
TOKEN_CHARS: Final = 8  # of a term: 48 bits, six a character
MAX_KEY_BYTES: Final = 480  # of a document's ``_id`` that is the page id itself; Elasticsearch allows 512
LONG: Final = "~sha256:"  # begins the ``_id`` of a page whose id is longer
TAG_SHIFT: Final = 40
TAGS: Final = 256
BAND_BITS: Final = 16
BAND_MASK: Final = (1 << BAND_BITS) - 1
OTHER: Final = "other_terms"
"""Terms of methods that declare no field."""
SEARCHED: Final[Mapping[str, Any]] = {"type": "keyword", "doc_values": False}
SHOWN: Final[Mapping[str, Any]] = {"type": "object", "enabled": False}


def writes(
    batch: RecordBatch, documents: Collection, fields: TermFields, *, named: bool, operation: str = "index"
) -> Iterator[Write]:
    """One write per page.

    Args:
        batch: columns.
        documents: where to.
        fields: of the index.
        named: see ``TermFields.columns_of``.
        operation: ``index``, or ``create``.
    """
    columns = dict(zip(WORDS, batch.words, strict=True))
    now = int(time.time() * 1000)
    for place, terms in enumerate(fields.columns_of(batch, named=named)):
        body: dict[str, Any] = {
            "page_id": batch.ids[place],
            **terms,
            "payload": base64.b64encode(batch.payloads[place]).decode(),
            "payload_version": hash_token(version_of(batch.payloads[place])),
            "length": int(batch.lengths[place]),
            "indexed_at": now,
        }
        if batch.content_hashes[place]:
            body["content_hash"] = hash_token(batch.content_hashes[place])
        body.update({name: column[place] for name, column in columns.items() if column[place]})
        yield documents.put(key_of(batch.ids[place]), body, operation=operation)


def record_of(document: Mapping[str, Any]) -> FeatureRecord:
    """The record that a document holds, read with ``FIELDS``; without payload, text and terms."""
    source = document["_source"]
    token = source.get("content_hash")
    return FeatureRecord(
        page_id=source["page_id"],
        length=source["length"],
        content_hash=hash_of(token) if token else 0,
        terms=(),
        payload=b"",
        version=hash_of(source["payload_version"]),
        **{name: source.get(name, "") for name in WORDS},
    )


def payload_of(hit: Mapping[str, Any]) -> tuple[str, tuple[bytes, str]]:
    """Page id, and payload with time of publication, of a hit with the doc values ``COMPARED``."""
    values = hit["fields"]
    text = values.get("payload", ("",))[0]
    # OpenSearch writes doc values for URLs, without padding.
    payload = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_")
    return values["page_id"][0], (payload, values.get("published", ("",))[0])


def copies_search(tokens: Sequence[str]) -> dict[str, Any]:
    """The search for pages with any of these content hashes, as ``hash_token`` writes them."""
    return {
        "query": any_of("content_hash", tokens),
        "sort": list(BY_ID),
        "size": FEW,
        "_source": ["content_hash"],
        "track_total_hits": False,
    }


def tokens_of(terms: NDArray[np.uint64]) -> list[str]:
    """Terms as eight characters each, in order; the first names the detector.

    Args:
        terms: each in [0, 2^48).
    """
    high_first = terms.astype(">u8").view(np.uint8).reshape(-1, 8)[:, 2:]
    packed = base64.b64encode(high_first.tobytes()).decode()
    return [packed[at : at + TOKEN_CHARS] for at in range(0, len(packed), TOKEN_CHARS)]


def hash_token(value: int) -> str:
    """A 64-bit hash as eleven characters."""
    return base64.urlsafe_b64encode(value.to_bytes(8, "big")).decode().rstrip("=")


def hash_of(token: str) -> int:
    """The hash of which ``hash_token`` made ``token``.

    Raises:
        DamagedData: other text.
    """
    try:
        return int.from_bytes(base64.b64decode(token + "=", altchars=b"-_", validate=True), "big")
    except ValueError as error:
        raise DamagedData("content hashes", str(error)) from error


def key_of(page_id: str) -> str:
    """The document's ``_id``: the page id itself, or its hash when that is too long for Elasticsearch."""
    data = page_id.encode()
    if len(data) <= MAX_KEY_BYTES and not page_id.startswith(LONG):
        return page_id
    return LONG + hashlib.sha256(data).hexdigest()


def pair_key(left: str, right: str) -> str:
    """The ``_id`` of the edge between two pages."""
    digest = hashlib.sha256(f"{left}\0{right}".encode()).digest()[:18]
    return "~edge:" + base64.urlsafe_b64encode(digest).decode()


def storable(page_ids: Iterable[str]) -> list[str]:
    """The distinct ids of which a page may be stored, in order; a server refuses to look for others."""
    return [page_id for page_id in dict.fromkeys(page_ids) if page_id and encodable(page_id)]


class TermValues(NamedTuple):
    """How documents hold some terms: of each the field, and the value as statistics of terms name it; a batch has thousands of them."""

    fields: list[str]
    texts: list[str]

    def query(self, place: int) -> str:
        """A query for one of the terms, as JSON."""
        return f'{{"term":{{"{self.fields[place]}":{encode_basestring(self.texts[place])}}}}}'


@dataclass(frozen=True)
class TermFields:
    """The fields of the methods of an index, as these declare them.

    Attributes:
        terms: tag of terms to the fields that hold them: one, or several, of which the bits above the lowest 16 choose.
        types: fields that people read to ``keyword``, ``integer`` or ``object``; see ``Detector.field_types``.
    """

    terms: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def searched(self) -> tuple[str, ...]:
        """All fields that hold terms."""
        return (*dict.fromkeys(name for names in self.terms.values() for name in names), OTHER)

    @cached_property
    def numbers(self) -> frozenset[str]:
        """Of these, fields with the lowest 16 bits of a term as a number."""
        return frozenset(name for name in self.searched if self.types.get(name) == "integer")

    @cached_property
    def labelled(self) -> frozenset[str]:
        """Of these, fields whose values are text that people read."""
        return frozenset(name for name in self.searched if self.types.get(name) == "keyword")

    @cached_property
    def hashed(self) -> tuple[str, ...]:
        """Of these, fields that nobody can read."""
        return tuple(name for name in self.searched if name not in self.types)

    @cached_property
    def _at(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """For each tag the place of its first field in ``searched``, and how many it has."""
        first = np.full(TAGS, self.searched.index(OTHER), dtype=np.int64)
        count = np.ones(TAGS, dtype=np.int64)
        for tag, names in self.terms.items():
            first[tag], count[tag] = self.searched.index(names[0]), len(names)
        return first, count

    def properties(self) -> dict[str, Mapping[str, Any]]:
        """All fields as a mapping has them."""
        kinds = {name: SHOWN if kind == "object" else SEARCHED for name, kind in self.types.items()}
        return {**dict.fromkeys(self.searched, SEARCHED), **kinds}

    def values_of(self, terms: NDArray[np.uint64], labels: Mapping[int, str]) -> TermValues:
        """How documents hold these terms, in order.

        Args:
            terms: each in [0, 2^48).
            labels: text of those that are stored by it.
        """
        fields, texts = [self.searched[place] for place in self._places(terms).tolist()], tokens_of(terms)
        by_number = [name in self.numbers for name in fields]
        for at in np.flatnonzero(by_number).tolist():
            texts[at] = str(int(terms[at]) & BAND_MASK)
        if labels:
            known = zip(terms.tolist(), fields, texts, strict=True)
            texts = [labels.get(term, text) if name in self.labelled else text for term, name, text in known]
        return TermValues(fields, texts)

    def columns_of(self, batch: RecordBatch, *, named: bool) -> list[dict[str, Any]]:
        """For each page the fields that hold its terms, and, where text is wanted, all that people read.

        Args:
            batch: columns.
            named: whether the index keeps what people read; False: terms alone.
        """
        bodies: list[dict[str, Any]] = [{} for _ in batch.ids]
        owners = np.repeat(np.arange(len(batch.ids)), np.diff(batch.term_offsets))
        fields = self._places(batch.terms)
        keys = owners * len(self.searched) + fields
        terms = batch.terms
        if (keys[1:] < keys[:-1]).any():
            order = np.argsort(keys, kind="stable")
            keys, terms = keys[order], terms[order]
        starts = run_starts(keys)
        runs = keys[starts].tolist()
        bounds = [*starts.tolist(), len(keys)]
        tokens, numbers = tokens_of(terms), (terms & np.uint64(BAND_MASK)).tolist()
        for run, start, stop in zip(runs, bounds, bounds[1:], strict=False):
            owner, place = divmod(run, len(self.searched))
            name = self.searched[place]
            values = numbers[start:stop] if name in self.numbers else tokens[start:stop]
            bodies[owner][name] = values[0] if name in self.numbers and len(values) == 1 else values
        for body, shown in zip(bodies, batch.named if named else (), strict=False):
            body.update({name: value for name, value in shown.items() if name in self.types})
        return bodies

    def _places(self, terms: NDArray[np.uint64]) -> NDArray[np.int64]:
        first, count = self._at
        # what is too wide is refused elsewhere
        tags = (terms >> np.uint64(TAG_SHIFT)).astype(np.int64) % TAGS
        bands = (terms >> np.uint64(BAND_BITS)).astype(np.int64) % count[tags]
        return np.asarray(first[tags] + bands)


def edge_writes(edges: Iterable[Edge], documents: Collection) -> Iterator[Write]:
    """One write per edge; the same two pages have the same key."""
    for edge in map(turned, edges):
        key = pair_key(edge.left, edge.right)
        yield documents.put(key, {"edge": key, **asdict(edge)})


def assignment_writes(assignments: Iterable[Assignment], documents: Collection) -> Iterator[Write]:
    """One write per page; the last of equal pages wins."""
    for each in {each.page_id: each for each in assignments}.values():
        body = {
            "page_id": each.page_id,
            "cluster_id": each.cluster_id,
            "representative": each.canonical,
            "relation": str(each.relation),
            "score": each.score,
        }
        yield documents.put(key_of(each.page_id), body)


def edge_of(source: Mapping[str, Any]) -> Edge:
    """The edge that a document holds."""
    return Edge(source["left"], source["right"], Relation(source["relation"]), source["score"])


def assignment_of(source: Mapping[str, Any]) -> Assignment:
    """The assignment that a document holds."""
    page_id, cluster_id, canonical = source["page_id"], source["cluster_id"], source["representative"]
    return Assignment(page_id, cluster_id, canonical, Relation(source["relation"]), source["score"])


def assignments_in(found: Iterable[Mapping[str, Any]]) -> dict[str, Assignment]:
    """Assignments by page id, out of documents that hold them; documents of removed ones are passed over."""
    sources = (document["_source"] for document in found)
    return {source["page_id"]: assignment_of(source) for source in sources if "cluster_id" in source}
