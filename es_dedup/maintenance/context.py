"""All that maintenance works on: the feature index, the source indices, the jobs."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from es_dedup.deduplicator.deduplicator import Deduplicator
from es_dedup.errors import ConfigError, NotAttached
from es_dedup.extraction import create_extractor
from es_dedup.index import factory
from es_dedup.index.source_index import documents_of
from es_dedup.maintenance.attachment import load_attachments
from es_dedup.settings.recorded import STATISTICS, adopted, decisions_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from es_dedup.extraction.port import Extractor
    from es_dedup.index.claims import Claims
    from es_dedup.index.jobs import JobStore
    from es_dedup.index.port import Index
    from es_dedup.index.source_index import SourceFields, SourceIndex
    from es_dedup.maintenance.attachment import Attachment
    from es_dedup.settings import Settings


@dataclass(slots=True)
class MaintenanceContext:
    """An index on Elasticsearch with its attached source indices.

    Attributes:
        place: its address.
        settings: all settings, those of the index where nobody has given others; texts are not stored, as the source index has them.
        index, source_index, jobs, claims: the stores.
    """

    place: str
    settings: Settings
    index: Index
    source_index: SourceIndex
    jobs: JobStore
    claims: Claims
    _extractor: Extractor | None = field(default=None, repr=False)

    @property
    def extractor(self) -> Extractor:
        """Reads HTML; made once."""
        if self._extractor is None:
            self._extractor = create_extractor(self.settings.extraction)
        return self._extractor

    @property
    def dedup(self) -> Deduplicator:
        """The use cases over the same index; it knows the statistics that are stored now."""
        return Deduplicator(self.index, self.settings)

    @property
    def attachments(self) -> list[Attachment]:
        """What is attached now."""
        return load_attachments(self.index)

    def documents_of(self, page_ids: Iterable[str]) -> set[str]:
        """Those of some page ids that name a document of a source index; none while nothing is attached."""
        return documents_of(page_ids) if self.attachments else set()

    def indices(self, target: str | None = None) -> dict[str, SourceFields]:
        """Concrete source indices with the fields they are read by: of one attached target, or of all.

        Raises:
            NotAttached: there is no such attachment.
        """
        known = self.attachments
        if target is not None:
            known = [each for each in known if each.target == target]
            if not known:
                raise NotAttached(target)
        return {name: each.fields for each in known for name in self.source_index.indices(each.target)}


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
    kept = settings.model_copy(update={"index": settings.index.model_copy(update={"keep_text": False})})
    index = factory.open_index(place, kept, read_only=read_only)
    kept = adopted(factory.fitted(index, kept, factory.shown(place)), decisions_in(index.note(STATISTICS)))
    source_index, jobs = (
        factory.open_source_index(place, kept),
        factory.open_jobs(place, kept, read_only=read_only),
    )
    claims = factory.open_claims(place, kept)
    try:
        yield MaintenanceContext(place, kept, index, source_index, jobs, claims)
    finally:
        for store in (index, source_index, jobs, claims):
            store.close()
