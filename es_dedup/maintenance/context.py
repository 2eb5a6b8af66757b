"""All that maintenance works on: the feature index, the attached source indices, the jobs."""

from __future__ import annotations

import json
import secrets
import time
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from es_dedup.batch.deciding import BatchDecider
from es_dedup.deduplicator.deduplicator import Deduplicator
from es_dedup.errors import ConfigError, MassChange, NotAttached, reading_stored
from es_dedup.hook.document_updates import DocumentUpdates
from es_dedup.index import factory
from es_dedup.index.jobs import DeadLetter
from es_dedup.index.port import ATTACHMENTS, REMOVED, Index
from es_dedup.index.source_index import SourceDocument, SourceFields, documents_of, index_of
from es_dedup.settings.loading import without_texts
from es_dedup.settings.recorded import STATISTICS, adopted, decisions_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from es_dedup.index.factory import JobStore, SourceIndex
    from es_dedup.model import Page
    from es_dedup.settings import Settings

ALWAYS_ALLOWED: Final = 100
"""Documents that may be changed without being forced, however few there are."""
ERROR_CHARS: Final = 200
DIED: Final = "its worker ended without a word (killed, or out of memory)"
NOT_READ: Final = SourceFields("")


class Attachment(NamedTuple):
    """One attached target.

    Attributes:
        target: an index, an alias, a data stream or a pattern.
        fields: how its documents are read.
        indices: concrete ones that it has stood for.
    """

    target: str
    fields: SourceFields
    indices: tuple[str, ...] = ()


def load_attachments(index: Index) -> list[Attachment]:
    """All attachments of an index, by target."""
    with reading_stored("attachments"):
        stored = json.loads(index.note(ATTACHMENTS) or "[]")
        return [
            Attachment(each["target"], SourceFields(**each["fields"]), tuple(each.get("indices", ())))
            for each in stored
        ]


def save_attachments(index: Index, attachments: Iterable[Attachment]) -> None:
    """Replace all attachments."""
    listed = sorted(attachments, key=lambda each: each.target)
    rows = [each._asdict() | {"fields": each.fields.as_dict()} for each in listed]
    with index.writing():  # sessions of others read the note once
        index.set_note(ATTACHMENTS, json.dumps(rows))


class ReadPages(NamedTuple):
    """Documents as pages; ``problems`` says why others cannot be pages, by page id."""

    pages: list[Page]
    problems: dict[str, str]


def pages_of(fields: SourceFields, documents: Iterable[SourceDocument]) -> ReadPages:
    """The pages that some documents hold."""
    read = ReadPages([], {})
    for each in documents:
        if each.key.problem:
            read.problems[each.key.page_id] = each.key.problem
        else:
            read.pages.append(fields.page(each.key.page_id, each.source))
    return read


