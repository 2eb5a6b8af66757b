"""Programs by name and pinned version into a work folder: npm, pip in an environment of its own, Debian packages unpacked."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

MINUTES: Final = 8  # for one installation
LIBRARIES: Final = "usr/lib/x86_64-linux-gnu"


class Failed(RuntimeError):
    """A command of a program or a package manager ended with an error; the text has the end of its output."""


@dataclass(frozen=True, slots=True)
class Work:
    """The folder where programs are installed and sites are built.

    Attributes:
        folder: its path; it may be removed at any time.
    """

    folder: Path

    def npm_files(self, name: str, packages: Sequence[str]) -> Path:
        """A ``node_modules`` folder with the files of the packages alone; dependencies must be among the packages."""
        place = self.folder / "npm" / name
        modules = place / "node_modules"
        if not _is_done(place, packages):
            shutil.rmtree(place, ignore_errors=True)
            for package in packages:
                target = modules / package.rpartition("@")[0]
                target.mkdir(parents=True)
                packed = run(["npm", "pack", "--silent", package], place).split()[-1]
                run(["tar", "-xzf", packed, "-C", str(target), "--strip-components=1"], place)
                (place / packed).unlink()
            _done(place, packages)
        return modules

    def pip(self, name: str, requirements: Sequence[str], builders: Sequence[str] = ()) -> Path:
        """The ``bin`` folder of a virtual environment with the packages; ``requirements`` are like ``roundup==2.6.0``.

        With ``builders``, which are installed first, packages with an old way of building are built, without what they depend on.
        """
        place = self.folder / "pip" / name
        if not _is_done(place, requirements):
            run([sys.executable, "-m", "venv", "--clear", str(place)], self.folder)
            pip = [str(place / "bin" / "pip"), "install", "-q"]
            if builders:
                run([*pip, *builders], place)
            run([*pip, *(["--no-build-isolation", "--no-deps"] if builders else []), *requirements], place)
            _done(place, requirements)
        return place / "bin"

    def debian(self, name: str, packages: Sequence[str]) -> Path:
        """A folder with the files of Debian packages as below ``/``; dependencies must be among the packages."""
        place = self.folder / "debian" / name
        if not _is_done(place, packages):
            shutil.rmtree(place, ignore_errors=True)
            loads = place / "packages"
            loads.mkdir(parents=True)
            run(["apt-get", "download", "-q", *packages], loads)
            for archive in sorted(loads.glob("*.deb")):
                run(["dpkg-deb", "-x", str(archive), str(place)], place)
                archive.unlink()
            _relink(place)
            _done(place, packages)
        return place

    def fresh(self, *names: str) -> Path:
        """An empty folder for one site."""
        place = self.folder.joinpath("sites", *names)
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        return place


def _relink(place: Path) -> None:
    """Let absolute symbolic links of an unpacked tree point into the tree."""
    for link in place.rglob("*"):
        if link.is_symlink() and (target := link.readlink()).is_absolute():
            link.unlink()
            link.symlink_to(place / target.relative_to("/"))


def _is_done(place: Path, requirements: Sequence[str]) -> bool:
    note = place / "installed.json"
    return note.exists() and json.loads(note.read_text()) == list(requirements)


def _done(place: Path, requirements: Sequence[str]) -> None:
    (place / "installed.json").write_text(json.dumps(list(requirements)))


def run(
    command: Sequence[str],
    folder: Path,
    *,
    environment: Mapping[str, str] | None = None,
    given: str | None = None,
    minutes: float = MINUTES,
) -> str:
    """The standard output of a command.

    Raises:
        Failed: the command ended with an error or took too long.
    """
    try:
        done = subprocess.run(
            list(command),
            cwd=folder,
            input=given,
            env={**os.environ, **(environment or {})},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=minutes * 60,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        raise Failed(f"{command[0]}: more than {minutes} minutes") from late
    if done.returncode:
        raise Failed(f"{' '.join(command[:4])}: {(done.stderr + done.stdout)[-1500:]}")
    return done.stdout
