"""The command line of ``scripts/servers``."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scripts.serversupport import fetch, nodes, redis
from scripts.serversupport.java import NoJava
from scripts.serversupport.profiles import EITHER, PROFILES, REDIS
from scripts.serversupport.running import VARIABLES, Server, load, running
from scripts.serversupport.settings import Settings, Trouble
from scripts.serversupport.settings import load as load_settings

if TYPE_CHECKING:
    from collections.abc import Sequence

NAMES = (*PROFILES, EITHER, REDIS)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    # Cut before argparse sees it: the command has options of its own.
    at = words.index("--") if "--" in words else len(words)
    asked = _parser().parse_args(words[:at], argparse.Namespace(words=words[at + 1 :]))
    settings = load_settings(os.environ)
    commands = {"up": _up, "down": _down, "status": _status, "run": _run}
    try:
        return commands[asked.command](asked, settings)
    except Trouble as trouble:
        print(f"error: {trouble}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    listed = "\n".join(f"  {profile.name:<9}{profile.about}" for profile in PROFILES.values())
    parser = argparse.ArgumentParser(
        prog="scripts/servers",
        description="Start, watch and stop real servers for tests, benchmarks and trying out.",
        epilog=f"profiles:\n{listed}\n  {EITHER:<9}es8, or es9 where no Java for that is installed\n"
        f"  {REDIS:<9}Redis, installed on the machine or from a Python package\n\n"
        "environment: ES_DEDUP_SERVERS (folder of downloads and data), ES_DEDUP_SERVERS_USER, "
        "ES_DEDUP_SERVERS_HEAP,\nES_DEDUP_SERVERS_JAVA_OPTS (more options of Java, separated by spaces),\nES_DEDUP_SERVERS_SET (name of a second set of servers of this checkout), ES_DEDUP_MAVEN, JAVA_HOME;\n"
        "ES_DEDUP_ES_URL names a server of your own to use "
        "in place of es8,\nES_DEDUP_REDIS_URL one in place of redis",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    up = commands.add_parser("up", help="start what is not running yet")
    up.add_argument("profiles", nargs="+", choices=NAMES, metavar="PROFILE")
    up.add_argument("--port", type=int, help="HTTP port of the first node")
    down = commands.add_parser("down", help="stop; the next `up` starts without data")
    down.add_argument("profiles", nargs="*", metavar="PROFILE", help="default: all")
    status = commands.add_parser("status", help="what is running")
    form = status.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="as JSON, without passwords")
    form.add_argument("--env", action="store_true", help="as lines for a shell's eval")
    run = commands.add_parser("run", help="start, run a command, and stop what was started")
    run.usage = "scripts/servers run PROFILE … -- COMMAND …"
    run.add_argument("profiles", nargs="+", choices=NAMES, metavar="PROFILE")
    return parser


def ensure(profile: str, settings: Settings, port: int | None = None) -> tuple[Server, bool]:
    """The running server of a profile, and whether this call has started it.

    Raises:
        Trouble: it cannot be had.
    """
    if profile == EITHER:
        try:
            return ensure("es8", settings, port)
        except NoJava as trouble:
            fetch.say(f"!!! es8 cannot run here ({trouble}): es9 takes its place")
            return ensure("es9", settings, port)
    settings.run.mkdir(parents=True, exist_ok=True)
    # one lock for all checkouts and sets: whoever starts has a port only when its server listens
    with fetch.alone(settings.cache / "locks" / "starting.lock"):
        found = load(settings.run / profile)
        if found is not None:
            return found, False
        if profile == REDIS:
            return redis.start(settings, port), True
        return nodes.start(PROFILES[profile], settings, os.environ, port), True


def stop(server: Server) -> None:
    """End all its processes."""
    for process in server.processes:
        process.stop()


def _up(asked: argparse.Namespace, settings: Settings) -> int:
    for profile in asked.profiles:
        server, fresh = ensure(profile, settings, asked.port)
        print(f"{profile}: {' '.join(server.urls)}{'' if fresh else ' (was running)'}")
    return 0


def _down(asked: argparse.Namespace, settings: Settings) -> int:
    if unknown := set(asked.profiles) - set(NAMES):
        message = f"unknown profile {' '.join(sorted(unknown))}; known are {' '.join(NAMES)}"
        raise Trouble(message)
    for server in running(settings.run):
        if not asked.profiles or server.profile in asked.profiles:
            stop(server)
            print(f"{server.profile}: stopped")
    return 0


def _status(asked: argparse.Namespace, settings: Settings) -> int:
    servers = running(settings.run)
    if asked.json:
        print(json.dumps({server.profile: _told(server) for server in servers}, indent=1))
    elif asked.env:
        for server in servers:
            for name, value in server.variables().items():
                print(f"export {name}={shlex.quote(value)}")
    else:
        for server in servers:
            print(f"{server.profile:<9}{server.version:<9}{' '.join(server.urls)}")
        if not servers:
            print("nothing is running")
    return 0


def _told(server: Server) -> dict[str, Any]:
    return {name: value for name, value in asdict(server).items() if name != "password"}


def _run(asked: argparse.Namespace, settings: Settings) -> int:
    if not asked.words:
        message = "name a command to run, after two dashes"
        raise Trouble(message)
    environ = dict(os.environ)
    started: list[Server] = []
    try:
        for profile in asked.profiles:
            wanted = VARIABLES.get("es8" if profile == EITHER else profile, "")
            if environ.get(wanted):
                continue  # the caller has one of its own
            server, fresh = ensure(profile, settings)
            environ |= server.variables()
            if profile == EITHER:
                environ[wanted] = server.url
            if fresh:
                started.append(server)
        return subprocess.run(asked.words, env=environ, check=False).returncode
    finally:
        for server in started:
            # the command may have restarted it: what is written down now is what runs now
            stop(load(Path(server.folder)) or server)
