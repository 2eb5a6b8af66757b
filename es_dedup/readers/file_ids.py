"""Ids of page files: the path below one folder, the root, with ``/`` between names; the absolute path of a file elsewhere.

An index records its root, so that a file has one id, however it is reached: symbolic links, the working directory and the folder that a
command names do not matter. Different files never share an id.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def common_folder(paths: Iterable[str | Path]) -> str | None:
    """The deepest folder that holds some files and folders, without symbolic links; None where there is none.

    Args:
        paths: what does not exist is passed over.
    """
    places = [Path(path).resolve() for path in paths if os.path.lexists(path)]
    try:
        return os.path.commonpath([each if each.is_dir() else each.parent for each in places])
    except ValueError:  # nothing is there, or it is on several drives
        return None


def file_id(path: str | Path, root: str | None) -> str:
    """The page id of a file; one that is a link has the id of the file that it leads to, unless this alone is outside of the root.

    Args:
        path: of the file.
        root: absolute, without symbolic links; None: there is none.
    """
    folder, name = os.path.split(path)
    own = os.path.join(os.path.realpath(folder), name)  # noqa: PTH118 - strings: this is done for every file
    real = os.path.realpath(own) if os.path.islink(own) else own  # noqa: PTH114
    start = None if root is None else root.rstrip(os.sep) + os.sep
    below = (each.removeprefix(start) for each in (real, own) if start and each.startswith(start))
    return next(below, real).replace(os.sep, "/")
