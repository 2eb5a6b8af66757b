"""A node of Elasticsearch inside this process: the real client talks to it, and gets plausible or damaged answers.

It stands below the client, in the place of a connection, so that the client's own parsing and its errors are the real ones.
"""

import base64
import json
import random
from collections.abc import Mapping
from typing import Any, ClassVar, Final
from urllib.parse import urlsplit

from elastic_transport import ApiResponseMeta, BaseNode, HttpHeaders
from elastic_transport import ConnectionError as NoConnection
from elastic_transport._node._base import NodeApiResponse

from es_dedup.decision.statistics import Statistics
from es_dedup.index.elastic.documents import hash_token
from es_dedup.index.elastic.schema import KINDS, META_KEY, SCHEMA_VERSION, load_mapping
from es_dedup.index.elastic.source_index import source_properties
from es_dedup.index.jobs import DeadLetter, Job, JobState, Partition, as_dict
from es_dedup.index.records import version_of
from es_dedup.index.texts import compress_text
from es_dedup.settings import Settings
from es_dedup.settings.recorded import clustered_with
from tests.fuzz.mutate import as_bytes, damaged, damaged_json

SEED: Final = "0"
ERRORS: Final = (
    (400, "parsing_exception"), (400, "search_phase_execution_exception"), (401, "security_exception"), (403, "cluster_block_exception"),
    (404, "index_not_found_exception"), (404, "search_context_missing_exception"), (409, "version_conflict_engine_exception"),
    (413, "too_large"), (429, "es_rejected_execution_exception"), (500, "null_pointer_exception"), (503, "unavailable_shards_exception"),
)  # fmt: skip
JOB: Final = Job("j1", "backfill", JobState.RUNNING, {"target": "i"}, 1, 2, 0, ("a",), (2,), {"done": 1})
DEAD: Final = DeadLetter("p1", "t", "e", 1, 2)
PART: Final = Partition("j1", "a", 0, {"index": "i"}, 5)


NODE: Final = {"name": "n", "version": "8.19.3", "timestamp": 1_700_000_000_000, "settings": {}}
COPIES: Final = [{"seq_no": {"max_seq_no": 5}, "retention_leases": {"leases": [{"retaining_seq_no": 5}]}}]
STATS: Final[Mapping[str, Any]] = {"_all": {"primaries": {"store": {"size_in_bytes": 5}}}}
TEMPLATE: Final = {
    "index_patterns": ["i*"],
    "composed_of": ["x"],
    "priority": 1,
    "template": {},
    "version": 1,
}
CLUSTER: Final[Mapping[str, Any]] = {
    "_nodes": {"cluster_name": "c", "nodes": {"a": NODE, "b": NODE}},
    "_count": {"count": 3, "_shards": {"total": 1, "successful": 1, "failed": 0}},
    "_pit": {"id": "p1", "succeeded": True, "num_freed": 1},
    "_index_template": {"index_templates": [{"name": "t", "index_template": TEMPLATE}]},
    "_component_template": {"component_templates": [{"name": "x", "component_template": {"template": {}}}]},
    "_cluster": {
        "cluster_uuid": "u",
        "version": {"number": "8.19.3"},
        "status": "green",
        "metadata": {"indices": {}},
    },
}


