"""The concrete indices behind the targets of documents, ready for the ``dedup`` field."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from es_dedup.errors import CredentialsRefused, IndexError_, IndexRefused, SourceIncomplete
from es_dedup.index.source_index import document_key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from es_dedup.hook.documents import Batch, Item
    from es_dedup.index.factory import SourceIndex
    from es_dedup.index.source_index import WriteTarget

REFUSALS: Final = (IndexRefused, SourceIncomplete)
"""Errors after which no document may be written to an index; after others the write itself returns the error."""


class Targets:
    """Which concrete index each target stands for.

    Args:
        source_index: the source indices.
    """

    def __init__(self, source_index: SourceIndex) -> None:
        self._source_index = source_index
        self._known: dict[str, WriteTarget] = {}

    def forget(self, target: str) -> None:
        """Ask for the index behind a target again."""
        self._known.pop(target, None)

    def resolve(self, items: Iterable[Item]) -> None:
        """Name the concrete index of each document, which is created where the write would create it; one that is known is not asked for, see ``check``.

        Args:
            items: those with a problem are passed over.

        Raises:
            IndexRefused, SourceIncomplete: see ``SourceIndex.write_target``.
        """
        for item in items:
            given = item.target
            if item.problem:
                continue
            place = self._known.get(given)  # another thread may forget it meanwhile
            if place is None:
                if not item.creates and not self._source_index.indices(given):
                    continue
                try:
                    place = self._known[given] = self._ready([item], given)
                except CredentialsRefused:
                    continue  # as if the server did not answer: setting ``hook.on_failure`` says what happens
                except REFUSALS:
                    raise
                except IndexError_:
                    continue  # the write that follows returns the error
            key = replace(item.key, index=place.index, routing=item.routing or place.routing)
            if key != item.key:
                item.key = key
                item.problem = item.key.problem  # an alias may be shorter than its index

    def check(self, batch: Batch) -> bool:
        """Refuse a batch right before it is written, when its documents, or others whose ``dedup`` field it changes, cannot be updated.

        An index that a rollover has made since the decision gets the mapping of ``dedup``. Where the server does not answer the batch
        passes: the write of ``dedup`` fields checks again, and changes nothing without an answer.

        Returns:
            Whether documents go to other indices, or get another routing, than was known when they were decided on.

        Raises:
            IndexRefused, SourceIncomplete: see ``SourceIndex.write_target`` and ``SourceIndex.check``.
        """
        try:
            before = {
                target: self._known[target]
                for target in {item.target for item in batch if not item.problem} & self._known.keys()
            }
            now = {
                target: self._ready((item for item in batch if item.target == target), target)
                for target in before
            }
            self._known.update(now)
            if others := {document_key(name).index for name in batch.others} - {
                place.index for place in now.values()
            }:
                self._source_index.check(others)
        except CredentialsRefused:
            return False
        except REFUSALS:
            raise
        except IndexError_:
            return False
        return now != before

    def _ready(self, items: Iterable[Item], target: str) -> WriteTarget:
        external = any(item.external for item in items)
        known = self._known.get(target)
        return self._source_index.write_target(target, external_versions=external, known=known)
