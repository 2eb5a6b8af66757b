"""What a caller names → paths and files: names, patterns, and addresses of object storage.

A pattern (``*``, ``?``, ``[…]``, ``**`` for folders at any depth) stands for what it matches, in the order of names. An address with a
scheme (``s3://…``) is opened by fsspec; ``file://…`` is a local path.
"""

from __future__ import annotations

import glob
import io
import re
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlsplit
from urllib.request import url2pathname

from es_dedup.errors import MissingExtra
from es_dedup.readers.roots import path_list

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import TypeAlias

    Source: TypeAlias = "Path | RemoteFile | Pipe"
    Named: TypeAlias = "Path | Address"

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


class RemoteFile:
    """A file that fsspec opens, with what readers use of a path."""

    __slots__ = ("_filesystem", "_path", "_url")

    def __init__(self, filesystem: Any, path: str, url: str) -> None:
        self._filesystem, self._path, self._url = filesystem, path, url

    def __str__(self) -> str:
        """The address; the page id of a page file, too."""
        return self._url

    @property
    def name(self) -> str:
        """As of a path."""
        return PurePosixPath(self._path).name

    @property
    def suffixes(self) -> list[str]:
        """As of a path."""
        return PurePosixPath(self._path).suffixes

    @property
    def suffix(self) -> str:
        """As of a path."""
        return PurePosixPath(self._path).suffix

    @property
    def size(self) -> int | None:
        """Bytes; None where the storage does not say."""
        with _as_os_errors():
            size: int | None = self._filesystem.size(self._path)
        return size

    def open(self, mode: str = "rb") -> IO[bytes]:  # noqa: ARG002 - as of a path; files are only read
        """The bytes, seekable.

        Raises:
            OSError: whatever goes wrong, now or while reading.
        """
        with _as_os_errors():
            stream = self._filesystem.open(self._path, "rb")
        return cast("IO[bytes]", io.BufferedReader(_Stream(stream), _PIECE))


class Pipe:
    """A pipe or standard input, with what readers use of a path; its content is read once, or as often as ``open`` says."""

    __slots__ = ("_name", "_open", "suffix")

    def __init__(self, name: str, suffix: str, opener: Callable[[], IO[bytes]]) -> None:
        self._name, self.suffix, self._open = name, suffix, opener

    def __str__(self) -> str:
        """As it was given."""
        return self._name

    @property
    def name(self) -> str:
        """For a file that holds its content."""
        return f"pipe{self.suffix}"

    @property
    def suffixes(self) -> list[str]:
        """The suffix of its kind."""
        return [self.suffix]

    def open(self, mode: str = "rb") -> IO[bytes]:  # noqa: ARG002 - as of a path
        """The bytes, compressed or not; seekable where its kind needs that."""
        return self._open()


