"""The REST API refuses what it should, with a problem that says what to do, and keeps what it has accepted."""

import asyncio
import base64
import errno
import gzip
import json
import multiprocessing
import os
import pickle
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import NoReturn

import httpx
import pytest

from es_dedup import Deduplicator, Page
from es_dedup.deduplicator.index_reader import IndexReader
from es_dedup.serve.problems import ReaderLost
from es_dedup.serve.readers import END_SECONDS, Readers
from es_dedup.settings import load_settings
from tests.processes import PROGRAM, ended
from tests.serving import OTHER, TEXT, Api, browsing, problem, serving

PAGE = {"id": "a", "text": TEXT}


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """A server on a file, with narrow limits."""
    folder = tmp_path_factory.mktemp("serve")
    with serving(str(folder / "pages.db"), folder / "server", max_body_bytes=50_000, body_seconds=1) as api:
        yield api


ROUTES = [
    ("POST", "/v1/check", False),
    ("POST", "/v1/explain", False),
    ("GET", "/v1/pages/a", False),
    ("GET", "/v1/clusters", False),
    ("GET", "/v1/clusters/a", False),
    ("GET", "/v1/search?q=a", False),
    ("GET", "/v1/jobs", False),
    ("GET", "/v1/jobs/a", False),
    ("GET", "/v1/overrides", False),
    ("GET", "/metrics", False),
    ("POST", "/v1/pages", True),
    ("PUT", "/v1/pages/a", True),
    ("DELETE", "/v1/pages/a", True),
    ("POST", "/v1/overrides", True),
    ("POST", "/v1/overrides/a/undo", True),
    ("POST", "/v1/jobs", True),
    ("POST", "/v1/jobs/a/cancel", True),
]


def test_requests_need_a_token_of_their_scope(api: Api) -> None:
    paths = api.get("/openapi.json").json()["paths"]
    known = {(method.upper(), path) for path in paths for method in paths[path]}
    assert len(known) == len(ROUTES) + len(("/healthz", "/readyz")), "a route is not in the table"
    write = api.tokens["write"]
    for method, path, writes in ROUTES:
        for header in ("", "Bearer", "Bearer wrong", f"Basic {write}", f"Bearer {write[:-1]}"):
            answer = api.request(method, path, headers={"Authorization": header})
            problem(answer, 401, "no-token")
            assert answer.headers["www-authenticate"].startswith("Bearer")
        answer = api.request(method, path, headers={"Authorization": f"Bearer {api.tokens['read']}"})
        if writes:
            problem(answer, 403, "not-allowed")
        else:
            assert answer.status_code not in (401, 403), path


def test_two_tokens_are_refused_since_a_proxy_may_read_the_other(api: Api) -> None:
    both = [("Authorization", f"Bearer {api.tokens[scope]}") for scope in ("write", "read")]
    with httpx.Client(base_url=api.address, trust_env=False) as client:
        problem(client.get("/v1/clusters", headers=both), 400, "repeated-authorization")


def test_tokens_are_kept_from_others(api: Api) -> None:
    path = api.folder / "es-dedup.tokens"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    shown = (api.folder / "err").read_bytes() + Path(f"/proc/{api.process.pid}/cmdline").read_bytes()
    assert b"es-dedup.tokens" in shown
    assert not [token for token in api.tokens.values() if token.encode() in shown]


def test_answers_are_kept_from_browsers(api: Api) -> None:
    for answer in (
        api.get("/healthz"),
        api.get("/nothing"),
        api.options("/v1/check", headers={"Origin": "x"}),
    ):
        assert answer.headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in answer.headers
        assert "server" not in answer.headers