@dataclass
class MaintenanceContext:
    """An index on Elasticsearch with its attached source indices.

    Attributes:
        place: its address.
        settings: all settings, those of the index where nobody has given others; texts are not stored, as the source index has them.
        index, source_index, jobs: the stores.
    """

    place: str
    settings: Settings
    index: Index
    source_index: SourceIndex
    jobs: JobStore

    @property
    def dedup(self) -> Deduplicator:
        """The use cases over the same index; it knows the statistics that are stored now."""
        return Deduplicator(self.index, self.settings)

    @cached_property
    def decider(self) -> BatchDecider:
        """Decides on pages of documents, as the hook does."""
        return BatchDecider(self.index, self.settings, ignored_seconds=0)

    def updates(self, fields: SourceFields = NOT_READ) -> DocumentUpdates:
        """Brings features, clusters and documents in line; ``fields``: those by which documents are read, where any are."""
        return DocumentUpdates(self.source_index, self.decider, fields)

    @property
    def attachments(self) -> list[Attachment]:
        """What is attached now."""
        return load_attachments(self.index)

    def documents_of(self, page_ids: Iterable[str]) -> set[str]:
        """Those of some page ids that name a document of a source index; none while nothing is attached."""
        return documents_of(page_ids) if self.attachments else set()

    def indices(self, target: str | None = None) -> dict[str, SourceFields]:
        """Concrete source indices with the fields they are read by: of one attached target, or of all.

        An index that belongs to several targets is read by the fields of the last one in the order of their names.

        Raises:
            NotAttached: there is no such attachment.
        """
        attachments = self.attachments
        found = [each for each in attachments if target in (None, each.target)]
        if target is not None and not found:
            raise NotAttached(target, tuple(each.target for each in attachments))
        names = {each.target: self.source_index.indices(each.target) for each in attachments}
        by_index = {name: each.fields for each in attachments for name in names[each.target]}
        return {name: by_index[name] for each in found for name in names[each.target]}

    def note_indices(self) -> None:
        """Note which concrete indices the attached targets stand for now, see ``left_indices``."""
        before = self.attachments
        now = [each._replace(indices=self._indices_until_now(each)) for each in before]
        if now != before:
            save_attachments(self.index, now)

    def _indices_until_now(self, attachment: Attachment) -> tuple[str, ...]:
        present = set(self.source_index.indices(attachment.target))
        others = filter(self.source_index.exists, set(attachment.indices) - present)
        return tuple(sorted(present.union(others)))

    def left_indices(self) -> set[str]:
        """Noted indices that their target does not lead to any more, as one that an alias was moved away from.

        A target that leads nowhere has left none: it may be about to be moved.
        """
        noted: set[str] = set()
        present: set[str] = set()
        for each in self.attachments:
            if found := self.source_index.indices(each.target, closed=True):
                present.update(found)
                noted.update(each.indices)
        return noted - present

    @property
    def removed(self) -> dict[str, str]:
        """A new text by source index for each time that pages of it were removed whose documents stayed."""
        with reading_stored("removed pages"):
            return dict(json.loads(self.index.note(REMOVED) or "{}"))

    def note_removed(self, indices: Iterable[str]) -> None:
        """Note that pages of these source indices will be removed while their documents stay, so that ``follow`` reads these again if they come back."""
        if some := dict.fromkeys(indices, secrets.token_hex(4)):
            with self.index.writing():
                before = {
                    index: each for index, each in self.removed.items() if self.source_index.exists(index)
                }
                self.index.set_note(REMOVED, json.dumps(before | some))

    def fields_of(self, page_ids: Iterable[str]) -> dict[str, SourceFields]:
        """How each page's document is read; pages of no attached index are absent.

        The server is asked only where the name of an index does not show to which target it belongs, as behind an alias, or targets are
        read by different fields.
        """
        by_page = {page_id: index_of(page_id) for page_id in page_ids}
        indices = set(by_page.values()) - {""}
        by_index: dict[str, SourceFields] = {}
        attachments = self.attachments
        for attachment in attachments:
            patterns = attachment.target.split(",")
            named = [index for index in indices if any(fnmatchcase(index, each) for each in patterns)]
            by_index |= dict.fromkeys(named, attachment.fields)
        if indices - by_index.keys() or len({each.fields for each in attachments}) > 1:
            by_index |= self.indices()
        return {page_id: by_index[index] for page_id, index in by_page.items() if index in by_index}

    def put_dead_letters(self, reasons: Mapping[str, str], task: str, attempts: int = 1) -> None:
        """Put pages that could not be processed on the list of dead letters, by page id with the reason.

        Args:
            reasons: an empty one means that the worker died each time.
            task: what was tried.
            attempts: how often; once where a repetition would fail in the same way.
        """
        now = int(time.time() * 1000)
        self.jobs.put_dead_letters(
            DeadLetter(page_id, task, reason or DIED, attempts, now) for page_id, reason in reasons.items()
        )

    def guard(self, what: str, changes: int, total: int, *, force: bool) -> None:
        """Let a change of many documents pass, or refuse it: most often it is a mistake.

        Raises:
            MassChange: it is above the limit and not forced.
        """
        limit = max(ALWAYS_ALLOWED, int(total * self.settings.maintenance.max_change_share))
        if changes > limit and not force:
            raise MassChange(what, changes, limit)


@contextmanager
def open_context(place: str, settings: Settings, *, read_only: bool = False) -> Iterator[MaintenanceContext]:
    """An index with its source indices, closed at the end of the block; made when it is not there, unless ``read_only``.

    Raises:
        ConfigError: the place is not an address of an index on Elasticsearch.
        IndexError_: see ``factory.open_index``.
    """
    if not factory.is_remote(place):
        raise ConfigError(
            (f"maintenance needs an index on Elasticsearch, http://host:9200/name, not {place}",)
        )
    own = without_texts(settings)
    with ExitStack() as stores:
        index = stores.enter_context(closing(factory.open_index(place, own, read_only=read_only)))
        own = adopted(factory.fitted(index, own, factory.shown(place)), decisions_in(index.note(STATISTICS)))
        yield MaintenanceContext(
            place,
            own,
            index,
            stores.enter_context(closing(factory.open_source_index(place, own))),
            stores.enter_context(closing(factory.open_jobs(place, own, read_only=read_only))),
        )
