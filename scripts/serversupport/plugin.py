"""The ingest processors of ``ingest/``, compiled for the servers whose distribution has none."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Final

from scripts.serversupport import fetch, java
from scripts.serversupport.settings import Settings, Trouble

if TYPE_CHECKING:
    from collections.abc import Mapping

SOURCES: Final = Path(__file__).parent / "ingest"
NAME: Final = "esdedup-ingest"
THEIRS: Final = ("ingest-common", "lang-painless")
"""Modules that have processors or scripts of the same names: a server with one of them is left as it is."""
DESCRIPTION: Final = """\
name={name}
description=Ingest processors for tests
version=1
classname=esdedup.ingest.IngestProcessors
java.version={release}
elasticsearch.version={version}
"""


def with_processors(
    home: Path, version: str, release: int, environ: Mapping[str, str], settings: Settings
) -> Path:
    """The folder of a server with these ingest processors, or the given folder where they are not needed or cannot be made.

    Args:
        home: the unpacked server.
        version: of the server.
        release: major version of Java that the server's own classes are made for.
        environ: environment variables; ``JAVA_HOME`` is looked at first.
        settings: where things are.

    Raises:
        Trouble: the sources cannot be compiled.
    """
    if any((home / "modules" / module).is_dir() for module in THEIRS):
        return home
    compiler = next(
        (
            path
            for found in java.installed(environ)
            if found.major >= release and (path := found.home / "bin" / "javac").is_file()
        ),
        None,
    )
    if compiler is None:
        fetch.say(
            f"!!! no Java compiler was found: {version} starts without ingest processors, and tests of them do not run "
            f"(Debian, Ubuntu: apt-get install openjdk-{release}-jdk-headless)"
        )
        return home
    sources = sorted(SOURCES.glob("*.java"))
    key = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:8]

    def make(folder: Path) -> None:
        # Hard links: the start scripts of a server follow symbolic ones back to where it was unpacked.
        shutil.copytree(home, folder, copy_function=os.link, dirs_exist_ok=True)
        place = folder / "plugins" / NAME
        place.mkdir(parents=True)
        compile_plugin(compiler, sources, home / "lib", release, place)
        text = DESCRIPTION.format(name=NAME, release=release, version=version)
        (place / "plugin-descriptor.properties").write_text(text)
        for path in (place, *place.iterdir()):
            path.chmod(0o755 if path.is_dir() else 0o644)

    return fetch.unpacked(f"{home.name}-ingest-{key}", make, settings)


def compile_plugin(compiler: Path, sources: list[Path], libraries: Path, release: int, place: Path) -> None:
    """Write the compiled sources into the archive ``esdedup-ingest.jar``.

    Raises:
        Trouble: they cannot be compiled; the message has the compiler's words.
    """
    classes = place / "classes"
    command = [
        str(compiler),
        "--release",
        str(release),
        "-nowarn",
        "-cp",
        f"{libraries}/*",
        "-d",
        str(classes),
    ]
    done = subprocess.run([*command, *map(str, sources)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        message = f"the ingest processors for tests cannot be compiled: {done.stderr.strip()[-2000:]}"
        raise Trouble(message)
    packed = shutil.make_archive(str(place / NAME), "zip", classes)
    Path(packed).rename(place / f"{NAME}.jar")
    shutil.rmtree(classes)