def run(folder: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """The command with an index in a folder."""
    command = (PROGRAM, "--db", "pages.db", "serve", "--port", "0", *words)
    return ended(*command, cwd=folder, env=os.environ | variables, timeout=60)


def test_what_is_not_safe_is_not_started(tmp_path: Path) -> None:
    done = run(tmp_path, "--host", "0.0.0.0", ES_DEDUP_SERVE__REQUIRE_TOKEN="false")  # noqa: S104, S106 - refused
    assert (done.returncode, "serve.require_token" in done.stderr) == (2, True)
    done = run(tmp_path, ES_DEDUP_SERVE__READ_TOKEN="short")  # noqa: S106 - made up
    assert (done.returncode, "16 characters" in done.stderr, "short" in done.stderr) == (2, True, False)
    for wrong in ("пароль-of-18-chars", "with a space in it", "with-a-line-end-1\n"):
        done = run(tmp_path, ES_DEDUP_SERVE__WRITE_TOKEN=wrong)
        assert (done.returncode, "ASCII" in done.stderr, wrong in done.stderr) == (2, True, False)
    (tmp_path / "es-dedup.tokens").write_text("write 0123456789abcdef\n")
    done = run(tmp_path)
    assert (done.returncode, "chmod 600" in done.stderr) == (2, True)
    (tmp_path / "es-dedup.tokens").chmod(0o600)
    (tmp_path / "es-dedup.tokens").write_text("admin 0123456789abcdef\n")
    done = run(tmp_path)
    assert (done.returncode, "read TOKEN" in done.stderr) == (2, True)
    assert not (tmp_path / "pages.db").exists()


def test_tokens_of_the_environment(tmp_path: Path) -> None:
    token = "of-the-environment-1"  # noqa: S105 - made up
    with serving(str(tmp_path / "pages.db"), tmp_path, read_token=token) as api:
        assert not (tmp_path / "es-dedup.tokens").exists()
        api.headers["Authorization"] = f"Bearer {token}"
        assert api.get("/v1/clusters").status_code == 200
        problem(api.post("/v1/pages", json=PAGE), 403, "not-allowed")


def test_without_tokens_requests_must_name_this_machine(tmp_path: Path) -> None:
    with serving(str(tmp_path / "pages.db"), tmp_path, require_token=False) as api:
        assert api.post("/v1/pages", json=PAGE).status_code == 200
        problem(api.get("/v1/clusters", headers={"Host": "rebound.example"}), 403, "foreign-host")
        problem(api.post("/v1/pages", content=json.dumps(PAGE)), 415, "wrong-media-type")
        form = {"Content-Type": "text/plain"}  # what a page of another site may send unasked
        problem(api.post("/v1/pages", content=json.dumps(PAGE), headers=form), 415, "wrong-media-type")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "JSON"),
        (b"{", "JSON"),
        (b"[1]", "an object: send several pages one a line, as application/x-ndjson"),
        (b'{"id": "a"}', "no field of text or HTML (the names tried are text, content"),
        (b'{"text": "x", "body": "x"}', "body: "),
        (b'{"id": "a", "text": 1}', "text: "),
        (b'{"id": "a", "txt": "x"}', "txt: "),
        (b'{"id": "a\\u0000", "text": "x"}', "id: "),
        (b'{"id": "a\\ud800", "text": "x"}', "JSON"),
        (json.dumps({"id": "a" * 513, "text": "x"}).encode(), "id: "),
        (b'{"id": "a", "html_base64": "?"}', "base64"),
        (json.dumps({"id": "a", "html_base64": base64.b64encode(b"%PDF-1.7 ...").decode()}).encode(), "PDF"),
        (b"[" * 20_000, "an object"),
        (b'\xff{"id": "a"}', "JSON"),
    ],
)
def test_bodies_that_are_no_pages_are_refused(api: Api, body: bytes, said: str) -> None:
    for path in ("/v1/check", "/v1/pages"):
        answer = api.post(path, content=body, headers={"Content-Type": "application/json"})
        assert said in problem(answer, 400, "invalid-body")["detail"]


def test_parameters_that_are_wrong_are_refused(api: Api) -> None:
    for path in ("/v1/clusters?limit=0", "/v1/clusters?min_size=x", "/v1/search", "/v1/search?q=a&offset=-1"):
        problem(api.get(path), 400, "invalid-query")
    problem(api.get(f"/v1/clusters?min_size={10**30}"), 400, "invalid-query")
    for after in ("x", f"{10**30}~a", "1.5~a"):
        problem(api.get("/v1/clusters", params={"order": "largest", "after": after}), 400, "search-refused")
    problem(api.get("/v1/clusters?order=confidence&after=nan~a"), 400, "search-refused")
    problem(api.post("/v1/pages?policy=none", json=PAGE), 400, "invalid-query")
    problem(api.get("/nothing"), 404, "no-such-route")
    problem(api.delete("/v1/check"), 405, "wrong-method")
    problem(api.put("/v1/pages/b", json=PAGE), 400, "invalid-body")
    problem(api.post("/v1/jobs", json={"what": "backfill"}), 501, "not-on-this-index")
    problem(api.post("/v1/jobs", json={"what": "reindex"}), 400, "invalid-body")
    for others in (
        {"what": "backfill", "dry_run": True},
        {"what": "backfill", "settings": {"decision.preset": "strict"}},
        {"what": "recluster", "target": "pages"},
        {"what": "recluster", "rate": 5},
    ):
        assert "not of a" in problem(api.post("/v1/jobs", json=others), 400, "invalid-body")["detail"]
    override = {"kind": "same", "pages": ["a", "b"], "site": "s", "reason": "r", "author": "mz"}
    problem(api.post("/v1/overrides", json=override), 400, "invalid-body")
    for wrong in ({"decision.preset": "none"}, {"elastic.password": "x"}, {"": 1}):
        problem(api.post("/v1/jobs", json={"what": "recluster", "settings": wrong}), 400, "config-error")
    headers = {"Content-Type": "application/json"}
    endless = api.post("/v1/jobs", content=b'{"what": "backfill", "rate": 1e999}', headers=headers)
    problem(endless, 400, "invalid-body")
    assert not (api.folder / "err").read_text().count("Traceback")


