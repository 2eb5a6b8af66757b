"""Starting Elasticsearch or OpenSearch: a folder per node, the process, and the wait until it answers."""

from __future__ import annotations

import base64
import json
import os
import secrets
import shutil
import signal
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from scripts.serversupport import fetch, java, plugin
from scripts.serversupport.profiles import TRANSPORT_ABOVE_HTTP, Node, Profile, configuration, jvm_options
from scripts.serversupport.running import Process, Server, free_ports, save
from scripts.serversupport.settings import REPOSITORY, Account, Settings, Trouble, give, unprivileged

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

START_SECONDS: Final = 300.0  # on a busy machine; 12 on an idle one
LOG_LINES: Final = 25
ADMIN: Final = "admin"
WORKER: Final = "worker"
"""Has the least-privilege role only, and the administrator's password."""
SEARCHER: Final = "searcher"
"""Has the role for searching only, and the same password."""
ROLE: Final = REPOSITORY / "mappings" / "role.yml"
VECTORS: Final = "jdk.incubator.vector"


def start(
    profile: Profile, settings: Settings, environ: Mapping[str, str], port: int | None = None
) -> Server:
    """Start all nodes of a profile and wait until they form a healthy cluster.

    Args:
        profile: what to start; its folder is emptied first.
        settings: where things are.
        environ: environment variables.
        port: of the first node; None takes the profile's own, or another one when that is taken.

    Raises:
        Trouble: it cannot be fetched or does not come up; nothing is left running.
    """
    account = unprivileged(settings)
    runtime = java.find(profile.java, environ, settings, wheel=profile.wheel)
    home = _home(profile, settings, environ)
    folder = settings.run / profile.name
    shutil.rmtree(folder, ignore_errors=True)
    first = free_ports(port or profile.port, profile.nodes, (0, TRANSPORT_ABOVE_HTTP))
    if port is not None and first != port:
        message = f"port {port} is taken"
        raise Trouble(message)
    nodes = [Node(f"node-{at + 1}", folder / f"node-{at + 1}", first + at) for at in range(profile.nodes)]
    for node in nodes:
        _prepare(profile, node, nodes, home, runtime, settings)
    login = _secure(nodes[0], home, runtime, folder) if profile.secured else {}
    _let_in(folder, settings)
    give(folder, account)
    fetch.say(f"starting {profile.name} ({profile.title}) on port {first}")
    launchers = [_launch(profile, node, home, runtime, account) for node in nodes]
    scheme = "https" if profile.secured else "http"
    server: Server | None = None
    try:
        processes = _processes(profile, nodes, launchers)
        urls = [f"{scheme}://127.0.0.1:{node.port}" for node in nodes]
        server = Server(profile.name, _version(profile), urls, processes, str(folder), **login)
        _wait(server, len(nodes))
    except BaseException:
        for process in server.processes if server else _known(nodes):
            process.stop()
        for launcher in launchers:
            launcher.kill()
            launcher.wait()
        raise
    save(server)
    return server


def kill(server: Server, at: Collection[int] = ()) -> None:
    """End nodes of a running server without a warning: those of these places, or all."""
    doomed = [process for place, process in enumerate(server.processes) if not at or place in at]
    for process in doomed:
        if process.alive():
            os.kill(process.pid, signal.SIGKILL)
    for process in doomed:
        process.stop()


def revive(server: Server, profile: Profile, settings: Settings, environ: Mapping[str, str]) -> Server:
    """Start the nodes of a server that do not run, with their data, and wait until all are together again.

    Raises:
        Trouble: they do not come up.
    """
    account = unprivileged(settings)
    runtime = java.find(profile.java, environ, settings, wheel=profile.wheel)
    home = _home(profile, settings, environ)
    folder = Path(server.folder)
    down = {
        at: Node(f"node-{at + 1}", folder / f"node-{at + 1}", int(url.rpartition(":")[2]))
        for at, url in enumerate(server.urls)
        if not server.processes[at].alive()
    }
    for node in down.values():
        (node.folder / "pid").unlink(missing_ok=True)
    nodes = list(down.values())
    launchers = [_launch(profile, node, home, runtime, account) for node in nodes]
    fresh = dict(zip(down, _processes(profile, nodes, launchers), strict=True))
    again = replace(server, processes=[fresh.get(at, old) for at, old in enumerate(server.processes)])
    save(again)
    _wait(again, len(server.urls))
    return again


