"""What OpenAPI says of bodies and answers, with an example of each."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from pydantic.json_schema import models_json_schema

from es_dedup.serve.bodies import (
    JSON,
    NDJSON,
    Body,
    ExplainBody,
    JobBody,
    LabelBody,
    OverrideBody,
    PageBody,
    UndoBody,
)
from es_dedup.serve.problems import MEDIA_TYPE

if TYPE_CHECKING:
    from collections.abc import Mapping

_REF: Final = "#/components/schemas/{model}"
_TEXT: Final = "The ferry ran aground at noon on Monday. All 214 passengers were taken off safely."
PAGE: Final = {"id": "https://b.example/1", "text": _TEXT, "title": "Ferry aground"}
LINES: Final = '{"id": "b", "text": "The ferry ran aground at noon."}\n{"id": "c", "text": "Another page."}\n'
PAIR: Final = {
    "left": "https://a.example/1",
    "right": "https://b.example/1",
    "relation": "duplicate",
    "score": 1.0,
    "reason": "",
    "shares": [1.0, 1.0],
    "explanation": ["merged (duplicate): 100 % of https://a.example/1 stands in https://b.example/1, …"],
}
DECISION: Final = {
    "page_id": "https://b.example/1",
    "cluster_id": "https://a.example/1",
    "duplicate_of": "https://a.example/1",
    "outcome": "duplicate",
    "contained_in": [],
    "contains": [],
    "notes": [],
    "verdicts": [PAIR],
}
REPORT: Final = {
    "read": 1,
    "stored": 1,
    "unchanged": 0,
    "left_out": 0,
    "replaced": 0,
    "failed": {},
    "outcomes": {"duplicate": 1},
    "decisions": {"https://b.example/1": DECISION},
}
STORED: Final = {
    "page_id": "https://b.example/1",
    "title": "Ferry aground",
    "url": "",
    "site": "",
    "published": "",
    "language": "en",
    "skipped": "",
    "text": _TEXT,
    "cluster_id": "https://a.example/1",
}
CLUSTER: Final = {
    "id": "https://a.example/1",
    "size": 2,
    "confidence": 1.0,
    "canonical": {"page_id": "https://a.example/1", "title": "Ferry aground", "url": "", "published": ""},
    "members": [{"page_id": "https://b.example/1", "relation": "duplicate", "score": 1.0}],
    "contained_in": [],
}
CLUSTERS: Final = {"clusters": [CLUSTER], "next": "WzIsImEiXQ"}
HITS: Final = {
    "hits": [
        {
            "page_id": "https://a.example/1",
            "score": 3.1,
            "title": "Ferry aground",
            "url": "",
            "cluster_id": "https://a.example/1",
            "similar_count": 1,
        }
    ],
    "total_groups": 1,
    "total_documents": 2,
    "not_indexed": 0,
}
JOB: Final = {
    "id": "20261123-120000-1a2b3c",
    "what": "recluster",
    "state": "done",
    "stage": "",
    "done": 2,
    "total": 2,
    "rate": 0.0,
    "seconds_left": 1.5,
    "workers": 0,
    "counts": {"pages": 2, "changed": 0, "clusters_before": 1, "clusters": 1},
    "note": "",
}
OVERRIDE: Final = {
    "kind": "different",
    "pages": ["https://a.example/1", "https://b.example/1"],
    "reason": "two ferries",
    "author": "mz",
}
OVERRIDES: Final = {"overrides": [{"id": "1a2b3c4d5e6f", **OVERRIDE, "time": "2026-11-23T12:00:00Z"}]}
OVERRIDDEN: Final = {**OVERRIDES, "changed": ["https://a.example/1", "https://b.example/1"]}
LABEL_SENT: Final = {
    "id_a": "https://a.example/1",
    "id_b": "https://b.example/1",
    "label": "dup",
    "reader": "mz",
}
LABEL: Final = {**LABEL_SENT, "time": "2026-11-23T12:00:00Z"}
LABELS: Final = {"labels": [LABEL]}
PROBLEM: Final = {
    "type": "urn:es-dedup:problem:unknown-page",
    "title": "A page id that is not stored",
    "status": 404,
    "detail": "no page 'x' is stored: check the id, or add the page first",
    "retryable": False,
    "fields": {"page_id": "x"},
}
_PROBLEM_SCHEMA: Final = {
    "type": "object",
    "description": "RFC 9457; `detail` says what to do next, `fields` are the data of the error",
    "required": ["type", "title", "status", "detail", "retryable"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "retryable": {"type": "boolean", "description": "the same request may succeed later"},
        "fields": {"type": "object"},
    },
    "example": PROBLEM,
}
_KINDS: Final = {bool: "boolean", int: "integer", float: "number", str: "string"}
_NULLABLE: Final = frozenset({"duplicate_of", "next", "seconds_left", "total_groups"})
"""Fields that may be null, whatever the example has."""
_BY_NAME: Final = frozenset({"counts", "decisions", "failed", "outcomes"})
"""Objects whose fields are page ids or names of what is counted."""
KEY: Final = {
    "name": "Idempotency-Key",
    "in": "header",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255},
    "description": "a request that is repeated with the same key is done once and gets the same answer",
}


def route(
    example: Any,
    *,
    body: type[Body] | None = None,
    sent: Any = None,
    lines: bool = False,
    answers_lines: bool = False,
    idempotent: bool = False,
) -> dict[str, Any]:
    """Arguments of a route: its answer with an example, its body, and the answers it has in case of an error.

    Args:
        example: of the answer.
        body: model of the body; None: it has none.
        sent: an example of the body.
        lines: the body may be NDJSON.
        answers_lines: so is the answer to such a body.
        idempotent: it takes an ``Idempotency-Key``.
    """
    ok: dict[str, Any] = {JSON: {"schema": _schema_of(example), "example": example}}
    if answers_lines:
        ok[NDJSON] = {"schema": {"type": "string", "description": "an answer a line"}}
    problem = {"$ref": _REF.format(model="Problem")}
    responses: dict[int | str, dict[str, Any]] = {
        200: {"description": "Done", "content": ok},
        "4XX": {"description": "Refused", "content": {MEDIA_TYPE: {"schema": problem}}},
        "5XX": {"description": "Failed", "content": {MEDIA_TYPE: {"schema": problem}}},
    }
    extra: dict[str, Any] = {"parameters": [KEY]} if idempotent else {}
    if body is not None:
        content: dict[str, Any] = {
            JSON: {"schema": {"$ref": _REF.format(model=body.__name__)}, "example": sent}
        }
        if lines:
            content[NDJSON] = {
                "schema": {"type": "string", "description": f"a {body.__name__} a line"},
                "example": LINES if body is PageBody else f"{json.dumps(example)}\n",
            }
        extra["requestBody"] = {"required": True, "content": content}
    return {"responses": responses, "openapi_extra": extra}


def _schema_of(example: Any, name: str = "") -> dict[str, Any]:
    """The schema of a field, or of a whole answer, derived from an example of it, so that generated clients have typed fields."""
    match example:
        case dict() if name in _BY_NAME:
            values = _schema_of(next(iter(example.values()), ""))
            return {"type": "object", "additionalProperties": values}
        case dict():
            fields = {key: _schema_of(value, key) for key, value in example.items()}
            return {"type": "object", "properties": fields, "required": [*fields]}
        case list():
            # Lists that are empty in an example hold page ids or notes.
            return {"type": "array", "items": _schema_of(example[0] if example else "")}
    kind = _KINDS[type(example)]
    return {"type": [kind, "null"] if name in _NULLABLE else kind}


def with_models(document: Mapping[str, Any]) -> dict[str, Any]:
    """The OpenAPI document with the schemas that its routes name."""
    bodies = (PageBody, ExplainBody, JobBody, LabelBody, OverrideBody, UndoBody)
    models = [(model, "validation") for model in bodies]
    _, found = models_json_schema(models, ref_template=_REF)  # type: ignore[arg-type]
    components = dict(document.get("components", {}))
    schemas = {**components.get("schemas", {}), **found["$defs"], "Problem": _PROBLEM_SCHEMA}
    return {**document, "components": {**components, "schemas": schemas}}
