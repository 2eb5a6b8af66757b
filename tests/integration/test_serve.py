"""The REST API on a file and on Elasticsearch: each route answers what the library answers."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from es_dedup import Deduplicator, Page
from es_dedup.model.plain import plain
from es_dedup.serve import schemas
from tests.serving import EVERYWHERE, OTHER, TEXT, Api, serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

IDS = ("https://a.example/1?x=1&y=ü", "b/../c", "plain")


@pytest.fixture
def api(place: str, tmp_path: Path) -> Iterator[Api]:
    """A server on an empty index."""
    with serving(place, tmp_path / "server", waiting=64) as api:
        yield api


def of_library(place: str, page: Page) -> Any:
    """The library's decision on a page."""
    with Deduplicator.open(place, read_only=True) as dedup:
        return plain(dedup.check(page))


def seen(api: Api, pages: int) -> None:
    """Wait until searches see so many pages: on Elasticsearch they do after ``elastic.refresh``."""
    end = time.monotonic() + 30
    while (found := api.get("/v1/search", params={"q": "ferry mayor"}).json())["total_documents"] < pages:
        assert time.monotonic() < end, found
        time.sleep(0.2)


@EVERYWHERE
def test_each_route_answers_as_the_library(api: Api, place: str) -> None:
    first, second, third = IDS
    report = api.post(
        "/v1/pages", json={"id": first, "text": TEXT, "title": "Ferry", "published": "2026-01-01"}
    )
    assert (report.status_code, report.json()["stored"], report.json()["outcomes"]) == (200, 1, {"unique": 1})
    report = api.put(f"/v1/pages/{quote(second, safe='')}", json={"html": f"<p>{TEXT}</p>"})
    assert report.json()["decisions"][second]["duplicate_of"] == first
    report = api.lines("/v1/pages", {"id": third, "text": OTHER}, {"id": "gone", "text": OTHER + " Yes."})
    assert (report.json()["read"], report.json()["stored"], report.json()["failed"]) == (2, 2, {})
    removed = api.delete("/v1/pages/gone")
    assert (removed.status_code, removed.json()["removed"]) == (200, 1)
    assert api.delete("/v1/pages/gone").status_code == 404
    seen(api, 3)

    page = {"id": "new", "text": TEXT}
    expected = of_library(place, Page(**page))
    assert expected["duplicate_of"] == first
    assert api.post("/v1/check", json=page).json() == expected
    lines = api.lines("/v1/check", page, {"id": "x", "text": "Short."}, page)
    assert lines.headers["content-type"] == "application/x-ndjson"
    assert [each["page_id"] for each in map(json_of, lines.text.splitlines())] == ["new", "x", "new"]
    assert json_of(lines.text.splitlines()[0]) == expected

    pair = api.post("/v1/explain", json={"left": first, "right": page, "also": ["dwdcs"]}).json()
    assert (pair["relation"], pair["right"]) == ("exact", "new")
    assert api.post("/v1/explain", json={"left": first, "right": "none"}).status_code == 404
    assert api.post("/v1/explain", json={"left": first, "right": page, "also": ["none"]}).status_code == 400

    stored = api.get(f"/v1/pages/{quote(first, safe='')}").json()
    assert (stored["text"], stored["title"], stored["cluster_id"]) == (TEXT, "Ferry", first)
    (cluster,) = api.get("/v1/clusters").json()["clusters"]
    assert api.get(f"/v1/clusters/{quote(second, safe='')}").json() == cluster
    assert (cluster["canonical"]["page_id"], cluster["members"][0]["page_id"]) == (first, second)
    with_evidence = api.get(f"/v1/clusters/{quote(first, safe='')}", params={"evidence": True}).json()
    assert with_evidence["members"][0]["evidence"]["relation"] == "exact"
    hits = api.get("/v1/search", params={"q": "ferry"}).json()
    assert (hits["total_groups"], hits["total_documents"], len(hits["hits"])) == (1, 2, 1)
    assert len(api.get("/v1/search", params={"q": "ferry", "collapse": False}).json()["hits"]) == 2
    assert api.get("/healthz").json() == api.get("/readyz").json() == {"status": "ok"}
    assert 'route="/v1/check",status="200"} 2.0' in api.get("/metrics").text


def json_of(line: str) -> Any:
    """A line of NDJSON."""
    return json.loads(line)


