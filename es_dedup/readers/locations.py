"""What a caller names → paths and files: names, patterns, and addresses of object storage.

A pattern (``*``, ``?``, ``[…]``, ``**`` for folders at any depth) stands for what it matches, in the order of names. An address with a
scheme (``s3://…``) is opened by fsspec; ``file://…`` is a local path.
"""

from __future__ import annotations

import glob
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any, Final, TypeAlias, cast
from urllib.parse import urlsplit

from es_dedup.errors import MissingExtra, needs_extra

if TYPE_CHECKING:
    Source: TypeAlias = "Path | OtherFile"
    Named: TypeAlias = "Path | Address"

STDIN: Final = "-"
ANY_DEPTH: Final = "**"
LOCAL: Final = ("file", "local")
REFUSED: Final = ("http", "https", "ftp")
"""Schemes of web pages: a crawler fetches these, with the rules of their sites."""
EXTRAS: Final = {"s3": ("s3fs", "s3"), "s3a": ("s3fs", "s3"), "gs": ("gcsfs", "gcs"), "gcs": ("gcsfs", "gcs")}
"""Scheme to the package that fsspec needs for it and the extra that brings it."""
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
_PIECE: Final = 2**18


class Unreadable(OSError):
    """An address that names nothing that can be read; carries the words for the failure."""


@dataclass(frozen=True, slots=True)
class OtherFile:
    """What is no local file: a file that fsspec opens, or the content of a pipe; with what readers use of a path.

    Attributes:
        shown: its address, which is the page id of a page file, too; or the name of the pipe.
        name: with the suffix of its kind, as that of a path.
        open: gives the bytes, compressed or not; takes the mode ``rb`` as a path does. Seekable where the kind needs that. A pipe is read
            once, or as often as this says. Whatever goes wrong, now or while reading, is an ``OSError``.
    """

    shown: str
    name: str
    open: Callable[[str], IO[bytes]]

    def __str__(self) -> str:
        return self.shown


class Address(str):
    """An address with a scheme: one file, a folder, or a pattern."""

    __slots__ = ()

    @property
    def is_pattern(self) -> bool:
        """Whether it stands for what it matches."""
        return glob.has_magic(self.partition("::")[0])

    def place(self) -> tuple[Any, str]:
        """The file system of its storage, and its path there.

        Raises:
            MissingExtra: fsspec, or its package for the scheme, is not installed.
            OSError: it is of no storage, or the storage does not answer.
        """
        scheme = self.partition("://")[0].lower()
        if scheme in REFUSED:
            raise Unreadable(f"{scheme}:// is not read: save what a crawler fetched and name its files")
        if "@" in urlsplit(self).netloc:
            problem = "credentials belong into the environment or the storage's own settings, not here"
            raise Unreadable(problem)
        with needs_extra("remote", f"reading {self}"):
            from fsspec.core import url_to_fs
        try:
            with _as_os_errors():
                filesystem, path = url_to_fs(self)
        except ImportError as error:
            if scheme in EXTRAS:
                raise MissingExtra(*EXTRAS[scheme], f"reading {self}") from error
            raise Unreadable(str(error)) from error
        return filesystem, path

    def file(self) -> OtherFile | None:
        """The file of this very name; None where there is none.

        Raises:
            MissingExtra, OSError: as for ``place``.
        """
        filesystem, path = self.place()
        return _remote_file(filesystem, path, self) if filesystem.isfile(path) else None

    def store(self, file: Path) -> None:
        """Make a local file the one that this address names.

        Raises:
            MissingExtra, OSError: as for ``place``.
        """
        filesystem, path = self.place()
        with _as_os_errors():
            filesystem.put_file(str(file), path)

    def files(self) -> tuple[list[OtherFile], bool]:
        """Its files in the order of names; and whether there may be several: it is a pattern or a folder.

        Raises:
            MissingExtra: fsspec, or its package for the scheme, is not installed.
            OSError: nothing is there, or the storage does not answer.
        """
        first, chain, rest = self.partition("::")
        filesystem, path = self.place()
        with _as_os_errors():
            magic = re.search(r"[*?[]", first)
            anchor = first[: magic.start()].rpartition("/")[0] if magic else first
            if magic:
                names = [name for name in filesystem.glob(path) if not filesystem.isdir(name)]
            elif filesystem.isdir(path):
                names = filesystem.find(path)
            else:
                return [_remote_file(filesystem, path, self)], False
            below = "" if anchor.endswith(":/") else filesystem._strip_protocol(anchor)  # noqa: SLF001 - fsspec has no other name for it
        if not names:
            raise Unreadable("no file matches" if magic else "no files in this folder")
        start, length = anchor.rstrip("/"), len(below.rstrip("/"))
        start = f"{start}/" if start.endswith(":") else start
        urls = {name: f"{start}/{name[length:].lstrip('/')}{chain}{rest}" for name in sorted(names)}
        return [_remote_file(filesystem, name, url) for name, url in urls.items()], True


