"""Jobs on attached indices, begun by HTTP."""

import time
from pathlib import Path
from typing import Any

import pytest

from es_dedup.index.jobs import JobState
from tests.servers import url_of
from tests.serving import TEXT, Api, serving
from tests.source_indices import attached, canonical_counts, settings, source_index

PAGES = {name: {"html": f"<p>{TEXT}</p>", "at": "2026-01-01"} for name in ("a", "b")}
MANY = {
    f"m{n}": {"html": "<p>" + " ".join(f"word{n * 50 + at}" for at in range(50)) + "</p>", "at": None}
    for n in range(600)
}


def ended(api: Api, job: Any) -> Any:
    """The job when it is over."""
    end = time.monotonic() + 120
    while (now := api.get(f"/v1/jobs/{job['id']}").json())["state"] == "running":
        assert time.monotonic() < end, now
        time.sleep(0.2)
    return now


def test_documents_are_backfilled_and_follow_overrides(tmp_path: Path) -> None:
    with source_index(PAGES) as (client, name), attached(name):
        place = f"{url_of('es8')}/{name}"
        with serving(place, tmp_path) as api:
            assert api.post("/v1/jobs", json={"what": "backfill", "target": "none"}).status_code == 404
            job = api.post("/v1/jobs", json={"what": "backfill"}).json()
            assert ended(api, job)["state"] == "done"
            assert len(canonical_counts(client, name)) == 1
            (cluster,) = api.get("/v1/clusters").json()["clusters"]
            pages = sorted([cluster["canonical"]["page_id"], cluster["members"][0]["page_id"]])
            decision = {"kind": "different", "pages": pages, "reason": "two", "author": "mz"}
            assert api.post("/v1/overrides", json=decision).status_code == 200
            assert len(canonical_counts(client, name)) == 2
            assert ended(api, api.post("/v1/jobs", json={"what": "recluster"}).json())["state"] == "done"
            assert len(canonical_counts(client, name)) == 2
            assert {each["what"] for each in api.get("/v1/jobs").json()["jobs"]} == {"backfill", "recluster"}


@pytest.mark.slow
def test_the_same_job_goes_on_after_its_server_was_killed(tmp_path: Path) -> None:
    soon = {"ES_DEDUP_MAINTENANCE__LEASE_SECONDS": "10"}  # given to the next server
    body = {"what": "backfill"}
    with source_index(PAGES) as (client, name), attached(name):
        place = f"{url_of('es8')}/{name}"
        with serving(place, tmp_path, variables=soon) as api:
            job = api.post("/v1/jobs", json=body).json()
            api.process.kill()
        with serving(place, tmp_path, variables=soon) as api:
            assert api.post("/v1/jobs", json=body).json()["id"] == job["id"]
            assert ended(api, job)["state"] == "done"
            assert [each["id"] for each in api.get("/v1/jobs").json()["jobs"]] == [job["id"]]
        assert len(canonical_counts(client, name)) == 1


def test_a_job_is_paused_with_the_server_and_resumed(tmp_path: Path) -> None:
    slow = {"ES_DEDUP_MAINTENANCE__BATCH": "16"}
    with source_index(MANY) as (client, name), attached(name, settings()) as site:
        place = f"{url_of('es8')}/{name}"
        with serving(place, tmp_path, variables=slow) as api:
            job = api.post("/v1/jobs", json={"what": "backfill", "rate": 50}).json()
            while not api.get(f"/v1/jobs/{job['id']}").json()["done"]:
                time.sleep(0.1)
            assert api.stop() == 0
        (stored,) = site.jobs.jobs()
        assert (stored.state, stored.note) == (JobState.PAUSED, "the server was stopped")
        with serving(place, tmp_path, variables=slow) as api:
            assert api.post(f"/v1/jobs/{job['id']}/resume").json()["state"] == "running"
            time.sleep(1)
            assert api.post(f"/v1/jobs/{job['id']}/cancel").json()["state"] == "cancelled"
            assert api.get(f"/v1/jobs/{job['id']}").json()["state"] == "cancelled"
        assert client.count(index=name)["count"] == len(MANY)
