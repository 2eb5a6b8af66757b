"""Objects that are let go of at the end of a ``with`` block."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self


class Closing(ABC):
    """Gives what has ``close`` the ``with`` block."""

    @abstractmethod
    def close(self) -> None:
        """Let go of what is held; may be called twice."""

    def __enter__(self) -> Self:
        """The object itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Close it."""
        self.close()