class Node(BaseNode):
    """What answers; see the module.

    Attributes:
        rng: decides on answers.
        damage: share of the answers that are damaged.
        errors: share of the answers that are errors.
        features: settings in the metadata of our own indices.
        payloads: features in stored documents.
    """

    rng: ClassVar[random.Random] = random.Random(SEED)
    damage: ClassVar[float] = 0.0
    errors: ClassVar[float] = 0.0
    features: ClassVar[Mapping[str, Any]] = {}
    payloads: ClassVar[tuple[bytes, ...]] = (b"",)

    def perform_request(
        self,
        method: str,
        target: str,
        body: bytes | None = None,
        headers: HttpHeaders | None = None,
        request_timeout: Any = None,
    ) -> NodeApiResponse:
        """One answer."""
        rng, cls = self.rng, type(self)
        status, answer = cls.answered(method, target, body or b"")
        kind = "application/vnd.elasticsearch+json;compatible-with=8"
        raw = b"" if method == "HEAD" else json.dumps(answer).encode()
        product = "Elasticsearch"
        if rng.random() < self.damage:
            match rng.randrange(12):
                case 0:
                    raw = damaged(rng, raw, most=2)
                case 1:
                    status, kind = (
                        rng.choice((200, 200, 404, 500)),
                        rng.choice((kind, "text/html", "text/plain", "application/json", "")),
                    )
                case 2 if rng.random() < 0.3:
                    product = rng.choice(("", "Other"))
                case 3 if rng.random() < 0.3:
                    raise NoConnection("connection reset")
                case _:
                    raw = as_bytes(rng, damaged_json(rng, answer))
        found = HttpHeaders(
            {"content-type": kind, "x-elastic-product": product} if kind else {"x-elastic-product": product}
        )
        return NodeApiResponse(ApiResponseMeta(status, "1.1", found, 0.0, self.config), raw)

    def close(self) -> None:
        """Nothing is open."""

    @classmethod
    def answered(cls, method: str, target: str, body: bytes) -> tuple[int, Any]:
        """Status and body of an answer."""
        rng = cls.rng
        if rng.random() < cls.errors:
            status, kind = rng.choice(ERRORS)
            return status, {"error": _error(kind), "status": status}
        path = urlsplit(target).path
        parts = [part for part in path.split("/") if part]
        name = next((part for part in reversed(parts) if part.startswith("_")), "")
        index = parts[0] if parts and not parts[0].startswith("_") else "i"
        if method == "HEAD":
            return rng.choice((200, 404)), None
        known = {
            "_search": cls._search, "_msearch": cls._msearch, "_mget": cls._mget, "_bulk": cls._bulk, "_mtermvectors": cls._mtermvectors,
        }  # fmt: skip
        if name in known:
            return 200, known[name](index, target, body)
        return 200, cls._other(method, name, index, parts)

    @classmethod
    def _search(cls, index: str, _target: str, body: bytes) -> dict[str, Any]:
        return search_answer(cls.rng, index, json.loads(body or b"{}"), cls.payloads)

    @classmethod
    def _msearch(cls, _index: str, _target: str, body: bytes) -> dict[str, Any]:
        lines = body.splitlines()
        answers: list[Any] = []
        for head, asked in zip(lines[::2], lines[1::2], strict=False):
            if cls.rng.random() < cls.errors:
                status, kind = cls.rng.choice(ERRORS)
                answers.append({"error": _error(kind), "status": status})
                continue
            index = json.loads(head).get("index", "i")
            answers.append(
                search_answer(
                    cls.rng, index if isinstance(index, str) else "i", json.loads(asked), cls.payloads
                )
                | {"status": 200}
            )
        return {"took": 1, "responses": answers}

    @classmethod
    def _mget(cls, index: str, _target: str, body: bytes) -> dict[str, Any]:
        asked = json.loads(body)
        wanted = [(doc.get("_index", index), doc["_id"]) for doc in asked.get("docs", ())] or [
            (index, key) for key in asked["ids"]
        ]
        docs: list[dict[str, Any]] = []
        for place, key in wanted:
            chance = cls.rng.random()
            if chance < cls.errors:
                docs.append({"_index": place, "_id": key, "error": _error(cls.rng.choice(ERRORS)[1])})
            elif chance < 0.15:
                docs.append({"_index": place, "_id": key, "found": False})
            else:
                docs.append(document(cls.rng, place, key, cls.payloads) | {"found": True})
        return {"docs": docs}

    @classmethod
    def _bulk(cls, index: str, _target: str, body: bytes) -> dict[str, Any]:
        items: list[dict[str, Any]] = []
        lines = iter(body.splitlines())
        for line in lines:
            ((operation, head),) = json.loads(line).items()
            if operation != "delete":
                next(lines)
            said = {
                "_index": head.get("_index", index),
                "_id": head.get("_id", "new"),
                "_version": 1,
                "result": "created",
                "status": 201,
            }
            said |= {
                "_seq_no": cls.rng.randrange(99),
                "_primary_term": 1,
                "_shards": {"total": 1, "successful": 1, "failed": 0},
            }
            if cls.rng.random() < cls.errors:
                status, kind = cls.rng.choice(ERRORS)
                said = {"_index": said["_index"], "_id": said["_id"], "status": status, "error": _error(kind)}
            items.append({operation: said})
        return {"took": 1, "errors": False, "items": items}

    @classmethod
    def _mtermvectors(cls, index: str, _target: str, body: bytes) -> dict[str, Any]:
        docs = []
        for doc in json.loads(body).get("docs", ()):
            counts = {
                field: {
                    "terms": {term: {"doc_freq": cls.rng.randrange(1, 9), "term_freq": 1} for term in terms},
                    "field_statistics": {},
                }
                for field, terms in doc.get("doc", {}).items()
            }
            docs.append({"_index": index, "found": True, "term_vectors": counts})
        return {"docs": docs}

    @classmethod
    def _other(cls, method: str, name: str, index: str, parts: list[str]) -> Any:
        concrete = f"{index}-v2-000001" if "-dedup-" in index and "-v2-" not in index else index
        settings = {"index": {"uuid": "u", "number_of_shards": "2"}}
        if method == "GET" and parts == [index]:
            return {
                concrete: {
                    "mappings": {"properties": source_properties()},
                    "settings": settings,
                    "aliases": {},
                }
            }
        if method == "GET" and name in ("_doc", "_create"):
            return document(cls.rng, index, parts[-1], cls.payloads) | {"found": True}
        if name == "_mapping":
            metadata = {META_KEY: {"schema": SCHEMA_VERSION, "features": cls.features}}
            kinds = [kind for kind in KINDS if index.endswith(f"-dedup-{kind}")]
            properties = load_mapping(kinds[0])["mappings"]["properties"] if kinds else {}
            return {concrete: {"mappings": {"_meta": metadata, "properties": properties}}}
        written = {
            "_index": concrete,
            "_id": parts[-1] if parts else "",
            "_seq_no": 3,
            "_primary_term": 1,
            "result": "created",
        }
        answers: Mapping[str, Any] = {
            **CLUSTER,
            "_doc": written,
            "_create": written,
            "_settings": {concrete: {"settings": settings}},
            "_alias": {concrete: {"aliases": {index: {"is_write_index": True}}}},
            "_stats": {**STATS, "indices": {concrete: {"shards": {"0": COPIES}}}},
        }
        return answers.get(
            name,
            {"acknowledged": True, "_shards": {"total": 1, "failed": 0}} if parts else CLUSTER["_cluster"],
        )


