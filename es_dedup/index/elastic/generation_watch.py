"""Notices that an index name has come to stand for another generation than the one that was opened.

What an index name stands for is decided by its aliases, and ``reindex`` moves them while other processes have the index open. Each
answer to a write names the real index it went to, so that watching costs no request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from es_dedup.errors import IndexError_

if TYPE_CHECKING:
    from collections.abc import Iterable

    from es_dedup.index.elastic.schema import Schema


class GenerationWatch:
    """The generation that was opened, by the names of its real indices.

    Args:
        schema: was opened; knows their names, and refuses what was made with other settings.
    """

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._refused = False

    def seen(self, kind: str, names: Iterable[str]) -> None:
        """Take note of where requests went.

        Raises:
            SettingsMismatch: to a generation that other settings made.
            IndexError_: to something else that is not ours; see ``Schema.open``.
        """
        if not self._schema.concrete[kind].issuperset(names):
            self._look()

    def check(self) -> None:
        """Refuse to go on with a generation that was refused before; after a roll-back it is the one that was opened again.

        Raises:
            IndexError_: as ``seen``.
        """
        if self._refused:
            self._look()

    def _look(self) -> None:
        try:
            self._schema.open(read_only=True)
        except IndexError_ as error:
            self._refused = not error.retryable
            raise
        self._refused = False
