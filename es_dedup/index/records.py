"""Feature records: one object per page, and columns for large batches."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from es_dedup.model import id_problem
from es_dedup.text.hashing import TERM_BITS
from es_dedup.text.ragged import gather, offsets_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray


_COLUMNS: Final = {
    "ids": "page_id",
    "lengths": "length",
    "content_hashes": "content_hash",
    "payloads": "payload",
    "texts": "text",
    "named": "named",
    "urls": "url",
    "sites": "site",
    "titles": "title",
    "published": "published",
    "languages": "language",
    "skipped": "skipped",
}
"""Columns of a ``RecordBatch``, but that of terms, by the field of a ``FeatureRecord``."""
WORDS: Final = ("published", "site", "language", "skipped", "url", "title")
"""Fields that are short strings, in the order of ``RecordBatch.words``."""
MAX_BLOB_BYTES: Final = 100_000_000  # of one payload or text; a tenth of SQLite's own limit, and what a request to Elasticsearch may hold
MAX_LENGTH: Final = (1 << 63) - 1
MAX_HASH: Final = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class FeatureRecord:
    """All that is stored of one page.

    Attributes:
        page_id: the caller's key.
        length: characters of the normalised main text.
        content_hash: 64-bit hash that exact copies share, see ``FeatureTable.hashes``; 0 for an empty page.
        terms: candidate terms, each an unsigned 48-bit number whose top 8 bits name the detector; distinct.
        payload: the detectors' features, packed; opaque to the index.
        url, site, title, published: metadata; ``published`` is ISO 8601 or empty.
        language: ``zh``, ``en`` or ``und``.
        text: main text kept for search and reports; empty when not kept.
        skipped: why the page has no features; empty when it has.
        named: features by field name, JSON-ready, as ``es_dedup.detectors.named_fields`` gives them; empty where the index
            keeps none.
        version: ``version_of(payload)`` of a record that was read without its payload; else None.
    """

    page_id: str
    length: int
    content_hash: int
    terms: tuple[int, ...]
    payload: bytes
    url: str = ""
    site: str = ""
    title: str = ""
    published: str = ""
    language: str = "und"
    text: str = ""
    skipped: str = ""
    named: Mapping[str, Any] = field(default_factory=dict, hash=False)
    version: int | None = None

    @property
    def content(self) -> tuple[object, ...]:
        """What differs when a page is stored with other content or metadata; see ``RecordBatch.content``."""
        return self.content_hash, self.payload_version, self.title, self.url, self.site, self.published

    @property
    def payload_version(self) -> int:
        """``version_of`` the payload, whether it was read or not."""
        return version_of(self.payload) if self.version is None else self.version


def version_of(payload: bytes) -> int:
    """A 64-bit hash by which versions of a page's features are told apart."""
    return int.from_bytes(hashlib.blake2b(payload, digest_size=8).digest(), "big")


