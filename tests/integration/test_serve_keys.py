"""``Idempotency-Key``: answers and jobs of keys outlive the server, are shared by servers, and are forgotten."""

import hashlib
import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path

from es_dedup import Deduplicator
from es_dedup.serve.idempotency import MOST_KEYS, NAME
from tests.serving import OTHER, TEXT, problem, serving

PAGE = {"id": "a", "text": TEXT}


def test_keys_and_jobs_outlive_the_server(tmp_path: Path) -> None:
    headers = {"Idempotency-Key": "k"}
    place = str(tmp_path / "pages.db")
    with serving(place, tmp_path / "server") as api:
        first = api.post("/v1/pages", json={"id": "k", "text": TEXT}, headers=headers)
        made = api.post("/v1/jobs", json={"what": "recluster"}, headers={"Idempotency-Key": "j"}).json()
        assert api.delete("/v1/pages/k").status_code == 200
        while api.get(f"/v1/jobs/{made['id']}").json()["state"] == "running":
            time.sleep(0.1)
        time.sleep(0.5)
        api.process.kill()
    with serving(place, tmp_path / "server") as api:
        assert api.post("/v1/pages", json={"id": "k", "text": TEXT}, headers=headers).content == first.content
        assert api.get("/v1/pages/k").status_code == 404
        problem(api.post("/v1/pages", json={"id": "k", "text": OTHER}, headers=headers), 422, "key-reused")
        again = api.post("/v1/jobs", json={"what": "recluster"}, headers={"Idempotency-Key": "j"}).json()
        (job,) = api.get("/v1/jobs").json()["jobs"]
        assert (again["id"], job["id"], job["state"]) == (made["id"], made["id"], "done")
        dry = {"what": "recluster", "dry_run": True}
        problem(api.post("/v1/jobs", json=dry, headers={"Idempotency-Key": "j"}), 422, "key-reused")
        other = api.post("/v1/jobs", json={"what": "recluster"}, headers={"Idempotency-Key": "i"}).json()
        assert other["id"] != made["id"]


def test_a_job_of_a_key_is_answered_before_it_has_ended(tmp_path: Path) -> None:
    place, key = tmp_path / "pages.db", {"Idempotency-Key": "j"}
    with serving(str(place), tmp_path / "server") as api, closing(sqlite3.connect(place)) as other:
        other.execute("BEGIN IMMEDIATE")  # the job waits for this
        made = api.post("/v1/jobs", json={"what": "recluster"}, headers=key, timeout=15).json()
        assert api.post("/v1/jobs", json={"what": "recluster"}, headers=key, timeout=15).json() == made
        other.rollback()


def test_servers_on_one_index_share_keys(tmp_path: Path) -> None:
    place, key, page = str(tmp_path / "pages.db"), {"Idempotency-Key": "k"}, {"id": "k", "text": TEXT}
    with serving(place, tmp_path / "one") as one, serving(place, tmp_path / "two") as two:
        first = one.post("/v1/pages", json=page, headers=key)
        assert two.delete("/v1/pages/k").status_code == 200
        assert two.post("/v1/pages", json=page, headers=key).content == first.content
        assert two.get("/v1/pages/k").status_code == 404
        problem(two.post("/v1/pages", json={"id": "k", "text": OTHER}, headers=key), 422, "key-reused")
        problem(two.delete("/v1/pages/k", headers=key), 422, "key-reused")
        long = {"Idempotency-Key": "k" * 256}
        problem(two.post("/v1/pages", json=page, headers=long), 400, "invalid-query")


def test_answers_are_forgotten_after_a_day_and_when_they_are_too_many(tmp_path: Path) -> None:
    place, day = tmp_path / "pages.db", 86_400
    old = NAME + hashlib.sha256(b"k").hexdigest()
    kept = {
        old: time.time() - day - 1,
        **{f"{NAME}{n}": time.time() - day + 600 + n for n in range(MOST_KEYS)},
    }
    Deduplicator.open(place).close()
    with closing(sqlite3.connect(place)) as connection, connection:
        rows = ((f"note:kept:{name}", json.dumps(["another", at, ""])) for name, at in kept.items())
        connection.executemany("INSERT INTO meta (name, value) VALUES (?, ?)", rows)
    with serving(str(place), tmp_path / "server") as api:
        assert api.post("/v1/pages", json=PAGE, headers={"Idempotency-Key": "k"}).json()["stored"] == 1
        assert api.post("/v1/pages", json=PAGE, headers={"Idempotency-Key": "i"}).json()["unchanged"] == 1
    with Deduplicator.open(place, read_only=True) as dedup:
        assert set(kept) - set(dedup.kept_names(NAME)) == {f"{NAME}0", f"{NAME}1"}
