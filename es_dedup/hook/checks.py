"""What the hook asks before it writes: whether a client writes to the same cluster, which concrete indices targets stand for, and what pipelines do with documents."""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar
from weakref import WeakSet

from es_dedup.errors import (
    CredentialsRefused,
    IndexError_,
    IndexRefused,
    OtherCluster,
    SourceIncomplete,
    UnreadableAnswer,
)
from es_dedup.index.source_index import SourceFields, WriteTarget, document_key, unread_problem
from es_dedup.model.values import value_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from es_dedup.hook.documents import Batch, Item
    from es_dedup.hook.report import HookReport
    from es_dedup.index.factory import SourceIndex

    Answer = TypeVar("Answer")

_ASK: Final[dict[str, Any]] = {"metric": "version", "filter_path": "cluster_uuid"}


class ClusterCheck:
    """Compares the cluster of each client that is new with the one of the source index, by their UUIDs.

    What cannot be asked is unknown, and passes: who may not ask (cluster privilege ``monitor``), client or hook, a client that gets no answer,
    and a wrapper of a client that has no ``cluster``. The hook asks its own connection first.

    Args:
        source_index: the source index as the hook sees it.
    """

    def __init__(self, source_index: SourceIndex) -> None:
        self._source_index = source_index
        self._same: WeakSet[Any] = WeakSet()

    def check(self, client: Any, wait: Callable[[Any], Any] = lambda answer: answer) -> None:
        """Refuse a client of another cluster.

        Args:
            client: of the caller.
            wait: gives what a call of an asynchronous client will answer.

        Raises:
            OtherCluster: it writes to another cluster.
            IndexError_: the cluster of the source index did not answer.
        """
        from elasticsearch import ApiError, TransportError  # noqa: PLC0415 - of an extra

        if client.transport in self._same or not hasattr(client, "cluster"):
            return
        try:
            own = self._source_index.cluster()
            answer = wait(client.cluster.state(**_ASK))
        except (ApiError, TransportError, IndexRefused):
            return
        found = answer.body.get("cluster_uuid") if isinstance(answer.body, dict) else None
        if not isinstance(found, str):
            raise UnreadableAnswer("cluster state", "it has no cluster_uuid")
        if found != own:
            raise OtherCluster(found, own)
        self._same.add(client.transport)


EXTERNAL: Final = "the action uses external versioning: updating `dedup` would increment `_version`, and later writes would conflict"
REFUSALS: Final = (IndexRefused, SourceIncomplete)
"""Errors after which no document may be written to an index; after others the write itself returns the error."""


def _unless_unanswered(ask: Callable[[], Answer]) -> Answer | None:
    """The answer; None where the server gives none, or none to us: the write that follows returns the error, or setting ``hook.on_failure`` says what happens."""
    try:
        return ask()
    except IndexError_ as error:
        if isinstance(error, REFUSALS) and not isinstance(error, CredentialsRefused):
            raise
    return None


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
            IndexRefused: a document has an external version; or see ``SourceIndex.write_target``.
            SourceIncomplete: see ``SourceIndex.write_target``.
        """
        for item in items:
            given = item.target
            if item.problem:
                continue
            if item.external:
                raise IndexRefused(given, EXTERNAL, "write them without version_type")
            place = self._known.get(given)  # another thread may forget it meanwhile
            if place is None:
                if not item.creates and not self._source_index.indices(given):
                    continue
                place = _unless_unanswered(partial(self._source_index.write_target, given))
                if place is None:
                    continue
                self._known[given] = place
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
        targets = {item.target for item in batch if not item.problem} & self._known.keys()
        before = {target: self._known[target] for target in targets}

        def moved() -> bool:
            now = {target: self._source_index.write_target(target, known) for target, known in before.items()}
            self._known.update(now)
            others = {document_key(name).index for name in batch.others}
            if others := others.difference(place.index for place in now.values()):
                self._source_index.check(others)
            return now != before

        return bool(_unless_unanswered(moved))


class PipelineCheck:
    """Tries the pipelines of each index once, and reads back one document that was written to it.

    Args:
        source_index: simulates pipelines and reads documents.
        fields: which fields of a document hold the page.
        unread: gets the indices whose stored documents lack the content field.
    """

    def __init__(self, source_index: SourceIndex, fields: SourceFields, unread: set[str]) -> None:
        self._source_index, self._fields, self._unread = source_index, fields, unread
        self._tried: set[str] = set()
        self._compared: set[str] = set()

    def simulate(self, indices: Iterable[str], report: HookReport) -> None:
        """Say once of each index what its pipelines do with a sample document, if that matters."""
        for index in sorted({*indices} - self._tried):
            self._tried.add(index)
            with suppress(IndexError_):  # the write that follows returns the error
                effects = self._source_index.pipeline_effects(
                    index, self._fields.sample(), self._fields.content
                )
                if effects.unread:
                    self._unread.add(index)
                _tell(index, (*effects.problems, *effects.notes), report)

    def read_back(self, done: Iterable[Item], report: HookReport) -> None:
        """Read back one written document of each index that is new to this hook."""
        content = self._fields.content
        for item in done:
            index, name = (item.place or item.key).index, item.written_id
            if not item.whole or item.dedup_field is None or index in self._compared:
                continue
            self._compared.add(index)
            stored = self._source_index.read([name], self._fields.names).get(name)
            if stored is None or index in self._unread:
                continue
            problems = (
                [] if stored.dedup else [f"{name} was stored without the field dedup: let pipelines keep it"]
            )
            if value_of(item.source, content) is not None and value_of(stored.source, content) is None:
                self._unread.add(index)
                problems.append(unread_problem(name, "was stored without", content))
            _tell(index, problems, report)


def _tell(index: str, effects: Sequence[str], report: HookReport) -> None:
    """Warn of what pipelines of an index do with documents, and add it to the report."""
    if effects:
        warnings.warn("; ".join(effects), stacklevel=4)
        report.pipelines[index] = "; ".join(effects)