def path_list(paths: Iterable[str | Path]) -> list[str | Path]:
    """The paths as they are, each checked: a single string would be taken for a list of its characters.

    Raises:
        TypeError: something else was given.
    """
    if isinstance(paths, (str, bytes, Path)) or not isinstance(paths, Iterable):
        raise TypeError(f"paths must be a list of paths, got {paths!r}; for one path write [path]")
    named = list(paths)
    for path in named:
        if not isinstance(path, (str, Path)):
            raise TypeError(f"a path must be a string or a Path, got {path!r}")
    return named


def located(paths: Iterable[str | Path]) -> list[Named]:
    """Paths and addresses; patterns are left as they are.

    Raises:
        TypeError: no list of paths.
    """
    found: list[Named] = []
    for path in path_list(paths):
        scheme = _SCHEME.match(path) if isinstance(path, str) else None
        if scheme is None:
            found.append(Path(path))
        elif scheme[1].lower() in LOCAL and "::" not in str(path):
            from urllib.request import url2pathname

            found.append(Path(url2pathname(urlsplit(str(path)).path)))
        else:
            found.append(Address(str(path)))
    return found


def missing(named: Iterable[Named]) -> list[Path]:
    """Of local paths that are no patterns those where there is nothing."""
    return [
        path for path in named if isinstance(path, Path) and not (path.exists() or glob.has_magic(str(path)))
    ]


def is_pattern(path: Path) -> bool:
    """Whether a local path is a pattern: it has ``*``, ``?`` or ``[…]``, and no file has this very name."""
    return glob.has_magic(str(path)) and not path.exists()


def pattern_folder(pattern: Path) -> Path:
    """The folder before the first part of a pattern that is one; ids of page files are relative to it unless the index has a root."""
    parts = pattern.parts
    first = next(place for place, part in enumerate(parts) if glob.has_magic(part))
    return Path(*parts[:first])


def files_of(named: Named) -> tuple[Sequence[Source], bool]:
    """Files and folders that a name stands for, by name, and whether there may be several: it is a pattern, or a folder of a storage.

    Of a pattern with ``**`` the files only, as their folders hold them too.

    Raises:
        MissingExtra: fsspec, or its package for the scheme, is not installed.
        OSError, ValueError: nothing is there, the storage does not answer, or this is no name.
    """
    if isinstance(named, Address):
        return named.files()
    if str(named) == STDIN or not is_pattern(named):
        if str(named) != STDIN:
            named.stat()
        return [named], False
    matching = map(Path, sorted(glob.glob(str(named), recursive=True)))  # noqa: PTH207 - Path.glob takes no absolute pattern
    files = [path for path in matching if not (ANY_DEPTH in named.parts and path.is_dir())]
    if not files:
        raise Unreadable("no file matches")
    return files, True


def _remote_file(filesystem: Any, path: str, url: str) -> OtherFile:
    """A file of a storage; all its errors are of type ``OSError``."""

    def open_stream(mode: str) -> IO[bytes]:
        with _as_os_errors():
            stream: Any = _Stream(filesystem.open(path, mode))
        return cast("IO[bytes]", io.BufferedReader(stream, _PIECE))

    return OtherFile(url, PurePosixPath(path).name, open_stream)


@contextmanager
def _as_os_errors() -> Iterator[None]:
    """Make an ``OSError`` of what a storage's own package raises; one line of text is enough."""
    try:
        yield
    except (Unreadable, ImportError):
        raise
    except FileNotFoundError as error:
        raise Unreadable("No such file or directory") from error
    except Exception as error:
        kind = "" if isinstance(error, (OSError, ValueError)) else f"{type(error).__name__}: "
        raise Unreadable(f"{kind}{error}".partition("\n")[0]) from error


class _Stream:
    """A stream of fsspec, with its errors translated."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._stream, name)
        return _as_os_errors()(found) if callable(found) else found