def _version(profile: Profile) -> str:
    return profile.version or profile.archive.version


def _home(profile: Profile, settings: Settings, environ: Mapping[str, str]) -> Path:
    """The folder of the server, fetched and unpacked when it is not there yet; Elasticsearch with our ingest processors."""
    home = _unpacked(profile, settings)
    if profile.product != "elasticsearch":
        return home
    return plugin.with_processors(home, _version(profile), min(profile.java), environ, settings)


def _unpacked(profile: Profile, settings: Settings) -> Path:
    place = settings.cache / "unpacked" / f"{profile.product}-{_version(profile)}"
    if place.is_dir():
        return place
    archives = [(profile.archive, profile.inside)]
    if profile.scripts is not None:
        archives.insert(0, (profile.scripts, "*/bin/"))  # what the server itself has comes last, and stays
    fetched = [(fetch.archive(archive, settings), below) for archive, below in archives]

    def make(folder: Path) -> None:
        for packed, below in fetched:
            scripts = below == "*/bin/"
            (folder / "bin" if scripts else folder).mkdir(exist_ok=True)
            fetch.unpack(packed, folder / "bin" if scripts else folder, below=below)
        for needed in ("logs", "plugins"):  # empty folders are not unpacked
            (folder / needed).mkdir(exist_ok=True)
            (folder / needed).chmod(0o755)

    return fetch.unpacked(place.name, make, settings)


def _prepare(
    profile: Profile, node: Node, nodes: Sequence[Node], home: Path, runtime: Path, settings: Settings
) -> None:
    config = node.folder / "config"
    for name in ("data", "logs", "tmp", "snapshots"):
        (node.folder / name).mkdir(parents=True)
    shutil.copytree(home / "config", config)
    (config / f"{profile.product}.yml").write_text(configuration(profile, node, nodes))
    options, memory = jvm_options(
        (config / "jvm.options").read_text(),
        heap=settings.heap,
        vectors=java.has_module(runtime, VECTORS),
        more=settings.java_opts,
    )
    (config / "jvm.options").write_text(options)
    (config / "jvm.options.d").mkdir(exist_ok=True)
    (config / "jvm.options.d" / "heap.options").write_text(memory)


def _environment(node: Node, runtime: Path, prefix: str = "ES") -> dict[str, str]:
    return {
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        "HOME": str(node.folder),
        f"{prefix}_PATH_CONF": str(node.folder / "config"),
        f"{prefix}_JAVA_HOME": str(runtime),
        f"{prefix}_TMPDIR": str(node.folder / "tmp"),
        "LANG": "C.UTF-8",
    }


def _secure(node: Node, home: Path, runtime: Path, folder: Path) -> dict[str, str]:
    """A certificate authority of its own, a certificate, an administrator and a worker; how to log in."""
    config = node.folder / "config"
    if shutil.which("openssl") is None:
        message = "the secured profile needs openssl to make certificates: install it"
        raise Trouble(message)
    _run("openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=es-dedup-test-ca", config,
         "-keyout", "ca.key", "-out", "ca.crt")  # fmt: skip
    _run("openssl req -newkey rsa:2048 -nodes -subj /CN=localhost -keyout server.key -out server.csr", config)
    (config / "names").write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
    _run("openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 30", config,
         "-extfile", "names", "-out", "server.crt")  # fmt: skip
    password = secrets.token_urlsafe(18)
    (config / "roles.yml").write_text(ROLE.read_text())
    for user, role in ((ADMIN, "superuser"), (WORKER, "es_dedup"), (SEARCHER, "es_dedup_search")):
        command = [str(home / "bin" / "elasticsearch-users"), "useradd", user, "-p", password, "-r", role]
        done = subprocess.run(command, env=_environment(node, runtime), capture_output=True, check=False)
        if done.returncode != 0:
            message = f"no user could be made: {done.stderr.decode(errors='replace').strip()}"
            raise Trouble(message)
    shutil.copy(config / "ca.crt", folder / "ca.crt")
    return {"user": ADMIN, "password": password, "ca": str(folder / "ca.crt")}


