"""Files that people name: regular ones of bounded size, and what is made of them, kept until they change."""

from __future__ import annotations

import errno
import stat
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from es_dedup.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_BYTES: Final = 200 * 2**20
"""Bytes of a file that a setting names; a larger file is something else."""
T = TypeVar("T")


def read_regular(path: Path, max_bytes: int) -> bytes:
    """The bytes of a regular file of bounded size.

    Raises:
        OSError: it cannot be read, is a pipe, a device or a folder, or holds more than ``max_bytes``.
    """
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, "it is no regular file", str(path))
    with path.open("rb") as stream:
        data = stream.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise OSError(errno.EFBIG, f"it is larger than {max_bytes / 2**20:g} MB", str(path))
    return data


def made_of_file(
    setting: str, path: str | Path, make: Callable[[bytes], T], max_bytes: int = MOST_BYTES
) -> T:
    """What ``make`` makes of the bytes of a file, kept until the file changes.

    Args:
        setting: that names the file.
        path: of the file.
        make: a function of a module; the same for equal bytes.
        max_bytes: of the file.

    Raises:
        ConfigError: the file cannot be read, or ``make`` raises ``ValueError`` or ``IndexError``.
    """
    place = Path(path)
    try:
        stamp = place.stat()
        made: T = _made(place, make, max_bytes, stamp.st_mtime_ns, stamp.st_size)
    except OSError as error:
        problem = f"{setting}: {place} cannot be read: {error.strerror or error}"
        raise ConfigError((problem,)) from error
    except UnicodeDecodeError as error:
        raise ConfigError((f"{setting}: {place} is not UTF-8 text: save it as UTF-8",)) from error
    except (ValueError, IndexError) as error:
        raise ConfigError((f"{setting}: {place}: {error}",)) from error
    return made


@lru_cache(maxsize=16)
def _made(path: Path, make: Callable[[bytes], Any], max_bytes: int, modified: int, size: int) -> Any:  # noqa: ARG001 - a changed file is another key
    return make(read_regular(path, max_bytes))