def test_clusters_are_paged(api: Api) -> None:
    words = ("harbour", "mountain", "railway", "orchard", "theatre")
    pages = [
        {"id": f"{word}-{copy}", "text": " ".join(f"{word}{n} {n * 7} of the {word}" for n in range(20))}
        for word in words
        for copy in range(2)
    ]
    assert api.lines("/v1/pages", *pages).json()["outcomes"] == {"unique": 5, "duplicate": 5}
    seen_ids, after = [], None
    while True:
        answer = api.get("/v1/clusters", params={"limit": 2, **({"after": after} if after else {})}).json()
        seen_ids += [each["id"] for each in answer["clusters"]]
        if (after := answer["next"]) is None:
            break
    assert seen_ids == sorted(f"{word}-0" for word in words)


@EVERYWHERE
def test_what_people_decide_goes_before_the_rules(api: Api) -> None:
    api.lines("/v1/pages", {"id": "a", "text": TEXT}, {"id": "b", "text": TEXT})
    decision = {"kind": "different", "pages": ["a", "b"], "reason": "two ferries", "author": "mz"}
    (made,) = api.post("/v1/overrides", json=decision).json()["overrides"]
    assert {name: made[name] for name in decision} == decision
    assert [api.get(f"/v1/clusters/{name}").json()["size"] for name in "ab"] == [1, 1]
    assert api.get("/v1/overrides").json()["overrides"] == [made]
    refused = api.post("/v1/overrides", json={**decision, "kind": "same"})
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:es-dedup:problem:override-conflict")
    assert api.post("/v1/overrides", json={**decision, "pages": ["a"]}).status_code == 400
    assert api.post("/v1/overrides", json={**decision, "reason": ""}).status_code == 400
    assert api.post("/v1/overrides/none/undo", json={"author": "mz"}).status_code == 404
    undone = api.post(f"/v1/overrides/{made['id']}/undo", json={"author": "mz"})
    assert undone.json()["changed"]
    assert api.get("/v1/clusters/b").json()["size"] == 2
    assert api.get("/v1/overrides").json()["overrides"] == []


def test_labels_of_readers_are_kept_exported_and_imported(api: Api) -> None:
    api.lines("/v1/pages", {"id": "a", "text": TEXT}, {"id": "b", "text": TEXT})
    said = {"id_a": "b", "id_b": "a", "label": "dup", "reader": "mz"}
    made = api.post("/v1/labels", json=said).json()
    assert (made["id_a"], made["id_b"], made["label"], made["reader"]) == ("a", "b", "dup", "mz")
    other = api.post("/v1/labels", json={**said, "reader": "al", "label": "diff"}).json()
    assert api.get("/v1/labels").json() == {"labels": [made, other]}
    assert api.get("/v1/clusters/b").json()["size"] == 2
    for wrong in ({"label": "x"}, {"id_b": "b"}, {"reader": " "}, {"reader": 3}, {"time": ""}):
        assert api.post("/v1/labels", json={**said, **wrong}).status_code == 400, wrong
    assert api.post("/v1/labels", json={**said, "id_a": "none"}).status_code == 404
    of_al = {"id_a": "a", "id_b": "b", "reader": "al"}
    assert api.delete("/v1/labels", params=of_al).json() == {"removed": 1}
    assert api.delete("/v1/labels", params=of_al).json() == {"removed": 0}
    assert api.get("/v1/labels").json() == {"labels": [made]}
    exported = api.get("/v1/labels", headers={"Accept": "application/x-ndjson"})
    assert exported.headers["content-type"] == "application/x-ndjson"
    first, second = map(json_of, exported.text.splitlines())
    assert (first, second["removed"] > other["time"]) == (made, True)
    assert api.lines("/v1/labels", first, second).json() == {"imported": 0}
    later = {**first, "id_b": "elsewhere", "time": "2026-01-01T00:00:00Z"}
    assert api.lines("/v1/labels", first, {**later, "label": "x"}).status_code == 400
    assert api.lines("/v1/labels", first, later).json() == {"imported": 1}
    assert api.get("/v1/labels").json() == {"labels": [later, made]}
    api.post("/v1/pages", json={"id": " ", "text": TEXT})
    assert api.post("/v1/labels", json={**said, "id_a": " "}).status_code == 200
    assert len(api.get("/v1/labels").json()["labels"]) == 3


