"""What a batch of columns may hold, and the reason when it holds something else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup.model import id_problem
from es_dedup.text.hashing import TERM_BITS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from es_dedup.index.records import RecordBatch

MAX_BLOB_BYTES: Final = 100_000_000  # of one payload or text; a tenth of SQLite's own limit, and what a request to Elasticsearch may hold
MAX_LENGTH: Final = (1 << 63) - 1
MAX_HASH: Final = (1 << 64) - 1


def problems(batch: RecordBatch) -> Iterator[tuple[int, str]]:
    """Positions of the records that cannot be stored, each with the reason; ascending."""
    wide = np.zeros(len(batch.ids), dtype=bool)
    at = np.flatnonzero(batch.terms >> np.uint64(TERM_BITS))
    wide[np.searchsorted(batch.term_offsets, at, side="right") - 1] = True
    # Whole columns are tested first: a batch in which all is well takes a tenth of the time.
    words = [column for column in batch.words if not encodable("".join(column))]
    texts_fit = all(isinstance(text, bytes) and len(text) <= MAX_BLOB_BYTES for text in batch.texts)
    for place, page_id in enumerate(batch.ids):
        problem = id_problem(page_id)
        if problem is None and wide[place]:
            problem = f"a term is not in [0, 2^{TERM_BITS})"
        if problem is None:
            problem = _number_problem(batch, place) or _word_problem(words, place)
        if problem is None and not texts_fit:
            problem = _text_problem(batch.texts[place])
        if problem is not None:
            yield place, problem


def _number_problem(batch: RecordBatch, place: int) -> str | None:
    if not 0 <= batch.lengths[place] <= MAX_LENGTH:
        return "length is not in [0, 2^63)"
    if not 0 <= batch.content_hashes[place] <= MAX_HASH:
        return "content hash is not in [0, 2^64)"
    if len(batch.payloads[place]) > MAX_BLOB_BYTES:
        return f"payload is larger than {MAX_BLOB_BYTES} bytes"
    return None


def _text_problem(text: str | bytes) -> str | None:
    if len(text) > MAX_BLOB_BYTES:
        return f"text is larger than {MAX_BLOB_BYTES} bytes"
    return None if isinstance(text, bytes) or encodable(text) else "text holds half a surrogate pair"


def _word_problem(words: Sequence[Sequence[str]], place: int) -> str | None:
    if not words or all(encodable(column[place]) for column in words):
        return None
    return "url, title or other metadata holds half a surrogate pair"


def encodable(word: str) -> bool:
    """Whether the string can be written as UTF-8; half a surrogate pair cannot."""
    if word.isascii():
        return True
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return True
