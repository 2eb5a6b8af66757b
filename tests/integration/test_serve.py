"""The REST API on a file and on Elasticsearch: each route answers what the library answers."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from es_dedup import Deduplicator, Page
from es_dedup.deduplicator.index_reader import STATISTICS_SECONDS
from es_dedup.model.plain import plain
from tests.serving import EVERYWHERE, OTHER, TEXT, Api, problem, serving

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
    time.sleep(STATISTICS_SECONDS)  # for so long the server may decide with the statistics of before


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


def test_a_server_says_that_it_is_reading_the_index(tmp_path: Path) -> None:
    place = str(tmp_path / "pages.db")
    with serving(place, tmp_path / "server", ready=False, require_token=False) as api:
        assert problem(api.get("/readyz"), 503, "opening")["retryable"]
        view = api.get("/console")
        assert (view.status_code, view.headers["refresh"]) == (503, view.headers["retry-after"])
        assert "The page is shown as soon as the index is loaded" in view.text
        assert api.post("/v1/check", json={"id": "a", "text": TEXT}).status_code == 200  # waits
        assert {api.get("/readyz").status_code, api.get("/console").status_code} == {200}


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


@pytest.mark.parametrize("place", ["file"], indirect=True)
def test_answers_and_examples_are_as_the_document_says(api: Api) -> None:
    document = api.get("/openapi.json").json()
    schemas = document["components"]["schemas"]
    assert document["components"]["securitySchemes"]
    examples = {name: schema["example"] for name, schema in schemas.items() if "example" in schema}
    page, override = (examples[name] for name in ("PageBody", "OverrideBody"))
    for name, example in examples.items():
        assert not list(misfits(example, schemas[name], schemas, name))
    described = {}
    for path, methods in document["paths"].items():
        for method, route in methods.items():
            assert route["summary"]
            assert "4XX" in route["responses"]
            if path != "/metrics":
                content = route["responses"]["200"]["content"]["application/json"]
                described[f"{method.upper()} {path}"] = content["schema"]
            for schema in (content["schema"], *sent_in(route)):
                names = [each["$ref"].rpartition("/")[2] for each in schema.get("anyOf", [schema])]
                assert examples.keys() >= set(names), f"no example of {names}"
    api.lines("/v1/pages", {"id": "https://a.example/1", "text": TEXT})
    name, quoted = page["id"], quote(page["id"], safe="")
    asked = [
        ("POST /v1/pages", api.post("/v1/pages", json=page)),
        ("PUT /v1/pages/{page_id}", api.put(f"/v1/pages/{quoted}", json=page)),
        ("POST /v1/check", api.post("/v1/check", json=page)),
        ("POST /v1/check", api.post("/v1/check", json={"text": "Quite another page of a few words."})),
        ("GET /v1/pages/{page_id}", api.get(f"/v1/pages/{quoted}")),
        ("POST /v1/explain", api.post("/v1/explain", json={"left": name, "right": page})),
        ("GET /v1/clusters", api.get("/v1/clusters")),
        ("GET /v1/clusters/{name}", api.get(f"/v1/clusters/{quoted}?evidence=true")),
        ("GET /v1/search", api.get("/v1/search", params={"q": "ferry"})),
        ("POST /v1/overrides", api.post("/v1/overrides", json=override)),
        ("GET /v1/overrides", found := api.get("/v1/overrides")),
        ("POST /v1/explain", api.post("/v1/explain", json={"left": override["pages"][0], "right": name})),
        (
            "POST /v1/overrides/{override_id}/undo",
            api.post(f"/v1/overrides/{found.json()['overrides'][0]['id']}/undo", json=examples["UndoBody"]),
        ),
        ("GET /v1/overrides", api.get("/v1/overrides?undone=true")),
        ("POST /v1/jobs", job := api.post("/v1/jobs", json={"what": "recluster", "dry_run": True})),
        ("GET /v1/jobs/{job_id}", api.get(f"/v1/jobs/{job.json()['id']}")),
        ("GET /v1/jobs", api.get("/v1/jobs")),
        ("DELETE /v1/pages/{page_id}", api.delete(f"/v1/pages/{quoted}")),
        ("GET /healthz", api.get("/healthz")),
        ("GET /readyz", api.get("/readyz")),
    ]
    for route, answer in asked:
        assert answer.status_code == 200, (route, answer.text)
        assert not list(misfits(answer.json(), described[route], schemas, route))
    assert described.keys() - dict(asked) == {"POST /v1/jobs/{job_id}/{action}"}  # only on attached indices
    assert api.get("/v1/pages/x").json() == examples["Problem"]


TYPES: dict[str, Any] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}


def sent_in(route: Any) -> Iterator[Any]:
    """The schema of the JSON body of a route, if it takes one."""
    if "requestBody" in route:
        yield route["requestBody"]["content"]["application/json"]["schema"]


def misfits(value: Any, schema: Any, schemas: Any, place: str) -> Iterator[str]:
    """Places at which a value is none of a schema, or has a field that the schema does not name."""
    if "$ref" in schema:
        schema = schemas[schema["$ref"].rpartition("/")[2]]
    if "anyOf" in schema:
        if all(list(misfits(value, each, schemas, place)) for each in schema["anyOf"]):
            yield f"{place} is {value!r}, none of {schema['anyOf']}"
        return
    if value not in schema.get("enum", [schema.get("const", value)]):
        yield f"{place} is {value!r}, not of {schema}"
    match schema.get("type"), value:
        case "array", list():
            each_schema = schema.get("prefixItems", [schema.get("items")] * len(value))
            for each, of_each in zip(value, each_schema, strict=True):
                yield from misfits(each, of_each, schemas, f"{place}[]")
        case "object", dict():
            fields, further = schema.get("properties", {}), schema.get("additionalProperties", False)
            yield from (
                f"{place}.{name} is missing" for name in schema.get("required", ()) if name not in value
            )
            for name, each in value.items():
                of_name = fields.get(name, further)
                if of_name is False:
                    yield f"{place}.{name} is not described"
                elif of_name is not True:
                    yield from misfits(each, of_name, schemas, f"{place}.{name}")
        case str() as kind, _ if kind not in TYPES or not isinstance(value, TYPES[kind]):
            yield f"{place} is {value!r}, not {kind}"