def test_reclustering_is_a_job(api: Api) -> None:
    api.lines("/v1/pages", {"id": "a", "text": TEXT}, {"id": "b", "text": TEXT})
    job = api.post("/v1/jobs", json={"what": "recluster"}).json()
    end = time.monotonic() + 60
    while (now := api.get(f"/v1/jobs/{job['id']}").json())["state"] == "running":
        assert time.monotonic() < end, now
        time.sleep(0.1)
    assert (now["state"], now["counts"]["pages"], now["counts"]["clusters"]) == ("done", 2, 1)
    assert api.get("/v1/jobs").json()["jobs"] == [now]
    assert api.post(f"/v1/jobs/{job['id']}/cancel").status_code == 501
    assert api.get("/v1/jobs/none").status_code == 404


def test_the_document_has_an_example_of_each_answer(tmp_path: Path) -> None:
    """Real answers are as the document, which is made from the examples, says."""
    with serving(str(tmp_path / "pages.db"), tmp_path / "server") as api:
        document = api.get("/openapi.json").json()
        assert document["components"]["securitySchemes"]
        described = {}
        for path, methods in document["paths"].items():
            for method, each in methods.items():
                assert each["summary"]
                if path != "/metrics":
                    content = each["responses"]["200"]["content"]["application/json"]
                    assert "example" in content
                    described[f"{method.upper()} {path}"] = content["schema"]
        api.lines("/v1/pages", {"id": "https://a.example/1", "text": TEXT})
        page, override = schemas.PAGE["id"], {"author": "mz", "reason": "two ferries"}
        answers = [
            ("POST /v1/pages", api.post("/v1/pages", json=schemas.PAGE)),
            ("POST /v1/check", api.post("/v1/check", json=schemas.PAGE)),
            ("POST /v1/check", api.post("/v1/check", json={"text": "Quite another page of a few words."})),
            ("GET /v1/pages/{page_id}", api.get(f"/v1/pages/{page}")),
            ("POST /v1/explain", api.post("/v1/explain", json={"left": page, "right": schemas.PAGE})),
            ("GET /v1/clusters", api.get("/v1/clusters")),
            ("GET /v1/clusters/{name}", api.get(f"/v1/clusters/{page}?evidence=true")),
            ("GET /v1/search", api.get("/v1/search", params={"q": "ferry"})),
            ("POST /v1/labels", api.post("/v1/labels", json=schemas.LABEL_SENT)),
            ("GET /v1/labels", api.get("/v1/labels")),
            ("POST /v1/overrides", api.post("/v1/overrides", json=schemas.OVERRIDE)),
            ("GET /v1/overrides", found := api.get("/v1/overrides")),
            (
                "POST /v1/overrides/{override_id}/undo",
                api.post(f"/v1/overrides/{found.json()['overrides'][0]['id']}/undo", json=override),
            ),
            ("POST /v1/jobs", api.post("/v1/jobs", json={"what": "recluster", "dry_run": True})),
            ("GET /v1/jobs", api.get("/v1/jobs")),
            ("DELETE /v1/pages/{page_id}", api.delete(f"/v1/pages/{page}")),
        ]
        for route, answer in answers:
            assert answer.status_code == 200, route
            assert not list(misfits(answer.json(), described[route], route))
        assert api.get("/v1/pages/x").json() == schemas.PROBLEM


TYPES: dict[str, Any] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}


def misfits(value: Any, schema: dict[str, Any], place: str) -> Iterator[str]:
    """Places at which a value is none of a schema."""
    match schema["type"]:
        case "array":
            for each in value:
                yield from misfits(each, schema["items"], f"{place}[]")
        case "object":
            fields = schema.get("properties", {})
            yield from (
                f"{place}.{name} is missing" for name in schema.get("required", ()) if name not in value
            )
            for name, each in value.items():
                of_name = fields.get(name, schema.get("additionalProperties"))
                yield from misfits(each, of_name, f"{place}.{name}") if of_name else ()
        case str() | list() as kinds:
            allowed = [TYPES[kind] for kind in ([kinds] if isinstance(kinds, str) else kinds)]
            if not any(isinstance(value, kind) for kind in allowed):
                yield f"{place} is {value!r}, not {kinds}"
