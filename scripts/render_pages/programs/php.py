"""PHP and MariaDB from unpacked Debian packages, and a web server for one site."""

from __future__ import annotations

import contextlib
import http.client
import os
import shutil
import socket
import subprocess
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from scripts.render_pages.installing import LIBRARIES, Failed, run

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

PACKAGES: Final = tuple(
    f"{name}=8.2.36-1~deb12u1"
    for name in "php8.2-cli php8.2-common php8.2-mysql php8.2-xml php8.2-mbstring php8.2-sqlite3 php8.2-intl".split()
)
MARIADB: Final = (
    "mariadb-server-core=1:10.11.19-0+deb12u1",
    "libaio1=0.3.113-4",
    "liburing2=2.3-3",
)
EXTENSIONS: Final = (
    "mysqlnd ctype dom fileinfo iconv intl mbstring mysqli pdo pdo_sqlite phar posix simplexml sqlite3 tokenizer xml "
    "xmlreader xmlwriter"
).split()
SECONDS: Final = 30


@dataclass(frozen=True, slots=True)
class Php:
    """PHP in an unpacked tree.

    Attributes:
        root: folder of the tree.
    """

    root: Path

    @property
    def environment(self) -> dict[str, str]:
        """Variables that programs of the tree need."""
        return {"LD_LIBRARY_PATH": str(self.root / LIBRARIES), "PHP_INI_SCAN_DIR": ""}

    def command(self) -> list[str]:
        """How PHP is called, with its extensions."""
        folder = next((self.root / "usr/lib/php").glob("2*"))
        extensions = [f"-dextension={folder / name}.so" for name in EXTENSIONS]
        limits = ["-dmemory_limit=512M", "-derror_reporting=0", "-ddisplay_errors=0"]
        return [str(self.root / "usr/bin/php8.2"), "-n", *extensions, *limits]

    def run(self, script: Path, folder: Path, given: str, environment: Mapping[str, str]) -> str:
        """The output of a script."""
        return run(
            [*self.command(), str(script)],
            folder,
            environment={**self.environment, **environment},
            given=given,
        )

    @contextlib.contextmanager
    def server(
        self, folder: Path, environment: Mapping[str, str], router: Path | None = None
    ) -> Iterator[int]:
        """PHP's own web server over a folder; yields its port."""
        port = free_port()
        command = [*self.command(), "-S", f"127.0.0.1:{port}", "-t", str(folder)]
        variables = {**os.environ, **self.environment, **environment}
        with running([*command, str(router)] if router else command, folder, variables):
            wait(lambda: _answers(port))
            yield port


@contextlib.contextmanager
def mariadb(root: Path, folder: Path) -> Iterator[Path]:
    """A database server without grants in ``folder``; yields its socket."""
    server = str(root / "usr/sbin/mariadbd")
    data = folder / "data"
    data.mkdir(parents=True)
    libraries = {"LD_LIBRARY_PATH": str(root / LIBRARIES)}
    common = [
        server,
        "--no-defaults",
        "--user=root",
        f"--datadir={data}",
        f"--lc-messages-dir={root / 'usr/share/mysql'}",
    ]
    tables = [
        root / "usr/share/mysql" / f"mysql_{name}.sql" for name in ("system_tables", "system_tables_data")
    ]
    script = "create database mysql;\nuse mysql;\n" + "\n".join(path.read_text() for path in tables)
    run([*common, "--bootstrap"], folder, environment=libraries, given=script)
    place = folder / "s"
    options = [
        "--skip-networking",
        "--skip-grant-tables",
        f"--socket={place}",
        "--innodb-flush-log-at-trx-commit=0",
    ]
    with running([*common, *options], folder, {**os.environ, **libraries}):
        wait(place.exists)
        yield place


@contextlib.contextmanager
def running(command: list[str], folder: Path, environment: Mapping[str, str]) -> Iterator[None]:
    """A process that ends with the block."""
    with (folder / "server.log").open("ab") as log:
        process = subprocess.Popen(command, cwd=folder, env=dict(environment), stdout=log, stderr=log)
        try:
            yield
        finally:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(20)
            process.kill()


def free_port() -> int:
    """A port of this machine that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait(ready: object) -> None:
    """Return when ``ready()`` is true.

    Raises:
        Failed: not within half a minute.
    """
    for _ in range(SECONDS * 5):
        if callable(ready) and ready():
            return
        time.sleep(0.2)
    raise Failed("the server did not start")


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def fetch(port: int, path: str, host: str, headers: Mapping[str, str] | None = None) -> bytes | None:
    """The page at a path, or nothing if the answer is not 200."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", path, headers={"Host": host, **(headers or {})})
        answer = connection.getresponse()
        body = answer.read()
        return body if answer.status == http.HTTPStatus.OK else None
    finally:
        connection.close()


def remove(folder: Path) -> None:
    """Remove a folder, whatever is left of it."""
    shutil.rmtree(folder, ignore_errors=True)