def test_addresses_that_are_ambiguous_are_refused(api: Api) -> None:
    for path in ("/v1/pages/%FF", "/v1/search?q=%ED%A0%80"):
        assert "UTF-8" in problem(api.get(path), 400, "invalid-query")["detail"]
    for path in ("/v1/pages?polcy=skip", "/v1/pages?policy=skip&policy=mark"):
        assert "pol" in problem(api.post(path, json=PAGE), 400, "invalid-query")["detail"]
    assert api.get("/v1/clusters?min_size=2&order=largest&limit=1&site=").status_code == 200


def test_methods(api: Api) -> None:
    for path in ("/healthz", "/v1/clusters", "/console/sign-in", "/openapi.json"):
        answer = api.head(path)
        assert (answer.status_code, answer.content, int(answer.headers["content-length"]) > 0) == (
            200,
            b"",
            True,
        )
    assert api.head("/v1/pages/none").status_code == 404
    assert api.patch("/v1/pages/none").headers["allow"] == "DELETE, GET, HEAD, PUT"
    assert api.get("/v1/check").headers["allow"] == "POST"
    assert api.put("/console/overrides").headers["allow"] == "GET, HEAD, POST"


def test_a_body_may_have_a_byte_order_mark_and_no_encoding(api: Api) -> None:
    body, headers = json.dumps(PAGE).encode(), {"Content-Type": "application/json"}
    assert api.post("/v1/check", content=b"\xef\xbb\xbf" + body, headers=headers).status_code == 200
    answer = api.post(
        "/v1/check", content=gzip.compress(body), headers=headers | {"Content-Encoding": "gzip"}
    )
    assert "gzip" in problem(answer, 415, "wrong-media-type")["detail"]


def test_large_bodies_are_refused(api: Api) -> None:
    large = json.dumps({"id": "a", "text": "x" * 60_000}).encode()
    headers = {"Content-Type": "application/json"}
    problem(api.post("/v1/check", content=large, headers=headers), 413, "body-too-large")
    parts = (large[at : at + 1000] for at in range(0, len(large), 1000))  # without a length
    problem(api.post("/v1/check", content=parts, headers=headers), 413, "body-too-large")


def test_slow_bodies_are_refused(api: Api) -> None:
    host, port = api.address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as slow:
        head = f"POST /v1/check HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {api.tokens['read']}\r\n"
        slow.sendall(f"{head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{{".encode())
        assert slow.recv(1000).startswith(b"HTTP/1.1 408 ")
    assert api.get("/healthz").status_code == 200


def test_clients_that_go_before_their_body_is_complete_leave_no_traceback(api: Api) -> None:
    host, port = api.address.removeprefix("http://").split(":")
    head = f"POST /v1/check HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {api.tokens['read']}\r\n"

    def refused() -> float:
        lines = api.get("/metrics").text.splitlines()
        return sum(float(each.split()[-1]) for each in lines if '"/v1/check",status="400"' in each)

    before, end = refused(), time.monotonic() + 30
    with socket.create_connection((host, int(port)), timeout=30) as gone:
        gone.sendall(f"{head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{{".encode())
    while refused() == before:
        assert time.monotonic() < end
        time.sleep(0.05)
    assert "Traceback" not in (api.folder / "err").read_text()


def test_names_and_reasons_that_are_too_long_are_refused(api: Api) -> None:
    long, override = "r" * 1_001, {"kind": "same", "pages": ["a", "b"], "reason": "r", "author": "mz"}
    for path, body in (
        ("/v1/overrides", {**override, "reason": long}),
        ("/v1/overrides", {**override, "author": long}),
        ("/v1/overrides/x/undo", {"author": long}),
    ):
        assert "1000 characters" in problem(api.post(path, json=body), 400, "invalid-body")["detail"]


