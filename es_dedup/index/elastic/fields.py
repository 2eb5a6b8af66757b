"""Which field of a document holds a term, and as what value.

The tag of a term, its upper 8 of 48 bits, names the method and with it the field that the method declares. Bands are numbers. What a
method names in words is stored as text where the writer gives it (``RecordBatch.named``), and asked for by the same text
(``CandidateQuery.labels``). All else is stored as the term's eight characters, see ``tokens_of``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from es_dedup.index.elastic.tokens import tokens_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from es_dedup.index.records import RecordBatch

TAG_SHIFT: Final = 40
TAGS: Final = 256
BAND_BITS: Final = 16
BAND_MASK: Final = (1 << BAND_BITS) - 1
OTHER: Final = "other_terms"
"""Terms of methods that declare no field."""
SEARCHED: Final[Mapping[str, Any]] = {"type": "keyword", "doc_values": False}
SHOWN: Final[Mapping[str, Any]] = {"type": "object", "enabled": False}


Value = tuple[str, str]
"""A term as a document holds it: name of the field, and the value as statistics of terms name it. A batch has thousands of them."""


def term_query(value: Value) -> str:
    """The body of a query ``term`` for it, as JSON."""
    field_, text = value
    return f'{{"{field_}":{encode_basestring(text)}}}'


@dataclass(frozen=True)
class TermFields:
    """The fields of the methods of an index, as these declare them.

    Attributes:
        terms: tag of terms to the fields that hold them: one, or several, of which the bits above the lowest 16 choose.
        types: fields that people read to ``keyword``, ``integer`` or ``object``; see ``detectors.port.Readable``.
    """

    terms: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def searched(self) -> tuple[str, ...]:
        """All fields that hold terms."""
        return (*dict.fromkeys(name for names in self.terms.values() for name in names), OTHER)

    @cached_property
    def numbers(self) -> frozenset[str]:
        """Of these, fields with the lowest 16 bits of a term as a number."""
        return frozenset(name for name in self.searched if self.types.get(name) == "integer")

    @cached_property
    def labelled(self) -> frozenset[str]:
        """Of these, fields whose values are text that people read."""
        return frozenset(name for name in self.searched if self.types.get(name) == "keyword")

    @cached_property
    def hashed(self) -> tuple[str, ...]:
        """Of these, fields that nobody can read."""
        return tuple(name for name in self.searched if name not in self.types)

    @cached_property
    def _at(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """For each tag the place of its first field in ``searched``, and how many it has."""
        first = np.full(TAGS, self.searched.index(OTHER), dtype=np.int64)
        count = np.ones(TAGS, dtype=np.int64)
        for tag, names in self.terms.items():
            first[tag], count[tag] = self.searched.index(names[0]), len(names)
        return first, count

    def properties(self) -> dict[str, Mapping[str, Any]]:
        """All fields as a mapping has them."""
        kinds = {name: SHOWN if kind == "object" else SEARCHED for name, kind in self.types.items()}
        return {**dict.fromkeys(self.searched, SEARCHED), **kinds}

    def by_field(self, terms: Sequence[int], labels: Mapping[int, str]) -> dict[str, dict[str, int]]:
        """Where documents have these terms: by field, the terms by the values that stand for them.

        Args:
            terms: distinct, each in [0, 2^48).
            labels: text of those that are stored by it.
        """
        every = np.array(terms, dtype=np.uint64)
        places = self._places(every)
        order = np.argsort(places, kind="stable")
        bounds = np.searchsorted(places[order], np.arange(len(self.searched) + 1)).tolist()
        found = {}
        for name, start, stop in zip(self.searched, bounds, bounds[1:], strict=False):
            if start == stop:
                continue
            some = every[order[start:stop]]
            known: list[int] = some.tolist()
            numbers = name in self.numbers
            texts = [str(term & BAND_MASK) for term in known] if numbers else tokens_of(some)
            if name in self.labelled:
                texts = [labels.get(term, text) for term, text in zip(known, texts, strict=True)]
            found[name] = dict(zip(texts, known, strict=True))
        return found

    def columns_of(self, batch: RecordBatch, places: Sequence[int], *, named: bool) -> list[dict[str, Any]]:
        """For each page the fields that hold its terms, and, where text is wanted, all that people read.

        Args:
            batch: columns.
            places: which pages.
            named: whether the index keeps what people read; False: terms alone.
        """
        bodies: dict[int, dict[str, Any]] = {place: {} for place in places}
        owners = np.repeat(np.arange(len(batch.ids)), np.diff(batch.term_offsets))
        fields = self._places(batch.terms)
        keys = owners * len(self.searched) + fields
        terms = batch.terms
        if (keys[1:] < keys[:-1]).any():
            order = np.argsort(keys, kind="stable")
            keys, terms = keys[order], terms[order]
        starts = np.flatnonzero(
            np.concatenate((np.ones(min(1, len(keys)), dtype=bool), keys[1:] != keys[:-1]))
        )
        runs = keys[starts].tolist()
        bounds = [*starts.tolist(), len(keys)]
        tokens, numbers = tokens_of(terms), (terms & np.uint64(BAND_MASK)).tolist()
        for run, start, stop in zip(runs, bounds, bounds[1:], strict=False):
            owner, place = divmod(run, len(self.searched))
            if owner in bodies:
                name = self.searched[place]
                values = numbers[start:stop] if name in self.numbers else tokens[start:stop]
                bodies[owner][name] = values[0] if name in self.numbers and len(values) == 1 else values
        if named and len(batch.named):
            for place, body in bodies.items():
                body.update({name: value for name, value in batch.named[place].items() if name in self.types})
        return list(bodies.values())

    def _places(self, terms: NDArray[np.uint64]) -> NDArray[np.int64]:
        first, count = self._at
        tags = (terms >> np.uint64(TAG_SHIFT)).astype(
            np.int64
        ) % TAGS  # what is too wide is refused elsewhere
        bands = (terms >> np.uint64(BAND_BITS)).astype(np.int64) % count[tags]
        places: NDArray[np.int64] = first[tags] + bands
        return places
