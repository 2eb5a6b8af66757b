"""What does the REST API add to a check, and how many checks a second does it answer?

The index and the pages asked are those of ``bench_check``. A server is started on a free port of this machine. Clients in this process
send pages one by one, each on a connection of its own that is kept, then NDJSON bodies. The library alone is measured on the same pages
before and after, as other programs on the machine slow both down.
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bench_check import WARM, pages_of, times_of
from harness import Row, data_file, expect, parser_of, report, rows_of

from es_dedup import Deduplicator, Page

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PAGES: Final = 500
CLIENTS: Final = (1, 4)
LINES: Final = 500
"""Pages of one NDJSON body."""
JSON: Final = "application/json"
NDJSON: Final = "application/x-ndjson"
GOALS: Final = {
    "goal, p95 in ms with one client": 8,
    "goal, p95 in ms with four": 20,
    "goal, NDJSON checks a second": 1000,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark."""
    parser = parser_of(__doc__)
    parser.add_argument("--items", type=int, default=0, help="first so many items are used; 0: all")
    parser.add_argument("--pages", type=int, default=PAGES, help="pages asked, half of them copies")
    parser.add_argument("--index", type=Path, help="keep the index in this file, and use it when it is there")
    parser.add_argument("--rounds", type=int, default=4, help="how often all pages are sent in NDJSON bodies")
    given = parser.parse_args(arguments)
    rows = rows_of(data_file(given.data, "broadcast-zh.jsonl.xz"), given.items or None)
    stored, asked = pages_of(rows, given.pages)
    pages = [page for page, _ in asked]
    with tempfile.TemporaryDirectory() as folder:
        path = given.index or Path(folder) / "pages.db"
        if not path.exists():
            with Deduplicator.open(path) as dedup:
                dedup.scan(stored)
                dedup.prepare_search()  # else the server does so while checks are measured
        found = [alone(path, pages)]
        with serving(path, Path(folder)) as server:
            found += [one_by_one(server, pages, clients) for clients in CLIENTS]
            found.append(in_lines(server, pages, given.rounds))
        found.append(alone(path, pages))
    report(f"Checks against {len(stored):,} stored pages by HTTP", found, given.json, GOALS)
    return 0


def alone(path: Path, pages: Sequence[Page]) -> Row:
    """The library in this process, one page at a time."""
    with Deduplicator.open(path, read_only=True) as dedup:
        for page in pages[:WARM]:
            dedup.check(page)
        begun, used = time.perf_counter(), 1000 * time.process_time()
        times = [timed(partial(dedup.check, page)) for page in pages]
        used = 1000 * time.process_time() - used
        return row_of("library, one page at a time", times, time.perf_counter() - begun, used)


def one_by_one(server: Server, pages: Sequence[Page], clients: int) -> Row:
    """Clients that each send one page after the other."""
    bodies = [as_json(page) for page in pages]
    shares = [bodies[start::clients] for start in range(clients)]

    def client(share: Sequence[bytes]) -> list[float]:
        with closing(server.connection()) as connection:
            return [timed(partial(server.ask, connection, body, JSON)) for body in share]

    with ThreadPoolExecutor(clients) as pool:
        list(pool.map(client, [share[:WARM] for share in shares]))
        begun, used = time.perf_counter(), server.cpu_ms()
        times = [each for some in pool.map(client, shares) for each in some]
        seconds, used = time.perf_counter() - begun, server.cpu_ms() - used
    return row_of(f"HTTP, {clients} client{'s' if clients > 1 else ''}", times, seconds, used)


def in_lines(server: Server, pages: Sequence[Page], rounds: int) -> Row:
    """One client that sends all pages in NDJSON bodies, several times."""
    bodies = [
        b"\n".join(as_json(page) for page in pages[at : at + LINES]) for at in range(0, len(pages), LINES)
    ]
    begun, used = time.perf_counter(), server.cpu_ms()
    with closing(server.connection()) as connection:
        for body in bodies * rounds:
            answers = server.ask(connection, body, NDJSON).splitlines()
            expect(len(answers) == body.count(b"\n") + 1, "a line of the answer for each page")
            expect(all("outcome" in json.loads(answer) for answer in answers), "a decision in each line")
    seconds, used = time.perf_counter() - begun, server.cpu_ms() - used
    asked = rounds * len(pages)
    return {"checks": f"HTTP, NDJSON of {LINES}", "asked": asked, **rates(asked, seconds, used)}


def timed(call: Any) -> float:
    """Milliseconds of a call."""
    begun = time.perf_counter()
    call()
    return 1000 * (time.perf_counter() - begun)


def row_of(name: str, times: Sequence[float], seconds: float, used: float) -> Row:
    """Times in milliseconds, and what ``rates`` has."""
    row = times_of(name, times)
    found = {key: row[key] for key in row if key != "pages"}
    return {"checks": name, **found, **rates(len(times), seconds, used)}


def rates(asked: int, seconds: float, used: float) -> Row:
    """Checks a second, and the processor time of one, without that of clients."""
    return {"a second": round(asked / seconds), "CPU ms": round(used / asked, 2)}


def as_json(page: Page) -> bytes:
    """A page as a request has it."""
    return json.dumps({"id": page.id, "text": page.text, "title": page.title}, ensure_ascii=False).encode()


class Server:
    """A server process of this benchmark, with its address and the token for reading."""

    def __init__(self, address: str, token: str, process: int) -> None:
        self.address, self.token = address, token
        self._process = process

    def cpu_ms(self) -> float:
        """Milliseconds of processor time of the server and the processes it has started; Linux only."""
        threads = Path(f"/proc/{self._process}/task").iterdir()
        children = [child for thread in threads for child in (thread / "children").read_text().split()]
        used = 0
        for process in (self._process, *children):
            user, system = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
            used += int(user) + int(system)
        return 1000 * used / os.sysconf("SC_CLK_TCK")

    def connection(self) -> http.client.HTTPConnection:
        """A connection, which is kept."""
        return http.client.HTTPConnection(self.address.removeprefix("http://"), timeout=120)

    def ask(self, connection: http.client.HTTPConnection, body: bytes, kind: str) -> bytes:
        """The answer to a check."""
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": kind}
        connection.request("POST", "/v1/check", body, headers)
        answer = connection.getresponse()
        data = answer.read()
        expect(answer.status == http.client.OK, f"status {answer.status}: {data[:200]!r}")
        return data


@contextmanager
def serving(path: Path, folder: Path) -> Iterator[Server]:
    """A server on an index, ended with the block."""
    program = [
        str(Path(sys.executable).with_name("es-dedup")),
        "--json",
        "--quiet",
        "--db",
        str(path.absolute()),
    ]
    command = [*program, "serve", "--port", "0"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        try:
            address = json.loads(process.stdout.readline() if process.stdout else "{}")["address"]
            tokens = dict(line.split() for line in (folder / "es-dedup.tokens").read_text().splitlines())
            yield Server(address, tokens["read"], process.pid)
        finally:
            process.terminate()


if __name__ == "__main__":
    sys.exit(main())
