"""Candidate pairs by a self-join of terms: the joins of ``join_methods``, counted and filtered by their rules.

Pages are named by their rank in canonical order, so the first postings of a term are those of the smallest numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from es_dedup.batch.columns import Column
from es_dedup.batch.corpus import Weighing
from es_dedup.batch.join import (
    MAX_POSTINGS,
    PostingLists,
    TermJoin,
    answering,
    equal_pairs,
    join_methods,
    rows_of,
)
from es_dedup.batch.join import Hits as Counted
from es_dedup.detectors.features import unpack
from es_dedup.spark import tables
from es_dedup.spark.batches import batch_of, lists, mapped, numbers, ragged, signed, whole_runs
from es_dedup.text.ragged import offsets_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from pyspark import Broadcast
    from pyspark.sql import DataFrame

    from es_dedup.decision.statistics import Statistics
    from es_dedup.settings import Settings

    Batches = Iterable[pa.RecordBatch]
    Made = Iterator[pa.RecordBatch]

POSTINGS: Final = 500_000  # rows of terms joined at a time
COPIES_ROWS: Final = 100_000  # rows of whole texts ordered at a time


def candidates(rows: DataFrame, settings: Settings, statistics: Broadcast[Statistics]) -> DataFrame:
    """Pairs to compare, each once, the smaller rank on the left: ``tables.CANDIDATES``.

    Args:
        rows: ``rank``, ``content_hash``, ``payload`` and ``fresh`` of all pages; pairs without a fresh page are left out.
        settings: which methods query.
        statistics: what is template brings no pages together.
    """
    text = F.when(F.col("content_hash") == 0, F.col("rank")).otherwise(F.col("content_hash"))
    hashes = (
        rows.select("rank", "content_hash", "fresh").repartition(text).sortWithinPartitions("content_hash")
    )
    copies = mapped(hashes, _copies, tables.COPIES).persist()
    known = rows.select("rank", "payload", "fresh").join(copies.select("rank", "answering"), "rank")
    terms = mapped(known, _terms, tables.TERMS, settings, statistics)
    facts = mapped(rows.select("rank", "payload"), _facts, tables.FACTS, settings, statistics)
    by_term = terms.repartition("method", "term").sortWithinPartitions("method", "term", "rank")
    hits = mapped(by_term, _hits, tables.HITS, settings)
    # most pairs share one term by chance: they go before facts are joined to them
    counted = (
        hits.groupBy("method", "query", "stored")
        .agg(F.sum("shared").alias("shared"), F.max("needed").alias("needed"))
        .where("shared >= needed")
        .drop("needed")
    )
    of_query = facts.select("method", F.col("rank").alias("query"), F.col("facts").alias("query_facts"))
    of_stored = facts.withColumnsRenamed(
        {"stored": "stored_terms", "rank": "stored", "facts": "stored_facts"}
    )
    with_facts = counted.join(of_query, ["method", "query"]).join(of_stored, ["method", "stored"])
    found = mapped(with_facts, _approved, tables.CANDIDATES, settings)
    equal = copies.where("leader >= 0").selectExpr("leader AS left", "rank AS right")
    return found.union(equal).distinct()


def _copies(batches: Batches) -> Made:
    """Which copies of a text answer, and the first copy of each other one; -1: none, or both are known."""
    for batch in whole_runs(batches, ("content_hash",), COPIES_ROWS):
        ranks, hashes = numbers(batch, "rank"), numbers(batch, "content_hash").view(np.uint64)
        fresh = numbers(batch, "fresh")
        order = np.argsort(ranks)  # rows in canonical order: places among them are ranks
        ranks, hashes, fresh = ranks[order], hashes[order], fresh[order]
        place = np.arange(len(ranks))
        pairs = equal_pairs(hashes, place)
        leader = np.full(len(ranks), -1, dtype=np.int64)
        first, other = rows_of(pairs)
        asked = fresh[first] | fresh[other]
        leader[other[asked]] = ranks[first[asked]]
        yield batch_of(rank=ranks, answering=answering(hashes, place), leader=leader)


def _terms(settings: Settings, statistics: Broadcast[Statistics], batches: Batches) -> Made:
    """Terms queried and stored; of copies that do not answer only those queried."""
    weigh, methods = Weighing(lambda: statistics.value), join_methods(settings)
    for batch in batches:
        table = unpack(batch.column("payload").to_pylist())
        ranks, answers, fresh = (numbers(batch, name) for name in ("rank", "answering", "fresh"))
        for number, method in enumerate(methods):
            terms = method.terms(table, weigh)
            sides = [(terms.queried, terms.query_counts, method.own)]
            if not method.own:
                sides.append((terms.stored, terms.stored_counts, True))
            for side, (values, counts, stored) in enumerate(sides):
                keep = np.repeat(answers, counts) if side else np.ones(len(values), dtype=np.bool_)
                owners = np.repeat(ranks, counts)[keep]
                rows = len(owners)
                facts = terms.facts[:, -side]  # of query rows the first one, of stored rows the last one
                yield batch_of(
                    method=np.full(rows, number, dtype=np.int8),
                    term=signed(values)[keep],
                    rank=owners,
                    queried=np.full(rows, side == 0),
                    stored=np.repeat(answers, counts)[keep] if stored else np.zeros(rows, dtype=np.bool_),
                    fresh=np.repeat(fresh, counts)[keep],
                    fact=signed(np.repeat(facts, counts)[keep]),
                )


def _facts(settings: Settings, statistics: Broadcast[Statistics], batches: Batches) -> Made:
    """What rules have to know of each page."""
    weigh, methods = Weighing(lambda: statistics.value), join_methods(settings)
    for batch in batches:
        table = unpack(batch.column("payload").to_pylist())
        for number, method in enumerate(methods):
            terms = method.terms(table, weigh)
            kept, counts = terms.stored, terms.stored_counts
            if method.own:  # their rules do not ask for the terms
                kept, counts = kept[:0], np.zeros_like(counts)
            rows, width = terms.facts.shape
            yield batch_of(
                method=np.full(rows, number, dtype=np.int8),
                rank=numbers(batch, "rank"),
                facts=lists(terms.facts.ravel(), np.full(rows, width)),
                stored=lists(kept, counts),
            )


def _hits(settings: Settings, batches: Batches) -> Made:
    """Counted pairs of some terms."""
    methods = join_methods(settings)
    for batch in term_runs(batches, POSTINGS):
        names = ("method", "term", "rank", "queried", "stored", "fresh", "fact")
        which, terms, ranks, queried, stored, fresh, facts = (numbers(batch, name) for name in names)
        for number, method in enumerate(methods):
            mine = which == number
            if not fresh.all():
                mine &= np.isin(terms, terms[mine & fresh])
            known, owners = np.unique(ranks[mine], return_inverse=True)
            values = terms[mine].view(np.uint64).astype(method.kind)
            asks, answers = queried[mine], stored[mine]
            lists_ = PostingLists(np.arange(len(known)), np.ones(len(known), dtype=np.bool_))
            join = TermJoin(values[answers], owners[answers], lists_, method.bits, least=method.least)
            asked = np.zeros(len(known), dtype=np.bool_)
            asked[owners] = fresh[mine]
            given = facts[mine].view(np.uint64)
            of_query, of_stored = np.zeros((2, len(known)), dtype=np.uint64)
            of_query[owners[asks]], of_stored[owners[answers]] = given[asks], given[answers]
            fact = np.zeros((len(known), 1), dtype=np.uint64)
            fact[owners, 0] = given
            values, owners = values[asks], owners[asks]
            order = np.argsort(owners, kind="stable")
            for counted in join.run(values[order], offsets_of(owners[order], len(known))):
                hits = counted
                if method.by_fact:  # most pairs share a band by chance
                    low, high = rows_of(method.keys(counted, fact, Column(None, "", method.kind)))
                    hits = Counted(low, high, np.ones_like(low))
                some = np.flatnonzero(asked[hits.query] | asked[hits.stored])
                needed = method.needed(of_query[hits.query[some]], of_stored[hits.stored[some]])
                yield batch_of(
                    method=np.full(len(some), number, dtype=np.int8),
                    query=known[hits.query[some]],
                    stored=known[hits.stored[some]],
                    shared=hits.shared[some],
                    needed=needed.astype(np.int8),
                )


def term_runs(batches: Batches, most: int) -> Made:
    """Terms in pieces of about ``most`` rows, ordered by method, term and rank.

    A term of more rows is cut: later pieces begin with its first ``MAX_POSTINGS`` stored rows again, which are all that can answer, and which
    query nothing there.
    """
    return whole_runs(batches, ("method", "term"), most, _answering_rows)


def _answering_rows(run: pa.RecordBatch) -> pa.RecordBatch | None:
    """The rows of a term that answer, if no later ones can."""
    answers = np.flatnonzero(numbers(run, "stored"))[:MAX_POSTINGS]
    if len(answers) < MAX_POSTINGS:
        return None
    columns = dict(zip(run.schema.names, run.take(answers).columns, strict=True))
    return batch_of(**columns | {"queried": np.zeros(MAX_POSTINGS, dtype=np.bool_)})


def _approved(settings: Settings, batches: Batches) -> Made:
    """Counted pairs of which the rule of their method approves."""
    methods = join_methods(settings)
    for batch in batches:
        which = numbers(batch, "method")
        for number, method in enumerate(methods):
            mine = batch.take(np.flatnonzero(which == number))
            if not mine.num_rows:
                continue
            facts = np.concatenate([ragged(mine, f"{side}_facts")[0] for side in ("query", "stored")])
            values, counts = ragged(mine, "stored_terms")
            kept = Column(None, "", method.kind)
            # rows of the pairs' query pages come first, then those of their stored pages
            kept.add(values.astype(method.kind), np.concatenate((np.zeros_like(counts), counts)))
            place = np.arange(mine.num_rows)
            hits = Counted(place, place + mine.num_rows, numbers(mine, "shared"))
            pair, _ = rows_of(method.keys(hits, facts.view(np.uint64).reshape(2 * mine.num_rows, -1), kept))
            query, stored = numbers(mine, "query")[pair], numbers(mine, "stored")[pair]
            yield batch_of(left=np.minimum(query, stored), right=np.maximum(query, stored))
