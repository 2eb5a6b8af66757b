"""The outputs of commands: files and addresses that belong to no index and are no input of the command, replaced only when complete."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Final

import typer

from es_dedup.cli.session import MEMORY, Session
from es_dedup.readers.locations import STDIN, Address, files_of, located
from es_dedup.temporary import replacing, temporary_folder

if TYPE_CHECKING:
    from es_dedup.readers.locations import Named

OutputFile = Annotated[
    str | None, typer.Option("-o", help="Output file or address (default: standard output).")
]
_BESIDE: Final = ("-wal", "-shm", "-journal", ".lock")
"""Ends of the names of files that belong to the index of the name before."""
_DATABASE: Final = b"SQLite format 3\0"
_REPORT: Final = re.compile("– es-dedup</title>".encode())
_HEAD_BYTES: Final = 4096
_STANDARD: Final = (1, 2)


def output_target(
    name: str | Path, session: Session, option: str, inputs: Iterable[str | Path] = ()
) -> Named:
    """The file or address of an output; ``open_target`` writes it, and replaces an existing file once all is written.

    Args:
        name: as given.
        session: whose index it must not be.
        option: that gives the name.
        inputs: of the command.

    Raises:
        typer.BadParameter: it is a folder, part of an index, or an input; its folder is missing; or its storage cannot be had.
    """
    (place,) = located([name])
    try:
        problem = _problem(place, session, list(inputs))
    except OSError as error:
        problem = f"{place}: {error}"
    if problem:
        raise typer.BadParameter(problem, param_hint=option)
    return place


def write_target(place: Named, data: bytes) -> None:
    """Make ``data`` an output; see ``open_target``."""
    with open_target(place) as stream:
        stream.write(data)


@contextmanager
def open_target(path: Path | Address) -> Iterator[IO[bytes]]:
    """A stream that becomes the file ``path`` when the block ends without an error.

    What goes to an address is kept in a temporary file until then. Links are followed and the mode of a file that is there is kept. What
    is there and is no regular file (a pipe, a device), or is standard output itself, is written straight into.

    Raises:
        MissingExtra: the package of a storage is not installed.
        OSError: the file cannot be written.
    """
    if isinstance(path, Address):
        with temporary_folder("target") as folder:
            file = folder / "part"
            with file.open("wb") as part_stream:
                yield part_stream
            path.store(file)
        return
    number = _standard(path)
    if path.exists() and (number is not None or not path.is_file()):
        with path.open("wb") if number is None else os.fdopen(os.dup(number), "wb") as stream:
            yield stream
        return
    with replacing(Path(os.path.realpath(path))) as stream:
        yield stream


def _standard(path: Path) -> int | None:
    """The standard stream that a path names."""
    for number in _STANDARD:
        with suppress(OSError):
            if os.path.samestat(os.fstat(number), path.stat()):
                return number
    return None


def _problem(place: Named, session: Session, inputs: list[str | Path]) -> str:
    """Why an output must not be written there; empty where it may."""
    if isinstance(place, Address):
        place.file()  # where its storage does not answer, the command need not begin
    elif place.is_dir():
        return f"{place} is a folder: name a file"
    else:
        real = Path(os.path.realpath(place))
        if not real.parent.is_dir():
            return f"there is no folder {real.parent}"
        if _of_an_index(real, session):
            return f"{place} belongs to an index: name another file"
    return f"{place} is part of the input: name another file" if _is_input(place, inputs) else ""


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
    """Whether a place is an input, or a file in a folder that is one; an earlier report in such a folder is no input."""
    if isinstance(place, Address):
        return str(place) in map(str, inputs)
    local = [path for path in located(inputs) if not isinstance(path, Address) and str(path) != STDIN]
    files: list[Path] = []
    for path in local:
        with suppress(OSError, ValueError):  # which the reader names
            files += map(Path, map(str, files_of(path)[0]))
    if any(_same(place, path) for path in files):
        return True
    folders = Path(os.path.realpath(place)).parents
    inside = place.is_file() and any(Path(os.path.realpath(path)) in folders for path in files)
    return inside and place.stat().st_size > 0 and not _REPORT.search(_head(place))


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
