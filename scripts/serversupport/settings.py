"""Where servers are kept and as whom they run: what the environment may set."""

from __future__ import annotations

import hashlib
import os
import pwd
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

REPOSITORY: Final = Path(__file__).resolve().parents[2]
DEFAULT_USER: Final = "nobody"


class Trouble(Exception):
    """A server cannot be had; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the environment says.

    Attributes:
        cache: folder of downloads and unpacked servers (``ES_DEDUP_SERVERS``); shared by all checkouts.
        run: folder of this checkout's data, logs and process ids; another one for each name in ``ES_DEDUP_SERVERS_SET``.
        maven: base address of a Maven repository (``ES_DEDUP_MAVEN``); empty when it is not set.
        user: the unprivileged user that servers run as when the caller is root (``ES_DEDUP_SERVERS_USER``).
        heap: heap of one node, in Java's notation (``ES_DEDUP_SERVERS_HEAP``).
        java_opts: more options of the Java machine, separated by spaces (``ES_DEDUP_SERVERS_JAVA_OPTS``).
    """

    cache: Path
    run: Path
    maven: str
    user: str
    heap: str
    java_opts: str


def load(environ: Mapping[str, str], repository: Path = REPOSITORY, *, root: bool | None = None) -> Settings:
    """The settings in force.

    Args:
        environ: environment variables.
        repository: each checkout has servers of its own, told apart by this path and the name of the set.
        root: whether the caller is root; None finds out.
    """
    as_root = os.geteuid() == 0 if root is None else root
    cache = Path(environ.get("ES_DEDUP_SERVERS") or _default_cache(environ, as_root=as_root)).absolute()
    name = environ.get("ES_DEDUP_SERVERS_SET", "")
    key = hashlib.sha256(f"{repository}{name and chr(0) + name}".encode()).hexdigest()[:8]
    return Settings(
        cache=cache,
        run=cache / "run" / key,
        maven=environ.get("ES_DEDUP_MAVEN", "").rstrip("/"),
        user=environ.get("ES_DEDUP_SERVERS_USER", DEFAULT_USER),
        heap=environ.get("ES_DEDUP_SERVERS_HEAP", "512m"),
        java_opts=environ.get("ES_DEDUP_SERVERS_JAVA_OPTS", ""),
    )


def _default_cache(environ: Mapping[str, str], *, as_root: bool) -> Path:
    # The unprivileged user may not enter root's home.
    if as_root:
        return Path("/var/cache/es-dedup-servers")
    base = environ.get("XDG_CACHE_HOME") or (Path(home) / ".cache" if (home := environ.get("HOME")) else None)
    return Path(base or tempfile.gettempdir()) / "es-dedup-servers"


@dataclass(frozen=True, slots=True)
class Account:
    """The user and group that a server runs as."""

    uid: int
    gid: int


def unprivileged(settings: Settings) -> Account | None:
    """The account to change to, or None when the caller is no root and servers run as the caller.

    Raises:
        Trouble: there is no such user, or it is root.
    """
    if os.geteuid() != 0:
        return None
    try:
        found = pwd.getpwnam(settings.user)
    except KeyError as error:
        message = f"there is no user {settings.user!r}: name one in ES_DEDUP_SERVERS_USER"
        raise Trouble(message) from error
    if found.pw_uid == 0:
        message = "the server refuses to run as root: name another user in ES_DEDUP_SERVERS_USER"
        raise Trouble(message)
    return Account(found.pw_uid, found.pw_gid)


def give(path: Path, account: Account | None) -> None:
    """Make a folder and all below it the account's own."""
    if account is None:
        return
    os.chown(path, account.uid, account.gid)
    for folder, folders, files in os.walk(path):
        for name in (*folders, *files):
            os.chown(Path(folder) / name, account.uid, account.gid, follow_symlinks=False)
