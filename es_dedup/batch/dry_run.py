"""Report of adding pages without a write: the pages among themselves, and against what is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from es_dedup.batch.add_counts import AddCounts
from es_dedup.batch.clusters import LOOKUP_PAGES, page_keys
from es_dedup.batch.corpus import corpus_of
from es_dedup.batch.featurise import changed, joined, keys_of, last_of_each
from es_dedup.batch.overrides import decided_edges, load_constraints
from es_dedup.batch.whole_corpus import decide_corpus
from es_dedup.batch.write_policy import StoredBatch, not_unique
from es_dedup.clustering import Neighbourhood, repair

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from es_dedup.batch.featurise import Chunk
    from es_dedup.clustering import PageKey
    from es_dedup.decision.candidate_search import CandidateSearch
    from es_dedup.decision.comparison import Pages
    from es_dedup.index.cluster_changes import Assignment
    from es_dedup.index.port import Index
    from es_dedup.model import AddReport, Edge, Progress
    from es_dedup.settings import Settings


def dry_run_report(
    made: Sequence[Chunk],
    index: Index,
    settings: Settings,
    lookup: CandidateSearch,
    report_progress: Callable[[Progress], None],
) -> AddReport:
    """The report that adding would give, but that stored canonical documents are taken to stay.

    Args:
        made: features of all pages.
        index: what is stored; it is only read.
        settings: detectors and canonical order.
        lookup: finds and compares stored pages. Those of the given pages are learned where nothing is stored.
        report_progress: called with the progress.
    """
    counts = AddCounts()
    if not made:
        return counts.report(settings.decision.summary)
    for each in made:
        counts.add_read(each)
    chunk, counts.superseded, counts.repeated = last_of_each(joined(made))
    known = index.get_many(chunk.records.ids)
    chunk, counts.unchanged = changed(chunk, known)
    counts.add_stored(chunk.records, known.keys() & chunk.records.ids)
    corpus = corpus_of(keys_of(chunk.records), chunk.table, chunk.records.named)
    new = counts.new
    among = decide_corpus(corpus, settings, report_progress, lookup.statistics if index.count() else None)
    edges = [*among.edges, *_beside(corpus.pages, lookup, counts)]
    counts.truncated = 0
    counts.pairs += among.compared
    counts.capped_terms = among.capped_terms
    counts.use = counts.use if counts.use.notes() else among.use
    assigned = _assigned(corpus.keys, edges, index, settings)
    edges = decided_edges(index, edges, new, new)
    stored = StoredBatch(new, known, counts.inconclusive)
    counts.add_decided(not_unique(stored.decisions(new, edges, assigned)), {})
    return counts.report(settings.decision.summary)


def _beside(pages: Pages, lookup: CandidateSearch, counts: AddCounts) -> list[Edge]:
    """Edges to stored pages that are not replaced; what is compared is counted."""
    edges: list[Edge] = []
    for start in range(0, len(pages.ids), LOOKUP_PAGES):
        results = lookup.of(pages.between(start, start + LOOKUP_PAGES))
        edges += (
            edge for edge in results.edges() if edge.left not in counts.new or edge.right not in counts.new
        )
        counts.add_compared(results)
    return edges


def _assigned(
    keys: Sequence[PageKey], edges: Sequence[Edge], index: Index, settings: Settings
) -> dict[str, Assignment]:
    """Where the pages would be placed, each at the canonical document it agrees with most; stored pages stay."""
    constraints = load_constraints(index)
    new = {key.page_id for key in keys}
    others = {name for edge in edges for name in (edge.left, edge.right)} | constraints.with_units(new)
    others |= {name for page_id in new for name in constraints.apart.get(page_id, ())}
    current = index.assignments(others - new)
    current |= index.assignments({each.canonical for each in current.values()} - new)
    keys = [*keys, *page_keys(index, current).values()]
    near = Neighbourhood(tuple(keys), tuple(edges), current, constraints)
    change = repair(near, settings.cluster, loose=new)
    return {each.page_id: each for each in change.assignments}