def _run(command: str, folder: Path, *more: str) -> None:
    done = subprocess.run([*command.split(), *more], cwd=folder, capture_output=True, check=False)
    if done.returncode != 0:
        message = (
            f"{command.split(maxsplit=1)[0]} failed: {done.stderr.decode(errors='replace').strip()[-300:]}"
        )
        raise Trouble(message)


def _let_in(folder: Path, settings: Settings) -> None:
    """Folders of the cache above a node must be passable for the user that runs it."""
    for place in (folder, *folder.parents):
        if not place.is_relative_to(settings.cache):
            break
        place.chmod(0o755)


def _launch(
    profile: Profile, node: Node, home: Path, runtime: Path, account: Account | None
) -> subprocess.Popen[bytes]:
    daemon = profile.product == "elasticsearch"
    with (node.folder / "launcher.log").open("wb") as log:
        return subprocess.Popen(
            [
                str(home / "bin" / profile.product),
                *(("-d", "-p", str(node.folder / "pid")) if daemon else ()),
            ],
            env=_environment(node, runtime, "ES" if daemon else "OPENSEARCH"),
            cwd=node.folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            user=account.uid if account else None,
            group=account.gid if account else None,
            extra_groups=[] if account else None,
        )


def _processes(
    profile: Profile, nodes: Sequence[Node], launchers: Sequence[subprocess.Popen[bytes]]
) -> list[Process]:
    """The server processes; Elasticsearch's launcher ends when its server is ready or has failed, OpenSearch's becomes the server."""
    if profile.product == "opensearch":
        return [Process.of(launcher.pid) for launcher in launchers]
    end = time.monotonic() + START_SECONDS
    for node, launcher in zip(nodes, launchers, strict=True):
        try:
            code = launcher.wait(timeout=max(1.0, end - time.monotonic()))
        except subprocess.TimeoutExpired as error:
            message = f"{node.name} did not start within {START_SECONDS:g} s: {_log(node)}"
            raise Trouble(message) from error
        if code != 0:
            message = f"{node.name} did not start: {_log(node)}"
            raise Trouble(message)
    return _known(nodes)


def _known(nodes: Sequence[Node]) -> list[Process]:
    files = [node.folder / "pid" for node in nodes]
    return [
        Process.of(int(file.read_text())) for file in files if file.is_file() and file.read_text().strip()
    ]


def _log(node: Node) -> str:
    lines = (node.folder / "launcher.log").read_text(errors="replace").splitlines()
    return "\n  ".join(["", *lines[-LOG_LINES:]])


def _wait(server: Server, nodes: int) -> None:
    end = time.monotonic() + START_SECONDS
    problem = ""
    while time.monotonic() < end:
        try:
            health = ask(server, "/_cluster/health")
        except (OSError, ValueError) as error:
            problem = str(error)
        else:
            problem = f"{health.get('number_of_nodes')} of {nodes} nodes, status {health.get('status')}"
            if health.get("number_of_nodes") == nodes and health.get("status") in ("green", "yellow"):
                return
        if not server.alive():
            break
        time.sleep(0.2)
    message = f"{server.profile} did not become healthy ({problem}); its logs are below {server.folder}"
    raise Trouble(message)


def ask(server: Server, path: str) -> Any:
    """The JSON answer of a GET request.

    Raises:
        OSError: no answer, or an error status.
        ValueError: the answer is no JSON.
    """
    request = urllib.request.Request(server.url + path)  # noqa: S310 - an address this program made
    context = None
    if server.user:
        word = base64.b64encode(f"{server.user}:{server.password}".encode()).decode()
        request.add_header("Authorization", f"Basic {word}")
        context = ssl.create_default_context(cafile=server.ca)
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
    )
    with opener.open(request, timeout=10) as answer:
        return json.loads(answer.read())
