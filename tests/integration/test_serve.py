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
    """Each example has only names that real answers have."""
    with serving(str(tmp_path / "pages.db"), tmp_path / "server") as api:
        document = api.get("/openapi.json").json()
        assert document["components"]["securitySchemes"]
        operations = [
            each for name, path in document["paths"].items() if name != "/metrics" for each in path.values()
        ]
        for each in operations:
            assert each["summary"]
            assert "example" in each["responses"]["200"]["content"]["application/json"]
        api.lines("/v1/pages", {"id": "https://a.example/1", "text": TEXT})
        real = {
            "report": (schemas.REPORT, api.post("/v1/pages", json=schemas.PAGE).json()),
            "decision": (schemas.DECISION, api.post("/v1/check", json=schemas.PAGE).json()),
            "stored": (schemas.STORED, api.get(f"/v1/pages/{schemas.PAGE['id']}").json()),
            "pair": (
                schemas.PAIR,
                api.post("/v1/explain", json={"left": schemas.PAGE["id"], "right": schemas.PAGE}).json(),
            ),
            "clusters": (schemas.CLUSTERS, api.get("/v1/clusters").json()),
            "hits": (schemas.HITS, api.get("/v1/search", params={"q": "ferry"}).json()),
            "labels": (schemas.LABELS, labelled(api)),
            "job": (schemas.JOB, api.post("/v1/jobs", json={"what": "recluster", "dry_run": True}).json()),
            "problem": (schemas.PROBLEM, api.get("/v1/pages/x").json()),
        }
        for name, (example, answer) in real.items():
            assert names_of(example) <= names_of(answer) | free_names(example), name
        assert real["problem"][1] == schemas.PROBLEM


def labelled(api: Api) -> Any:
    """All labels, after one was given."""
    api.post("/v1/pages", json=schemas.PAGE)
    assert api.post("/v1/labels", json=schemas.LABEL_SENT).status_code == 200
    return api.get("/v1/labels").json()


def names_of(value: Any) -> set[str]:
    """All names of objects inside a value."""
    if isinstance(value, list):
        return set().union(*map(names_of, value))
    if not isinstance(value, dict):
        return set()
    return set(value).union(*map(names_of, value.values()))


def free_names(example: Any) -> set[str]:
    """Names that stand for data: page ids and counts."""
    return {name for name in names_of(example) if "://" in name} | {
        "clusters",
        "clusters_before",
        "changed",
        "pages",
        "duplicate",
    }
