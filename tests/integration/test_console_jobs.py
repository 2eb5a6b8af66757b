"""Jobs and dead letters in the console."""

import time
from pathlib import Path
from typing import Any

import httpx

from es_dedup.index.jobs import DeadLetter
from tests.servers import fresh_name, remove, url_of
from tests.serving import TEXT, bare, browsing, serving
from tests.source_indices import attached, canonical_counts, settings, source_index

PAGES = {name: {"html": f"<p>{TEXT}</p>", "at": "2026-01-01"} for name in ("a", "b")}
NOTHING = {"go": ""}
MANY = {f"m{n}": {"html": f"<p>{' '.join(f'w{n}x{at}' for at in range(50))}</p>"} for n in range(400)}


def shown_until(client: httpx.Client, address: str, text: str) -> str:
    """The view when it has a text."""
    end = time.monotonic() + 120
    while text not in (shown := bare(client.get(address).text)):
        assert time.monotonic() < end, shown
        time.sleep(0.2)
    return shown


def test_a_file_is_reclustered(tmp_path: Path) -> None:
    with serving(str(tmp_path / "j.db"), tmp_path) as api, browsing(api) as client:
        api.lines("/v1/pages", *({"id": name, "text": TEXT} for name in "ab"))
        empty = client.get("/console/jobs").text
        assert "There were no jobs yet." in empty
        assert 'value="recluster"' in empty
        assert 'value="backfill"' not in empty
        with browsing(api, "read") as reading:
            assert 'value="recluster"' not in reading.get("/console/jobs").text
            assert reading.post("/console/jobs", data={"what": "recluster"}).status_code == 403
        foreign = {"Origin": "http://evil.example"}
        given = {"what": "recluster", "dry_run": "true"}
        assert client.post("/console/jobs", data=given, headers=foreign).status_code == 403
        assert client.post("/console/jobs", data={"what": "<i>"}).status_code == 400
        assert client.post("/console/jobs", data={"what": "backfill"}).status_code == 501
        begun = client.post("/console/jobs", data=given)
        assert begun.status_code == 303
        job = shown_until(client, begun.headers["location"], "clusters 1")
        assert "pages 2" in job
        assert 'value="pause"' not in job
        assert begun.headers["location"] in client.get("/console/jobs").text
        assert "任务" in client.get("/console/jobs", headers={"Accept-Language": "zh"}).text
        assert client.post(f"{begun.headers['location']}/pause", data=NOTHING).status_code == 501
        assert client.get("/console/jobs/none").status_code == 404
        assert client.post("/console/dead-letters", data=NOTHING).status_code == 501


def test_an_index_that_never_had_a_job_has_none(tmp_path: Path) -> None:
    place = f"{url_of('es8')}/{fresh_name()}"
    try:
        with serving(place, tmp_path) as api, browsing(api) as client:
            assert api.get("/v1/jobs").json() == {"jobs": []}
            assert api.get("/v1/jobs/none").status_code == 404
            assert client.get("/console").status_code == 200
            assert "There were no jobs yet." in client.get("/console/jobs").text
    finally:
        remove(place)


def test_a_backfill_is_begun_paused_and_resumed(tmp_path: Path) -> None:
    with source_index(MANY) as (_, name), attached(name, settings()):
        place, slow = f"{url_of('es8')}/{name}", {"ES_DEDUP_MAINTENANCE__BATCH": "16"}
        with serving(place, tmp_path, variables=slow) as api, browsing(api) as client:
            assert f'value="{name}"' in client.get("/console/jobs").text
            job = api.post("/v1/jobs", json={"what": "backfill", "target": name, "rate": 50}).json()
            address = f"/console/jobs/{job['id']}"
            assert "data-live" in shown_until(client, address, " / 400")
            assert job["id"] in client.get("/console").text
            assert client.post(f"{address}/pause", data=NOTHING).headers["location"] == address
            assert "paused" in client.get(address).text
            client.post(f"{address}/resume", data=NOTHING)
            assert f"{address}/pause" in client.get(address).text
            client.post(f"{address}/cancel", data=NOTHING)
            cancelled = client.get(address).text
            assert "cancelled" in cancelled
            assert f"{address}/pause" not in cancelled
            assert job["id"] not in client.get("/console").text


def test_dead_letters_are_processed_again(tmp_path: Path) -> None:
    with source_index(PAGES) as (client, name), attached(name, settings()) as site:
        keys: dict[str, Any] = {key: f"{name}/{key}" for key in PAGES}
        site.jobs.put_dead_letters(DeadLetter(keys[key], "ingest", "<b>Error</b>", 3, 1) for key in PAGES)
        with (
            serving(f"{url_of('es8')}/{name}", tmp_path) as api,
            browsing(api) as browser,
            browsing(api, "read") as reading,
        ):
            listed = browser.get("/console/jobs").text
            assert "2 dead letters" in listed
            assert "&lt;b&gt;Error" in listed
            assert "Try again" in listed
            assert "Try again" not in reading.get("/console/jobs").text
            assert reading.post("/console/dead-letters", data=NOTHING).status_code == 403
            begun = browser.post("/console/dead-letters", data={"page": keys["a"]})
            shown_until(browser, begun.headers["location"], "replayed 1, dead 1")
            begun = browser.post("/console/dead-letters", data=NOTHING)
            shown_until(browser, begun.headers["location"], "replayed 1, dead 0")
            assert "Try again" not in browser.get("/console/jobs").text
        assert len(canonical_counts(client, name)) == 1
