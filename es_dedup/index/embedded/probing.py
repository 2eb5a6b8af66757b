"""Answers probes: counts shared terms per page, applies the scope, ranks and cuts."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup.index.embedded import names, postings
from es_dedup.model import Candidate, ProbeAnswer

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from es_dedup.model import Probe, Scope

PROBES_PER_LOOKUP: Final = 256  # bounds memory; postings of a lookup are held at once

_DOCS_WHERE: Final = "SELECT p.doc FROM json_each(?2) AS d CROSS JOIN pages AS p ON p.doc = d.value WHERE "


@dataclass(frozen=True, slots=True)
class _Ranked:
    """Pages that answer one probe and may be among its candidates; ``total`` counts all that answer."""

    docs: NDArray[np.int64]
    shared: NDArray[np.int64]
    total: int
    capped: int


def probe_many(connection: sqlite3.Connection, probes: Sequence[Probe]) -> list[ProbeAnswer]:
    """One answer per probe, in order; see ``FeatureIndex.probe_many``."""
    answers: list[ProbeAnswer] = []
    for start in range(0, len(probes), PROBES_PER_LOOKUP):
        answers += _answer(connection, probes[start : start + PROBES_PER_LOOKUP])
    return answers


def _answer(connection: sqlite3.Connection, probes: Sequence[Probe]) -> list[ProbeAnswer]:
    ranked: list[_Ranked | None] = [None] * len(probes)
    excluded = names.docs_by_id(connection, [probe.exclude for probe in probes if probe.exclude is not None])
    for cap in sorted({probe.max_df for probe in probes}):
        places = [place for place, probe in enumerate(probes) if probe.max_df == cap]
        lookup = _Lookup(connection, [probes[place] for place in places], cap)
        for place in places:
            probe = probes[place]
            ranked[place] = _rank(connection, lookup, probe, excluded.get(probe.exclude or "", -1))
    kept = [found for found in ranked if found is not None]
    docs = np.unique(np.concatenate([found.docs for found in kept])) if kept else np.empty(0, dtype=np.int64)
    page_ids = dict(zip(docs.tolist(), names.ids_by_doc(connection, docs.tolist()), strict=True))
    return [_cut(found, probe.limit, page_ids) for found, probe in zip(kept, probes, strict=True)]


class _Lookup:
    """The postings of all terms of several probes, fetched at once."""

    def __init__(self, connection: sqlite3.Connection, probes: Sequence[Probe], cap: int) -> None:
        terms = {term for probe in probes for group in probe.groups for term in group.terms}
        found = postings.find(connection, np.array(sorted(terms), dtype=np.uint64), cap)
        self._at = {term: at for at, term in enumerate(sorted(terms))}
        self._capped = found.capped
        bounds = np.searchsorted(found.term_index, np.arange(len(terms) + 1)).tolist()
        self._slices = list(pairwise(bounds))
        self._docs = found.docs

    def docs(self, terms: set[int]) -> NDArray[np.int64]:
        """The pages of each term, one after the other; a page stands there once per term it carries."""
        slices = (self._slices[self._at[term]] for term in terms)
        parts = [self._docs[start:end] for start, end in slices if start != end]
        return np.concatenate(parts) if parts else self._docs[:0]

    def capped(self, terms: set[int]) -> int:
        """How many of the terms were left out."""
        return int(self._capped[[self._at[term] for term in terms]].sum()) if terms else 0


def _rank(connection: sqlite3.Connection, lookup: _Lookup, probe: Probe, excluded: int) -> _Ranked:
    terms = {term for group in probe.groups for term in group.terms}
    docs, shared = np.unique(lookup.docs(terms), return_counts=True)
    keep = _satisfied(lookup, probe, docs, shared)
    keep &= docs != excluded
    docs, shared = docs[keep], shared[keep]
    if probe.scope is not None and len(docs):
        inside = np.isin(docs, _inside(connection, docs, probe.scope), assume_unique=True)
        docs, shared = docs[inside], shared[inside]
    total = len(docs)
    if total > probe.limit:
        # Ids decide between equal counts, so all pages that share as much as the last candidate stay in.
        least = np.partition(shared, total - probe.limit)[total - probe.limit]
        docs, shared = docs[shared >= least], shared[shared >= least]
    return _Ranked(docs, shared, total, lookup.capped(terms))


def _satisfied(
    lookup: _Lookup, probe: Probe, docs: NDArray[np.int64], shared: NDArray[np.int64]
) -> NDArray[np.bool_]:
    if len(probe.groups) == 1:
        return shared >= probe.groups[0].min_shared  # shared is at least 1
    keep = np.zeros(len(docs), dtype=bool)
    for group in probe.groups:
        of_group = np.searchsorted(docs, lookup.docs(set(group.terms)))
        keep |= np.bincount(of_group, minlength=len(docs)) >= max(1, group.min_shared)
    return keep


def _inside(connection: sqlite3.Connection, docs: NDArray[np.int64], scope: Scope) -> NDArray[np.int64]:
    """The pages that lie in the scope."""
    tests = {
        "p.site = ?1": scope.site,
        "p.published <> '' AND p.published >= ?1": scope.published_from,
        # A bound of less precision covers all that begins with it: '2024-05' reaches to the last of May.
        "p.published <> '' AND substr(p.published, 1, length(?1)) <= ?1": scope.published_to,
        "p.length >= ?1": scope.min_length,
        "p.length <= ?1": scope.max_length,
    }
    rows = docs.tolist()
    for test, value in tests.items():
        if value is not None:
            rows = [doc for (doc,) in connection.execute(_DOCS_WHERE + test, (value, json.dumps(rows)))]
    return np.array(rows, dtype=np.int64)


def _cut(found: _Ranked, limit: int, page_ids: dict[int, str]) -> ProbeAnswer:
    pairs = zip(found.docs.tolist(), found.shared.tolist(), strict=True)
    order = sorted((-shared, page_ids[doc]) for doc, shared in pairs)
    candidates = tuple(Candidate(name, -shared) for shared, name in order[:limit])
    return ProbeAnswer(candidates, truncated=found.total > limit, capped_terms=found.capped)