@dataclass(frozen=True, slots=True)
class RecordBatch:
    """Many records, one sequence per field of ``FeatureRecord``; place ``i`` of each belongs to page ``i``.

    Attributes:
        ids: page ids.
        lengths: characters of the normalised main text.
        content_hashes: in [0, 2^64); 0 for an empty page.
        payloads: packed features.
        terms: all pages' terms one after the other; page ``i`` has those from ``term_offsets[i]`` up to, not
            with, ``term_offsets[i + 1]``.
        term_offsets: one more than there are pages, ascending from 0.
        texts: main texts, or what ``compress_text`` made of them; empty where not kept. No column: none is
            kept.
        named: features by field name; no column: none is kept.
        urls, sites, titles, published, languages, skipped: as in ``FeatureRecord``.
    """

    ids: Sequence[str]
    lengths: Sequence[int]
    content_hashes: Sequence[int]
    payloads: Sequence[bytes]
    terms: NDArray[np.uint64]
    term_offsets: NDArray[np.int64]
    urls: Sequence[str]
    sites: Sequence[str]
    titles: Sequence[str]
    published: Sequence[str]
    languages: Sequence[str]
    skipped: Sequence[str]
    texts: Sequence[str | bytes] = ()
    named: Sequence[Mapping[str, Any]] = ()

    def __post_init__(self) -> None:
        """Refuse columns that do not fit together.

        Raises:
            ValueError: two columns differ in length, or the offsets do not cover the terms.
        """
        size = len(self.ids)
        must = (self.lengths, self.content_hashes, self.payloads, *self.words)
        may = (self.texts, self.named)
        fits = all(len(column) == size for column in must) and all(len(column) in (0, size) for column in may)
        offsets = self.term_offsets
        fits = fits and len(offsets) == size + 1 and (offsets[0], offsets[-1]) == (0, len(self.terms))
        if not fits:
            raise ValueError("columns of a batch differ in length")

    @property
    def words(self) -> tuple[Sequence[str], ...]:
        """The columns of short strings, in the order of ``WORDS``."""
        return self.published, self.sites, self.languages, self.skipped, self.urls, self.titles

    def content(self, row: int) -> tuple[object, ...]:
        """Of one page what ``FeatureRecord.content`` is of a record."""
        version = version_of(self.payloads[row])
        words = self.titles, self.urls, self.sites, self.published
        return self.content_hashes[row], version, *(column[row] for column in words)

    def storable(self) -> tuple[RecordBatch, dict[str, str]]:
        """The records that can be stored, of each page the last one; and, by page id, why others cannot."""
        wrong = _problems_of(self)
        last = {page_id: row for row, page_id in enumerate(self.ids) if row not in wrong}
        kept = self if len(last) == len(self.ids) else self.take(list(last.values()))
        return kept, {self.ids[row]: reason for row, reason in wrong.items()}

    def by_id(self) -> dict[str, FeatureRecord]:
        """Records by page id, with what the canonical order and comparing look at, and nothing else."""
        columns = zip(
            self.ids, self.lengths, self.payloads, self.urls, self.sites, self.published, strict=True
        )
        return {
            page_id: FeatureRecord(page_id, length, 0, (), payload, url, site, published=published)
            for page_id, length, payload, url, site, published in columns
        }

    @classmethod
    def concatenate(cls, batches: Sequence[RecordBatch]) -> RecordBatch:
        """The pages of several batches with the same columns, in order; at least one batch."""
        columns: dict[str, Any] = {
            name: list(chain.from_iterable(getattr(batch, name) for batch in batches)) for name in _COLUMNS
        }
        starts = np.cumsum([0, *(len(batch.terms) for batch in batches)])
        offsets = [batch.term_offsets[1:] + start for batch, start in zip(batches, starts, strict=False)]
        return cls(
            **columns,
            terms=np.concatenate([batch.terms for batch in batches]),
            term_offsets=np.concatenate([np.zeros(1, dtype=np.int64), *offsets]),
        )

    def take(self, rows: Sequence[int]) -> RecordBatch:
        """The pages at the given positions, in that order."""
        columns: dict[str, Any] = {
            name: [column[row] for row in rows] if len(column := getattr(self, name)) else ()
            for name in _COLUMNS
        }
        at = np.array(rows, dtype=np.int64)
        places, owners = gather(self.term_offsets, at)
        return RecordBatch(**columns, terms=self.terms[places], term_offsets=offsets_of(owners, len(at)))

    @classmethod
    def of(cls, records: Sequence[FeatureRecord]) -> RecordBatch:
        """The same records as columns."""
        offsets = np.cumsum([0, *(len(record.terms) for record in records)])
        columns: Any = {
            column: [getattr(record, name) for record in records] for column, name in _COLUMNS.items()
        }
        terms = np.array([term for record in records for term in record.terms], dtype=np.uint64)
        return cls(**columns, terms=terms, term_offsets=offsets)


def _problems_of(batch: RecordBatch) -> dict[int, str]:
    """Positions of the records that cannot be stored, each with the reason."""
    wide = np.flatnonzero(batch.terms >> np.uint64(TERM_BITS))
    owners = np.searchsorted(batch.term_offsets, wide, side="right") - 1
    halves, too_large = "holds half a surrogate pair", f"is larger than {MAX_BLOB_BYTES} bytes"
    # Whole columns of words are tested first: a batch in which all is well takes a tenth of the time.
    words = [column for column in batch.words if not encodable("".join(column))]
    texts = enumerate(batch.texts)
    wrong: Sequence[tuple[Iterable[int], str]] = (
        (owners.tolist(), f"a term is not in [0, 2^{TERM_BITS})"),
        (_outside(batch.lengths, MAX_LENGTH), "length is not in [0, 2^63)"),
        (_outside(batch.content_hashes, MAX_HASH), "content hash is not in [0, 2^64)"),
        (_outside(map(len, batch.payloads), MAX_BLOB_BYTES), f"payload {too_large}"),
        (
            (at for column in words for at, word in enumerate(column) if not encodable(word)),
            f"url, title or other metadata {halves}",
        ),
        (_outside(map(len, batch.texts), MAX_BLOB_BYTES), f"text {too_large}"),
        ((at for at, text in texts if isinstance(text, str) and not encodable(text)), f"text {halves}"),
    )
    ids = ((at, id_problem(page_id)) for at, page_id in enumerate(batch.ids))
    found = {at: problem for at, problem in ids if problem is not None}
    for places, reason in wrong:
        for at in places:
            found.setdefault(at, reason)
    return found


def _outside(values: Iterable[int], most: int) -> list[int]:
    """Positions of the numbers that are negative, or greater than the most."""
    return [at for at, value in enumerate(values) if not 0 <= value <= most]


def encodable(word: str) -> bool:
    """Whether the string can be written as UTF-8; half a surrogate pair cannot."""
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return True