def test_broken_lines_do_not_keep_the_others_out(api: Api) -> None:
    lines = (b"{", {"id": "l1", "text": OTHER}, b"", b'{"id": "l2"}', b"\xff", {"id": "l3", "text": OTHER})
    answers = list(map(json.loads, api.lines("/v1/check", *lines).text.splitlines()))
    assert [each.get("page_id", each.get("line")) for each in answers] == [1, "l1", 4, 5, "l3"]
    assert answers[2]["problem"]["type"].endswith(":invalid-body")
    report = api.lines("/v1/pages", *lines).json()
    assert (report["read"], report["stored"], set(report["failed"])) == (5, 2, {"line 1", "line 4", "line 5"})
    assert api.lines("/v1/check").text == ""


def test_hostile_content_comes_back_as_text(api: Api) -> None:
    text = "<script>alert(1)</script>\u202e\u200b\"'&\x00 " + TEXT
    title = "</title><img src=x onerror=alert(1)>" * 200
    assert api.post("/v1/pages", json={"id": "<b>", "text": text, "title": title}).status_code == 200
    answer = api.get("/v1/pages/<b>")
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["text"] == text.replace("\x00", "") or answer.json()["text"] == text
    assert api.post("/v1/check", json={"id": "c", "html": "<div>" * 9_000}).status_code == 200


def test_policies(api: Api) -> None:
    page = {
        "id": "p1",
        "text": "A policy decides what is done with a copy of the page about the new tram line.",
    }
    api.post("/v1/pages", json=page)
    found = problem(api.post("/v1/pages?policy=fail", json={**page, "id": "p2"}), 409, "duplicate-page")
    assert found["fields"] == {"page_id": "p2", "duplicate_of": "p1"}
    assert api.post("/v1/pages?policy=skip", json={**page, "id": "p2"}).json()["left_out"] == 1
    assert api.get("/v1/pages/p2").status_code == 404


def many(count: int) -> list[dict[str, str]]:
    """Pages that are not like each other."""
    return [{"id": f"m{n}", "text": " ".join(f"word{n * 50 + at}" for at in range(50))} for n in range(count)]


def test_more_requests_than_may_wait_are_told_to_come_back(tmp_path: Path) -> None:
    with serving(str(tmp_path / "pages.db"), tmp_path / "server", waiting=1) as api:

        def send(page: dict[str, str]) -> httpx.Response:
            with httpx.Client(base_url=api.address, headers=api.headers, timeout=60) as client:
                return client.post("/v1/pages", json=page)

        with ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(send, many(64)))
        refused = [each for each in answers if each.status_code == 429]
        assert refused
        assert all(each.headers["retry-after"] for each in refused)
        assert problem(refused[0], 429, "too-many")["retryable"]
        stored = sum(each.status_code == 200 for each in answers)
        assert stored + len(refused) == len(answers)
        assert len(api.lines("/v1/check", *many(64)).text.splitlines()) == 64


def test_accepted_writes_are_finished_when_the_server_is_stopped(tmp_path: Path) -> None:
    place, pages = str(tmp_path / "pages.db"), many(2_000)
    with serving(place, tmp_path / "server") as api:
        stopper = threading.Timer(0.3, api.process.send_signal, (signal.SIGTERM,))
        stopper.start()
        answer = api.lines("/v1/pages", *pages)
        assert (answer.status_code, answer.json()["stored"]) == (200, 2_000)
        assert api.process.wait(60) == 0
        assert "Traceback" not in (api.folder / "err").read_text()
    with Deduplicator.open(place, read_only=True) as dedup:
        assert dedup.count() == 2_000
        assert not dedup.clusters_pending


def test_a_slow_answer_is_not_waited_for_and_its_write_is_kept(tmp_path: Path) -> None:
    with serving(str(tmp_path / "pages.db"), tmp_path / "server", request_seconds=0.2) as api:
        answer = api.lines("/v1/pages", *many(8_000))
        assert problem(answer, 504, "slow")["retryable"]
        sent: list[dict[str, object]] = [{}, {"force": True}, {"dry_run": True}]
        jobs = [api.post("/v1/jobs", json={"what": "recluster", **each}).json()["id"] for each in sent]
        assert jobs[0] == jobs[1] != jobs[2]  # they wait for the write
        end = time.monotonic() + 60
        while api.get("/v1/pages/m7999").status_code != 200:
            assert time.monotonic() < end


def test_a_job_that_is_slow_to_begin_is_not_waited_for(tmp_path: Path) -> None:
    with serving(str(tmp_path / "pages.db"), tmp_path / "server", request_seconds=1e-9) as api:
        problem(api.post("/v1/jobs", json={"what": "recluster"}), 504, "slow")
        with browsing(api) as client:
            assert client.post("/console/jobs", data={"what": "recluster"}).status_code == 504


