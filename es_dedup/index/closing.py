"""What ``with`` blocks let go of, or undo, at their end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def on_error(undo: Callable[..., object], *arguments: Any) -> Iterator[None]:
    """Undo what was begun, by ``undo(*arguments)``, where the block ends with an error or an interrupt."""
    try:
        yield
    except BaseException:
        undo(*arguments)
        raise


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