def source(rng: random.Random, index: str, key: str, asked: str) -> dict[str, Any]:
    """What a document of ours, or of the user's, holds; ``asked``: the search that finds it."""
    name = key if key.startswith("p") else f"p{rng.randrange(4)}"
    text = "泵站的水位在夜间上升，值班员打开了第三道闸门。" * 3
    body: Any = as_dict(JOB)
    if key.startswith("try:"):
        body = {"count": 2}
    elif key.startswith("part:"):
        body = as_dict(PART)
    elif key.startswith("dead:") or '"dead"' in asked:
        body = as_dict(DEAD)
    note = clustered_with("v", 5, Settings()).encode() if key == "note:statistics" else b"1"
    packed = Statistics.empty().to_bytes() if key.startswith("statistics:") else note
    value = base64.b64encode(packed).decode()
    made = {
        "page_id": name, "length": 40, "content_hash": hash_token(rng.randrange(2**64)), "payload_version": hash_token(version_of(b"")),
        "published": "2026-03-04", "site": "a.example",
        "language": "zh", "url": "http://a/", "title": "水位", "cluster_id": "p0", "representative": "p0", "relation": "duplicate", "score": 0.9,
        "left": "p0", "right": "p1", "text": base64.b64encode(compress_text(text)).decode() if "-dedup-texts" in index else text, "value": value,
        "kind": "note", "owner": "", "parts": 1, "at": 5, "body": body, "content": text,
        "dedup": {"cluster_id": "p0", "canonical": True, "relation": "unique", "cluster_size": 2},
    }  # fmt: skip
    if rng.random() < 0.2:
        made["dedup"] = rng.choice(
            ({"waiting": True, "relation": "pending"}, None, "x", [], {"cluster_id": 7})
        )
    return made


def document(
    rng: random.Random, index: str, key: str, payloads: tuple[bytes, ...], asked: str = ""
) -> dict[str, Any]:
    """A document as ``get`` and ``mget`` give it, or as a hit."""
    stored = {
        "page_id": [key], "payload": [base64.b64encode(rng.choice(payloads)).decode()], "dedup.cluster_id": [f"c{rng.randrange(3)}"],
        "dedup.cluster_size": [rng.randrange(1, 4)], "dedup.contained_in": ["i/p1"], "dedup.duplicate_of": ["i/p2"],
    }  # fmt: skip
    if rng.random() < 0.3:
        del stored["dedup.cluster_id"]
    return {
        "_index": index, "_id": key, "_version": 1, "_seq_no": rng.randrange(50), "_primary_term": 1, "_score": 1.5,
        "_source": source(rng, index, key, asked), "fields": stored,
    }  # fmt: skip