def test_a_process_that_cannot_be_reached_or_understood_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, start = str(tmp_path / "pages.db"), SpawnProcess.start
    failures = [None, OSError(errno.EMFILE, "too many open files"), None, None]

    def started(process: SpawnProcess) -> None:
        if failure := failures.pop(0):
            raise failure
        start(process)

    async def ask() -> None:
        assert await readers.ask(IndexReader.count) == b"0"
        other.close()
        with pytest.raises(ReaderLost):
            await other.ask(IndexReader.count)
        with monkeypatch.context() as patched:
            patched.setattr("multiprocessing.connection.Connection.recv", unreadable)
            with pytest.raises(ReaderLost):
                await readers.ask(IndexReader.count)
        assert await readers.ask(IndexReader.count) == b"0"
        assert readers.ready.is_set()

    def unreadable(_: object) -> NoReturn:
        raise pickle.UnpicklingError

    monkeypatch.setattr(SpawnProcess, "start", started)
    Deduplicator.open(place).close()
    other, readers = (Readers(place, load_settings(), 1) for _ in range(2))
    asyncio.run(asyncio.wait_for(ask(), 60))
    readers.close()
    assert not failures
    assert not multiprocessing.active_children()


def test_other_processes_of_the_program_go_on(tmp_path: Path) -> None:
    Deduplicator.open(tmp_path / "pages.db").close()
    other = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(60,))
    other.start()
    try:
        readers = Readers(str(tmp_path / "pages.db"), load_settings(), 1)
        assert readers.ready.wait(30)
        begun = time.monotonic()
        readers.close()
        assert time.monotonic() - begun < END_SECONDS
        assert multiprocessing.active_children() == [other]
        assert other.exitcode is None
    finally:
        other.kill()
        other.join()


def test_a_process_ends_that_has_not_closed_those_that_read(tmp_path: Path) -> None:
    script = tmp_path / "reading.py"
    script.write_text(
        "from es_dedup import Deduplicator\nfrom es_dedup.serve.readers import Readers\n"
        "from es_dedup.settings import load_settings\n"
        f"if __name__ == '__main__':\n    Deduplicator.open({str(tmp_path / 'pages.db')!r}).close()\n"
        f"    Readers({str(tmp_path / 'pages.db')!r}, load_settings(), 2)\n"
    )
    subprocess.run([sys.executable, str(script)], check=True, timeout=60)


def children_of(process: int) -> list[str]:
    """Processes that any thread of a process has started."""
    return [
        child
        for task in Path(f"/proc/{process}/task").iterdir()
        for child in (task / "children").read_text().split()
    ]


def test_a_process_that_dies_is_replaced(tmp_path: Path) -> None:
    with serving(str(tmp_path / "pages.db"), tmp_path / "server") as api:
        assert api.post("/v1/check", json=PAGE).status_code == 200
        for child in map(int, children_of(api.process.pid)):
            if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes():
                os.kill(child, signal.SIGKILL)
        end = time.monotonic() + 60
        while (answer := api.post("/v1/check", json=PAGE)).status_code != 200:
            problem(answer, 503, "reader-lost")
            assert time.monotonic() < end
        assert api.get("/readyz").status_code == 200


def test_processes_end_with_a_server_that_is_killed(tmp_path: Path) -> None:
    with serving(str(tmp_path / "pages.db"), tmp_path / "server") as api:
        assert api.get("/readyz").status_code == 200
        children = children_of(api.process.pid)
        assert children
        api.process.kill()
        api.process.wait()
        end = time.monotonic() + 30
        while any(Path(f"/proc/{child}").exists() for child in children):
            assert time.monotonic() < end
            time.sleep(0.1)


def test_texts_are_made_searchable_at_the_start_and_after_writes(tmp_path: Path) -> None:
    place = tmp_path / "pages.db"
    with Deduplicator.open(place) as dedup:
        dedup.add_many([Page("a", text=TEXT), Page("b", text=OTHER)])
    with serving(str(place), tmp_path / "server") as api, closing(sqlite3.connect(place)) as connection:
        for last in (2, 3):
            end = time.monotonic() + 30
            while connection.execute("SELECT value FROM meta WHERE name = 'fulltext_row'").fetchone() != (
                last,
            ):
                assert time.monotonic() < end
                time.sleep(0.05)
            assert api.get("/v1/search", params={"q": "ferry"}).json()["total_documents"] == last - 1
            assert api.post("/v1/pages", json={"id": "c", "text": f"{TEXT} Again."}).status_code == 200
