"""Answers probes: weighs shared terms per page, applies the scope, ranks and cuts."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from es_dedup.index.embedded import names, postings
from es_dedup.index.weighing import ENOUGH, by_frequency, common_of, weights_of
from es_dedup.model import Candidate, ProbeAnswer

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from es_dedup.index.embedded.tree import Trees
    from es_dedup.model import Probe, Scope

_Weighed: TypeAlias = "tuple[NDArray[np.int64], NDArray[np.int64]]"
PROBES_PER_LOOKUP: Final = 256  # bounds memory; postings of a lookup are held at once

_DOCS_WHERE: Final = "SELECT p.doc FROM json_each(?2) AS d CROSS JOIN pages AS p ON p.doc = d.value WHERE "


@dataclass(frozen=True, slots=True)
class _Ranked:
    """Pages that answer one probe and may be among its candidates; ``total`` counts all that answer."""

    docs: NDArray[np.int64]
    weights: NDArray[np.int64]
    total: int
    capped: int


def probe_many(connection: sqlite3.Connection, probes: Sequence[Probe], trees: Trees) -> list[ProbeAnswer]:
    """One answer per probe, in order; see ``FeatureIndex.probe_many``."""
    answers: list[ProbeAnswer] = []
    for start in range(0, len(probes), PROBES_PER_LOOKUP):
        answers += _answer(connection, probes[start : start + PROBES_PER_LOOKUP], trees)
    return answers


def _answer(connection: sqlite3.Connection, probes: Sequence[Probe], trees: Trees) -> list[ProbeAnswer]:
    by_tree = [_of_trees(connection, probe, trees) for probe in probes]
    probes = [
        replace(probe, groups=tuple(group for group in probe.groups if not group.tree))
        if any(group.tree for group in probe.groups)
        else probe
        for probe in probes
    ]
    ranked: list[_Ranked | None] = [None] * len(probes)
    excluded = names.docs_by_id(connection, [probe.exclude for probe in probes if probe.exclude is not None])
    for cap in sorted({probe.max_df for probe in probes}):
        places = [place for place, probe in enumerate(probes) if probe.max_df == cap]
        lookup = _Lookup(connection, [probes[place] for place in places], cap)
        for place in places:
            probe = probes[place]
            ranked[place] = _rank(
                connection, lookup, probe, excluded.get(probe.exclude or "", -1), by_tree[place]
            )
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

    def counts(self, terms: Iterable[int]) -> dict[int, int]:
        """How many pages carry each of the terms; none of those that were left out."""
        slices = ((term, self._slices[self._at[term]]) for term in terms)
        return {term: end - start for term, (start, end) in slices}

    def capped(self, terms: set[int]) -> int:
        """How many of the terms were left out."""
        return int(self._capped[[self._at[term] for term in terms]].sum()) if terms else 0


def _of_trees(connection: sqlite3.Connection, probe: Probe, trees: Trees) -> list[_Weighed]:
    """Pages that trees find, and what their terms weigh, for each group that asks so."""
    found = []
    for group in probe.groups:
        if group.tree:
            docs, shared = trees.find(connection, group)
            found.append((docs, shared * -(-ENOUGH // max(1, group.min_shared))))
    return found


def _joined(parts: Sequence[_Weighed]) -> _Weighed:
    """Pages of several lists, ascending, with their weights added up."""
    docs, place = np.unique(np.concatenate([docs for docs, _ in parts]), return_inverse=True)
    every = np.concatenate([weights for _, weights in parts])
    return docs, np.bincount(place, weights=every, minlength=len(docs)).astype(np.int64)


def _rank(
    connection: sqlite3.Connection, lookup: _Lookup, probe: Probe, excluded: int, by_tree: Sequence[_Weighed]
) -> _Ranked:
    asked, common = weights_of(probe), common_of(probe)
    asked = by_frequency(asked, common, lookup.counts(common)) if common else asked
    docs, weights = _weighed(lookup, asked)
    if by_tree:
        docs, weights = _joined([(docs, weights), *by_tree])
    keep = (weights >= ENOUGH) & (docs != excluded)
    docs, weights = docs[keep], weights[keep]
    if probe.scope is not None and len(docs):
        inside = np.isin(docs, _inside(connection, docs, probe.scope), assume_unique=True)
        docs, weights = docs[inside], weights[inside]
    total = len(docs)
    if total > probe.limit:
        # Ids decide between equal weights, so all pages that weigh as much as the last candidate stay in.
        least = np.partition(weights, total - probe.limit)[total - probe.limit]
        docs, weights = docs[weights >= least], weights[weights >= least]
    return _Ranked(docs, weights, total, lookup.capped(set(asked)))


def _weighed(lookup: _Lookup, asked: Mapping[int, int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pages that share a term, ascending, and what their terms weigh together."""
    by_weight: dict[int, set[int]] = {}
    for term, weight in asked.items():
        by_weight.setdefault(weight, set()).add(term)
    found = [(weight, lookup.docs(terms)) for weight, terms in by_weight.items()]
    every = np.concatenate([docs for _, docs in found]) if found else np.empty(0, dtype=np.int64)
    each = np.repeat(
        np.array([weight for weight, _ in found], dtype=np.int64), [len(docs) for _, docs in found]
    )
    docs, place = np.unique(every, return_inverse=True)
    return docs, np.bincount(place, weights=each, minlength=len(docs)).astype(np.int64)


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
    pairs = zip(found.docs.tolist(), found.weights.tolist(), strict=True)
    order = sorted((-weight, page_ids[doc]) for doc, weight in pairs)
    candidates = tuple(Candidate(name, -weight / ENOUGH) for weight, name in order[:limit])
    return ProbeAnswer(candidates, truncated=found.total > limit, capped_terms=found.capped)
