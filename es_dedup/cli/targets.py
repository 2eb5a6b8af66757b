"""The outputs of commands: each is opened here, and replaces only what was looked at and is an earlier output of its kind."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Final

import typer

from es_dedup.cli.session import MEMORY, Session
from es_dedup.readers.locations import Address, is_pattern, located, matches
from es_dedup.readers.streams import READ_ERRORS, open_unpacked

if TYPE_CHECKING:
    from es_dedup.readers.locations import Named, Source

OutputFile = Annotated[
    str | None, typer.Option("-o", help="Output file or address (default: standard output).")
]
HTML: Final = ".*– es-dedup</title>".encode()
"""How each HTML page of a command begins."""
_BESIDE: Final = ("-wal", "-shm", "-journal", ".lock")
"""Ends of the names of files that belong to the index of the name before."""
_DATABASE: Final = b"SQLite format 3\0"
_PARQUET: Final = b"PAR1"
_HEAD_BYTES: Final = 4096
_STDIN: Final = Path("-")


@dataclass(frozen=True, slots=True)
class Target:
    """An output of a command, made by ``output_target``.

    Attributes:
        place: the file or address.
    """

    place: Named
    _look: Callable[[], None]

    def __str__(self) -> str:
        """As it was given."""
        return str(self.place)

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """A stream that becomes the output when the block ends without an error.

        Raises:
            typer.BadParameter: something else has come to its place meanwhile.
            OSError: it cannot be written; what is there stays.
        """
        from es_dedup.views.target import open_target

        with open_target(self.place) as stream:
            yield stream
            self._look()

    def write(self, data: bytes) -> None:
        """Make ``data`` the output; see ``open``."""
        with self.open() as stream:
            stream.write(data)


def output_target(
    name: str | Path, session: Session, option: str, holds: bytes, inputs: Iterable[str | Path] = ()
) -> Target:
    """The file or address that an output is written to.

    What is there is replaced only if it is empty or begins as an earlier output does. A pipe, a device and standard output are written to.

    Args:
        name: as given.
        session: whose index it must not be.
        option: that gives the name.
        holds: a regular expression: how the outputs of this command begin, decompressed; of a Parquet file the last bytes follow.
        inputs: of the command.

    Raises:
        typer.BadParameter: it is a folder, part of an index, an input, or something else that would be lost; its folder is missing; or
            its storage cannot be had.
    """
    (place,) = located([name])

    def look() -> None:
        try:
            problem = _problem(place, session, holds, list(inputs))
        except OSError as error:
            problem = f"{place}: {error}"
        if problem:
            raise typer.BadParameter(problem, param_hint=option)

    look()
    return Target(place, look)


def _problem(place: Named, session: Session, holds: bytes, inputs: list[str | Path]) -> str:
    """Why an output must not be written there; empty where it may."""
    from es_dedup.views.target import is_replaced

    there: Source | None
    if isinstance(place, Address):
        there = place.file()
    elif place.is_dir():
        return f"{place} is a folder: name a file"
    else:
        real = Path(os.path.realpath(place))
        if not real.parent.is_dir():
            return f"there is no folder {real.parent}"
        if _of_an_index(real, session):
            return f"{place} belongs to an index: name another file"
        there = place if is_replaced(place) else None
    if _is_input(place, inputs):
        return f"{place} is part of the input: name another file"
    if there is not None and not _begins(there, holds):
        return f"{place} is there and is no earlier output of this command: name another file, or remove it first"
    return ""


def _of_an_index(file: Path, session: Session) -> bool:
    """Whether a file is a database or stands beside one, or will: the index of the session may not be there yet."""
    bases = [file, *(Path(str(file).removesuffix(end)) for end in _BESIDE if str(file).endswith(end))]
    own = session.db != MEMORY and not session.remote
    return (
        any(Path(f"{file}{end}").exists() for end in _BESIDE)
        or any(each.is_file() and _head(each).startswith(_DATABASE) for each in bases)
        or (own and any(_same(file, Path(session.db + end)) for end in ("", *_BESIDE)))
    )


def _is_input(place: Named, inputs: list[str | Path]) -> bool:

    if isinstance(place, Address):
        return str(place) in map(str, inputs)
    local = [path for path in located(inputs) if not isinstance(path, Address) and path != _STDIN]
    files = chain.from_iterable(matches(path) if is_pattern(path) else [path] for path in local)
    return any(_same(place, path) for path in files)


def _same(left: Path, right: Path) -> bool:
    if os.path.realpath(left) == os.path.realpath(right):
        return True
    try:
        return left.samefile(right)
    except OSError:
        return False


def _head(file: Path) -> bytes:
    with file.open("rb") as stream:
        return stream.read(_HEAD_BYTES)


def _begins(there: Source, holds: bytes) -> bool:
    """Whether a file is empty, or one that ``holds`` describes."""
    try:
        with open_unpacked(there) as stream:
            found = stream.read(_HEAD_BYTES)
        if found.startswith(_PARQUET):  # which says at its end what it holds
            with there.open("rb") as stream:
                stream.seek(-min(_HEAD_BYTES, stream.seek(0, os.SEEK_END)), os.SEEK_END)
                found += stream.read()
    except READ_ERRORS:
        return False
    return not found or re.match(holds, found, re.DOTALL) is not None