def search_answer(rng: random.Random, index: str, asked: Any, payloads: tuple[bytes, ...]) -> dict[str, Any]:
    """A plausible answer to a search."""
    asked = asked if isinstance(asked, dict) else {}
    size = asked.get("size", 10)
    count = min(size if isinstance(size, int) else 10, rng.choice((0, 1, 2, 3)))
    keys = asked.get("sort")
    keys = keys if isinstance(keys, list) else [keys] if keys else []
    hits = [
        document(rng, index, f"d{at}", payloads, json.dumps(asked))
        | ({"sort": [_sort_value(rng, key) for key in keys]} if keys else {})
        for at in range(count)
    ]
    made: dict[str, Any] = {
        "took": 1,
        "timed_out": False,
        "_shards": {"total": rng.choice((1, 2)), "successful": 1, "skipped": 0, "failed": 0},
    }
    if rng.random() < 0.03:
        made["timed_out"] = True
    if rng.random() < 0.03:
        made["_shards"] |= {
            "failed": 1,
            "failures": [{"shard": 0, "reason": _error("no mapping found for `x`")}],
        }
    made["hits"] = {"max_score": 1.0, "hits": hits}
    if asked.get("track_total_hits") is not False:
        made["hits"]["total"] = {
            "value": max(count, rng.randrange(5)),
            "relation": rng.choice(("eq", "eq", "gte")),
        }
    made |= {name: {} for name in ("suggest", "profile") if asked.get(name)}
    if "pit" in asked:
        made["pit_id"] = "p2"
    facets = asked.get("aggs") or asked.get("aggregations")
    if isinstance(facets, dict) and facets:
        made["aggregations"] = {name: _aggregation(rng, spec) for name, spec in facets.items()}
    return made


def _sort_value(rng: random.Random, key: Any) -> Any:
    name = next(iter(key), "") if isinstance(key, dict) else str(key)
    if name.startswith("_"):
        return rng.randrange(1, 2_000)
    return rng.choice(("p0", "p1"))


def _aggregation(rng: random.Random, spec: Any, depth: int = 0) -> dict[str, Any]:
    spec = spec if isinstance(spec, dict) else {}
    kind = next((name for name in spec if name not in ("aggs", "aggregations", "meta")), "")
    inner = spec.get("aggs") or spec.get("aggregations") or {}
    settings = spec.get(kind)

    def bucket(key: Any) -> dict[str, Any]:
        below = (
            {name: _aggregation(rng, each, depth + 1) for name, each in inner.items()}
            if isinstance(inner, dict) and depth < 6
            else {}
        )
        return {"key": key, "doc_count": rng.randrange(2, 30), **below}

    if kind in ("filter", "missing", "global", "sampler", "diversified_sampler", "nested", "random_sampler"):
        made = bucket("")
        del made["key"]
        return made
    if kind == "cardinality" or kind in ("avg", "sum", "min", "max", "value_count"):
        return {"value": rng.randrange(9)}
    if kind == "stats_bucket":
        return {"count": 1, "min": 1, "max": 1, "sum": 3.0, "avg": 1}
    if kind == "filters":
        named = settings.get("filters") if isinstance(settings, dict) else None
        return {
            "buckets": {name: bucket(name) for name in named}
            if isinstance(named, dict)
            else [bucket(at) for at in range(len(named or ()))]
        }
    if kind == "composite":
        return {"buckets": [bucket({"id": f"c{at}"}) for at in range(2)], "after_key": {"id": "c1"}}
    return {
        "doc_count_error_upper_bound": 0,
        "sum_other_doc_count": 0,
        "buckets": [bucket(f"c{at}") for at in range(rng.randrange(3))],
    }


def _error(kind: str) -> dict[str, Any]:
    return {
        "type": kind,
        "reason": f"{kind} of a test",
        "root_cause": [{"type": kind, "reason": "root"}],
        "caused_by": {"type": "x", "reason": "y"},
    }
