"""Which field of a document holds a term, and as what value.

The tag of a term, its upper 8 of 48 bits, names the method and with it the field. Bands are numbers. Period signatures, key concepts
and frequent characters are stored as text where the writer gives it (``RecordBatch.named``), and asked for by the same text
(``Probe.labels``). All else is stored as the term's eight characters, see ``tokens_of``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from es_dedup.index.elastic.tokens import tokens_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from es_dedup.index.columns import RecordBatch

TAG_SHIFT: Final = 40
TAGS: Final = 256
BAND_BITS: Final = 16
BAND_MASK: Final = (1 << BAND_BITS) - 1

TERM_FIELDS: Final[Mapping[int, str]] = {
    1: "period_signatures",
    2: "simhash_band_3",  # the lowest 16 bits; bands are counted from the first hexadecimal digit
    3: "simhash_band_2",
    4: "simhash_band_1",
    5: "simhash_band_0",
    8: "coverage_grams",
    9: "coverage_clauses",
    33: "char_frequency_characters",
    34: "key_concepts",
    35: "dwswn_key_concepts",
}
"""Field by tag; the tags are those of the modules of ``es_dedup.detectors``, which this one does not import."""
MULTI_TAG: Final = 32
MULTI_FIELDS: Final = tuple(
    f"multi_simhash_{which}_band_{band}" for which in ("text", "keywords") for band in reversed(range(4))
)
"""Fields of the terms of this tag, by the three bits above the band."""
OTHER: Final = "other_terms"
"""Terms of all other methods."""
FIELDS: Final = (*TERM_FIELDS.values(), *MULTI_FIELDS, OTHER)
"""All fields that hold terms."""
NUMBERS: Final = frozenset(name for name in FIELDS if "_band_" in name)
"""Fields with the lowest 16 bits of a term as a number."""
LABELLED: Final = frozenset(
    {"period_signatures", "key_concepts", "dwswn_key_concepts", "char_frequency_characters"}
)
"""Fields whose values are text that people read."""
SHOWN: Final = (
    "simhash",
    "key_concept_positions",
    "dwswn_key_concept_positions",
    "multi_simhash_text",
    "multi_simhash_keywords",
    "char_frequency_followers",
)
"""Fields that say more of a page and hold no terms."""
NAMED: Final = frozenset((*LABELLED, *NUMBERS, *SHOWN))
"""All fields that people read."""

_PLACES: Final = np.full(TAGS, FIELDS.index(OTHER), dtype=np.int64)
_PLACES[list(TERM_FIELDS)] = [FIELDS.index(name) for name in TERM_FIELDS.values()]
_PLACES[MULTI_TAG] = FIELDS.index(MULTI_FIELDS[0])


@dataclass(frozen=True, slots=True)
class Value:
    """A term as a document holds it.

    Attributes:
        field: name of the field.
        text: the value, as statistics of terms name it.
        query: the body of a query ``term`` for it, as JSON.
    """

    field: str
    text: str
    query: str


def values_of(terms: Sequence[int], labels: Mapping[int, str]) -> list[Value]:
    """Where documents have these terms, in order.

    Args:
        terms: each in [0, 2^48).
        labels: text of those that are stored by it.
    """
    every = np.array(terms, dtype=np.uint64)
    found = []
    for term, token, place in zip(terms, tokens_of(every), _places(every).tolist(), strict=True):
        field = FIELDS[place]
        text = labels.get(term, token) if field in LABELLED else token
        if field in NUMBERS:
            text = str(term & BAND_MASK)
        found.append(Value(field, text, f'{{"{field}":{json.dumps(text, ensure_ascii=False)}}}'))
    return found


def columns_of(batch: RecordBatch, places: Sequence[int], *, named: bool) -> list[dict[str, Any]]:
    """For each page the fields that hold its terms, and, where text is wanted, all that people read.

    Args:
        batch: columns.
        places: which pages.
        named: whether the index keeps what people read; False: terms alone.
    """
    bodies: dict[int, dict[str, Any]] = {place: {} for place in places}
    owners = np.repeat(np.arange(len(batch.ids)), np.diff(batch.term_offsets))
    fields = _places(batch.terms)
    keys = owners * len(FIELDS) + fields
    terms = batch.terms
    if (keys[1:] < keys[:-1]).any():
        order = np.argsort(keys, kind="stable")
        keys, terms = keys[order], terms[order]
    starts = np.flatnonzero(np.concatenate((np.ones(min(1, len(keys)), dtype=bool), keys[1:] != keys[:-1])))
    runs = keys[starts].tolist()
    bounds = [*starts.tolist(), len(keys)]
    tokens, numbers = tokens_of(terms), (terms & np.uint64(BAND_MASK)).tolist()
    for run, start, stop in zip(runs, bounds, bounds[1:], strict=False):
        owner, field = divmod(run, len(FIELDS))
        if owner in bodies:
            name = FIELDS[field]
            values = numbers[start:stop] if name in NUMBERS else tokens[start:stop]
            bodies[owner][name] = values[0] if name in NUMBERS and len(values) == 1 else values
    if named and len(batch.named):
        for place, body in bodies.items():
            body.update({name: value for name, value in batch.named[place].items() if name in NAMED})
    return list(bodies.values())


def room_of(body: Mapping[str, Any]) -> int:
    """Bytes of these fields in a request, about."""
    return sum(
        len(name) + 6 + (3 * len(str(value)) if name in NAMED else (len(value) * 11))
        for name, value in body.items()
    )


def _places(terms: NDArray[np.uint64]) -> NDArray[np.int64]:
    tags = (terms >> np.uint64(TAG_SHIFT)).astype(np.int64) % TAGS  # what is too wide is refused elsewhere
    bands = (terms >> np.uint64(BAND_BITS)).astype(np.int64) % len(MULTI_FIELDS)
    places: NDArray[np.int64] = _PLACES[tags] + np.where(tags == MULTI_TAG, bands, 0)
    return places
