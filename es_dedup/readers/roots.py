"""Roots: the folders that ids of page files are relative to.

The id of a file is its path below the *earliest* recorded root that holds it, with ``/`` between names; below all roots
but the first of an index it begins with the root's namespace and ``//``. Therefore:

- a file has one id, however it is reached: symbolic links and the working directory do not matter;
- a root that is recorded later never changes an id, because an earlier root comes before it;
- different files never share an id: no relative path holds ``//``, and namespaces are unique.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Final, Self

from es_dedup.errors import reading_stored

if TYPE_CHECKING:
    from collections.abc import Sequence

SEPARATOR: Final = "//"
"""Between a namespace and the path below its root."""
_NAMESPACE: Final = re.compile(r"(?=.*\w)[\w.-]{1,64}")
_NOT_IN_NAMESPACE: Final = re.compile(r"[^\w.-]")
_NAME_CHARS: Final = 48  # of a folder name in a namespace


@dataclass(frozen=True, slots=True)
class Root:
    """One root.

    Attributes:
        namespace: what its page ids begin with; empty for none.
        folder: absolute path without symbolic links; None when another root has taken its place.
    """

    namespace: str
    folder: str | None

    @property
    def start(self) -> str:
        """What its page ids begin with."""
        return f"{self.namespace}{SEPARATOR}" if self.namespace else ""

    def holds(self, folder: str) -> bool:
        """Whether a folder is this root or lies below it; an absolute path without symbolic links."""
        own = self.folder
        return own is not None and (folder == own or folder.startswith(own.rstrip(os.sep) + os.sep))

    def prefix(self, folder: str) -> str:
        """What stands before the names of files in a folder that the root holds."""
        below = folder[len(self.folder or "") :].strip(os.sep).replace(os.sep, "/")
        return f"{self.start}{below}/" if below else self.start


@dataclass(frozen=True, slots=True)
class Roots:
    """The roots of an index, in the order in which they were recorded; immutable.

    Attributes:
        roots: all of them.
        recorded: those that the index has; what differs is new.
    """

    roots: tuple[Root, ...] = ()
    recorded: tuple[Root, ...] = ()

    @classmethod
    def from_json(cls, text: str | None) -> Self:
        """What ``as_json`` has written; None stands for no roots."""
        with reading_stored("roots"):
            roots = tuple(
                Root(str(namespace), None if folder is None else str(folder))
                for namespace, folder in json.loads(text or "[]")
            )
        return cls(roots, roots)

    def as_json(self) -> str:
        """All roots as text that an index can keep."""
        return json.dumps([[root.namespace, root.folder] for root in self.roots])

    def missing(self) -> tuple[Root, ...]:
        """Recorded roots whose folder does not exist here: it was moved, or lies on another machine."""
        return tuple(root for root in self.recorded if root.folder and not Path(root.folder).is_dir())

    def covering(
        self, paths: Iterable[str | Path], *, root: str | Path | None = None, namespace: str | None = None
    ) -> Roots:
        """Roots that hold all these files and folders.

        A path below a root needs no other. For the rest one root is added: the folder given, the parent of a single file,
        or the deepest folder that holds all of them. The first root of an index has an empty namespace, a later one that of
        its folder's name, with a number where it is taken.

        Args:
            paths: files and folders; what does not exist is passed over.
            root: the folder to use as the new root.
            namespace: of the root. That of a recorded root whose folder no longer exists says that the folder has moved
                here. A new one for the folder of a recorded root says that other pages lie there now.

        Raises:
            TypeError: ``paths`` is not a list of paths.
            ValueError: ``root`` or ``namespace`` cannot be used as asked; the text says why.
        """
        paths = path_list(paths)
        places = [_folders(path) for path in paths if os.path.lexists(path)]
        folders = [each[0] for each in places]
        if root is not None or namespace is not None:
            extended = self._with(_new_root(folders, root), namespace)
            _refuse_conflicts(replace(self, roots=self.recorded), extended, places)
            return extended
        uncovered = list(
            dict.fromkeys(each[0] for each in places if all(self.root_of(folder) is None for folder in each))
        )
        common = _common(uncovered)
        roots = self
        for folder in [common] if common else uncovered:
            if roots.prefix(folder) is None:
                roots = roots._with(folder, None)
        return roots

    def prefix(self, folder: str) -> str | None:
        """What stands before the names of files in a folder to make their ids; None when no root holds it.

        Args:
            folder: absolute, without symbolic links.
        """
        root = self.root_of(folder)
        return None if root is None else root.prefix(folder)

    def root_of(self, folder: str) -> Root | None:
        """The earliest root that holds a folder."""
        return next((root for root in self.roots if root.holds(folder)), None)

    def id_of(self, path: str | Path) -> str | None:
        """The page id of a file; None when no root holds it.

        Below one root a link to a file has the id of that file; one that leads out of its root keeps its own path.
        """
        places = [(self.root_of(folder), folder, name) for folder, name in _places(path)]
        roots = {root for root, _, _ in places}
        earliest = next((root for root in self.roots if root in roots), None)
        ids = (f"{root.prefix(folder)}{name}" for root, folder, name in places if root and root is earliest)
        return next(ids, None)

    def _with(self, folder: str, namespace: str | None) -> Roots:
        """With a root at this folder; a namespace that is given takes the place of any other there."""
        at_folder = next((root for root in self.roots if root.folder == folder), None)
        if at_folder is not None and namespace in (None, at_folder.namespace):
            return self
        if namespace is None:
            return replace(self, roots=(*self.roots, Root(self._free_namespace(folder), folder)))
        if namespace and not _NAMESPACE.fullmatch(namespace):
            raise ValueError(
                f"a namespace has 1 to 64 letters, digits, '_', '.' and '-', or is empty; got {namespace!r}"
            )
        known = next((root for root in self.roots if root.namespace == namespace), None)
        if known is not None and known.folder is not None and Path(known.folder).is_dir():
            raise ValueError(
                f"the namespace {namespace!r} belongs to {known.folder}, which is still there: choose another namespace"
            )
        left = [replace(root, folder=None) if root is at_folder else root for root in self.roots]
        if known is None:
            return replace(self, roots=(*left, Root(namespace, folder)))
        return replace(self, roots=tuple(Root(namespace, folder) if each is known else each for each in left))

    def _free_namespace(self, folder: str) -> str:
        if not self.roots:
            return ""
        taken = {root.namespace for root in self.roots}
        name = _NOT_IN_NAMESPACE.sub("_", PurePath(folder).name[:_NAME_CHARS])
        name = name if _NAMESPACE.fullmatch(name) else "root"
        numbered = (f"{name}-{number}" for number in range(2, len(taken) + 3))
        return next(each for each in (name, *numbered) if each not in taken)


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


def _places(path: str | Path) -> list[tuple[str, str]]:
    """Where a file lies, as folder and name: the file that a link leads to, then the link itself."""
    folder, name = os.path.split(path)
    own = os.path.join(os.path.realpath(folder), name)  # noqa: PTH118 - strings: this is done for every file
    real = os.path.realpath(own) if os.path.islink(own) else own  # noqa: PTH114
    return [os.path.split(each) for each in dict.fromkeys((real, own))]


def _folders(path: str | Path) -> list[str]:
    """The folder itself without links, or those where a file lies."""
    return [os.path.realpath(path)] if Path(path).is_dir() else [folder for folder, _ in _places(path)]


def _refuse_conflicts(before: Roots, after: Roots, places: Iterable[Sequence[str]]) -> None:
    """Raise when the new roots do not hold all the input, hide each other, or change ids below recorded roots."""
    for root in after.roots:
        if root.folder is None:
            continue
        if root in before.roots and before.prefix(root.folder) != after.prefix(root.folder):
            raise ValueError(f"the ids of pages below {root.folder} would change: choose another namespace")
        holder = after.root_of(root.folder)
        if root not in before.roots and holder is not None and after.prefix(root.folder) != root.start:
            raise ValueError(
                f"{root.folder} is below the root {holder.folder}, which the index has recorded: "
                f"page ids stay relative to that"
            )
    for folders in places:
        if all(after.root_of(folder) is None for folder in folders):
            raise ValueError(f"{folders[0]} is not below the root that was given")


def _new_root(folders: list[str], root: str | Path | None) -> str:
    """The folder that the caller named, or the deepest one that holds all the input."""
    if root is None:
        folder = _common(folders)
        if folder is None:
            raise ValueError("no folder holds all the input: name a root, too")
        return folder
    if not Path(root).is_dir():
        raise ValueError(f"there is no folder {root}")
    return os.path.realpath(root)


def _common(folders: list[str]) -> str | None:
    """The deepest folder that holds all of these; None for none, or where only a whole file system does."""
    if len(set(folders)) == 1:
        return folders[0]
    try:
        common = os.path.commonpath(folders)
    except ValueError:  # no folders, or on several drives
        return None
    return None if common == os.path.dirname(common) else common  # noqa: PTH120 - a string as the others