class Address:
    """An address with a scheme: one file, a folder, or a pattern."""

    __slots__ = ("url",)

    def __init__(self, url: str) -> None:
        self.url = url

    def __str__(self) -> str:
        """As it was given."""
        return self.url

    @property
    def is_pattern(self) -> bool:
        """Whether it stands for what it matches."""
        return glob.has_magic(self.url.partition("::")[0])

    def place(self) -> tuple[Any, str]:
        """The file system of its storage, and its path there.

        Raises:
            MissingExtra: fsspec, or its package for the scheme, is not installed.
            OSError: it is of no storage, or the storage does not answer.
        """
        scheme = self.url.partition("://")[0].lower()
        if scheme in REFUSED:
            raise Unreadable(f"{scheme}:// is not read: save what a crawler fetched and name its files")
        if "@" in urlsplit(self.url).netloc:
            raise Unreadable(
                "credentials belong into the environment or the storage's own settings, not here"
            )
        return _filesystem(self.url, scheme)

    def file(self) -> RemoteFile | None:
        """The file of this very name; None where there is none.

        Raises:
            MissingExtra, OSError: as for ``place``.
        """
        filesystem, path = self.place()
        return RemoteFile(filesystem, path, self.url) if filesystem.isfile(path) else None

    def store(self, file: Path) -> None:
        """Make a local file the one that this address names.

        Raises:
            MissingExtra, OSError: as for ``place``.
        """
        filesystem, path = self.place()
        with _as_os_errors():
            filesystem.put_file(str(file), path)

    def files(self) -> tuple[list[RemoteFile], bool]:
        """Its files in the order of names; and whether there may be several: it is a pattern or a folder.

        Raises:
            MissingExtra: fsspec, or its package for the scheme, is not installed.
            OSError: nothing is there, or the storage does not answer.
        """
        first, chain, rest = self.url.partition("::")
        filesystem, path = self.place()
        with _as_os_errors():
            magic = glob.has_magic(first)
            anchor = first[: re.search(r"[*?[]", first).start()].rpartition("/")[0] if magic else first  # type: ignore[union-attr]  # there is one
            if magic:
                found = [name for name in filesystem.glob(path) if not filesystem.isdir(name)]
            elif filesystem.isdir(path):
                found = filesystem.find(path)
            else:
                return [RemoteFile(filesystem, path, self.url)], False
            below = "" if anchor.endswith(":/") else filesystem._strip_protocol(anchor)  # noqa: SLF001 - fsspec has no other name for it
        if not found:
            raise Unreadable("no file matches" if magic else "no files in this folder")
        start, length = anchor.rstrip("/"), len(below.rstrip("/"))
        start = f"{start}/" if start.endswith(":") else start
        return [
            RemoteFile(filesystem, name, f"{start}/{name[length:].lstrip('/')}{chain}{rest}")
            for name in sorted(found)
        ], True


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
            found.append(Path(url2pathname(urlsplit(str(path)).path)))
        else:
            found.append(Address(str(path)))
    return found


def is_pattern(path: Path) -> bool:
    """Whether a local path is a pattern: it has ``*``, ``?`` or ``[…]``, and no file has this very name."""
    return glob.has_magic(str(path)) and not path.exists()


def pattern_folder(pattern: Path) -> Path:
    """The folder before the first part of a pattern that is one; ids of page files are relative to it unless a root holds it."""
    parts = pattern.parts
    first = next(place for place, part in enumerate(parts) if glob.has_magic(part))
    return Path(*parts[:first])


def matches(pattern: Path) -> Iterator[Path]:
    """Files and folders that a local pattern matches, by name; of one with ``**`` the files only, as their folders hold them too."""
    files_only = ANY_DEPTH in pattern.parts
    for name in sorted(glob.glob(str(pattern), recursive=True)):  # noqa: PTH207 - Path.glob takes no absolute pattern
        path = Path(name)
        if not (files_only and path.is_dir()):
            yield path


def _filesystem(url: str, scheme: str) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise MissingExtra("fsspec", "remote", f"reading {url}") from error
    try:
        with _as_os_errors():
            filesystem, path = url_to_fs(url)
    except ImportError as error:
        if scheme in EXTRAS:
            raise MissingExtra(*EXTRAS[scheme], f"reading {url}") from error
        raise Unreadable(str(error)) from error
    return filesystem, path


class _as_os_errors:  # noqa: N801 - used as a statement
    """Makes an ``OSError`` of what a storage's own package raises."""

    def __enter__(self) -> None:
        """Nothing to do."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Translate; one line of text is enough."""
        if isinstance(error, FileNotFoundError):
            raise Unreadable("No such file or directory") from error
        if isinstance(error, Exception) and not isinstance(error, (Unreadable, ImportError)):
            kind = "" if isinstance(error, (OSError, ValueError)) else f"{type(error).__name__}: "
            raise Unreadable(f"{kind}{error}".partition("\n")[0]) from error


class _Stream(io.RawIOBase):
    """A stream of fsspec, with its errors translated."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return bool(self._stream.seekable())

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        with _as_os_errors():
            place: int = self._stream.seek(offset, whence)
        return place

    def tell(self) -> int:
        place: int = self._stream.tell()
        return place

    def readinto(self, buffer: Any) -> int:
        with _as_os_errors():
            data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
        super().close()
