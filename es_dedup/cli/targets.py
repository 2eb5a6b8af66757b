"""Where a command writes its output, and what it may not write over: the index, and its own input."""

from __future__ import annotations

import os
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from es_dedup.cli.session import MEMORY

if TYPE_CHECKING:
    from collections.abc import Iterable

    from es_dedup.cli.session import Session
    from es_dedup.readers.locations import Named

_INDEX_FILES: Final = ("", "-wal", "-shm", "-journal", ".lock")
_STDIN: Final = Path("-")
_HEAD_BYTES: Final = 4096
_MARK: Final = "– es-dedup</title>".encode()
"""Stands in the head of every report."""


def output_target(name: str, session: Session, option: str) -> Named:
    """The file or address that an output is written to.

    Raises:
        typer.BadParameter: it is a folder or the index, its folder is missing, or its storage cannot be had.
    """
    from es_dedup.readers.locations import Address, located

    (target,) = located([name])
    if isinstance(target, Address):
        try:
            target.place()
        except OSError as error:
            raise typer.BadParameter(f"{target}: {error}", param_hint=option) from error
        return target
    if target.is_dir():
        raise typer.BadParameter(f"{target} is a folder: name a file", param_hint=option)
    if not target.absolute().parent.is_dir():
        raise typer.BadParameter(f"there is no folder {target.absolute().parent}", param_hint=option)
    refuse_index(target, session, option)
    return target


def refuse_index(target: Path, session: Session, option: str) -> None:
    """Raise a usage error when ``target`` is the index or one of the files beside it."""
    if (
        session.db != MEMORY
        and not session.remote
        and any(_same(target, Path(session.db + end)) for end in _INDEX_FILES)
    ):
        raise typer.BadParameter(f"{target} belongs to the index: name another file", param_hint=option)


def refuse_input(target: Path, inputs: Iterable[str | Path], option: str) -> None:
    """Raise a usage error when ``target`` is an input, or read with an input folder and no earlier report."""
    from es_dedup.readers.folders import SUFFIXES
    from es_dedup.readers.locations import Address, is_pattern, located, matches
    from es_dedup.readers.streams import suffix_of

    local = [path for path in located(inputs) if not isinstance(path, Address) and path != _STDIN]
    for path in chain.from_iterable(matches(path) if is_pattern(path) else [path] for path in local):
        page = suffix_of(target) in SUFFIXES and _inside(target, path) and not _is_report(target)
        if _same(target, path) or page:
            raise typer.BadParameter(f"{target} is part of the input: name another file", param_hint=option)


def _same(left: Path, right: Path) -> bool:
    if os.path.realpath(left) == os.path.realpath(right):
        return True
    try:
        return left.samefile(right)
    except OSError:
        return False


def _inside(path: Path, folder: Path) -> bool:
    return folder.is_dir() and Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def _is_report(path: Path) -> bool:
    """Whether writing there loses no page: nothing, an empty file or a report is there."""
    if not path.is_file():
        return True
    with path.open("rb") as stream:
        head = stream.read(_HEAD_BYTES)
    return not head or _MARK in head
