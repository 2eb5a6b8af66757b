"""Report of adding pages without a write: the pages among themselves, and against what is stored."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING

from es_dedup.batch.chunk_rows import changed, joined, keys_of, last_of_each
from es_dedup.batch.corpus import corpus_of
from es_dedup.batch.ingest import NAMED_SKIPPED, notes_of
from es_dedup.batch.overrides import decided_edges, load_constraints
from es_dedup.batch.recluster import LOOKUP_PAGES, page_keys
from es_dedup.batch.whole_corpus import decide_corpus
from es_dedup.batch.write_policy import StoredBatch, not_unique, outcomes_of
from es_dedup.clustering import Neighbourhood, repair
from es_dedup.decision.term_use import TermUse
from es_dedup.model import AddReport

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from es_dedup.batch.featurise import Chunk
    from es_dedup.clustering import PageKey
    from es_dedup.decision.candidate_search import CandidateSearch
    from es_dedup.decision.comparison import Pages
    from es_dedup.index.port import Assignment, Index
    from es_dedup.model import Edge, Progress
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
    failed = {name: problem for chunk in made for name, problem in chunk.failed.items()}
    if not made:
        return AddReport(read=0, stored=0, preset=settings.decision.summary)
    chunk, superseded, repeated = last_of_each(joined(made))
    known = index.get_many(chunk.records.ids)
    chunk, unchanged = changed(chunk, known)
    corpus = corpus_of(keys_of(chunk.records), chunk.table, chunk.records.named)
    new = dict.fromkeys(chunk.records.ids)
    among = decide_corpus(corpus, settings, report_progress, lookup.statistics if index.count() else None)
    beside, pairs, inconclusive, use = _beside(corpus.pages, new, lookup)
    edges = [*among.edges, *beside]
    assigned = _assigned(corpus.keys, edges, index, settings)
    edges = decided_edges(index, edges, new, new)
    decisions = not_unique(StoredBatch(new, known, inconclusive).decisions(new, edges, assigned))
    skipped = {name: why for name, why in zip(chunk.records.ids, chunk.records.skipped, strict=True) if why}
    return AddReport(
        read=sum(each.read for each in made),
        stored=len(new),
        superseded=superseded,
        repeated=repeated,
        unchanged=unchanged,
        replaced=sum(name in known for name in new),
        failed=failed,
        skipped=dict(Counter(skipped.values())),
        outcomes=outcomes_of(decisions.values(), len(new)),
        decisions=decisions,
        pairs=among.compared + pairs,
        capped_terms=among.capped_terms,
        skipped_pages=dict(islice(skipped.items(), NAMED_SKIPPED)),
        notes=notes_of(sum(each.unread_times for each in made)) + (use.notes() or among.use.notes()),
        preset=settings.decision.summary,
    )


def _beside(
    pages: Pages, new: Collection[str], lookup: CandidateSearch
) -> tuple[list[Edge], int, dict[str, str], TermUse]:
    """Edges to stored pages that are not replaced, pairs compared, inconclusive pages with the reason, and the terms queried."""
    edges: list[Edge] = []
    use = TermUse()
    pairs = 0
    inconclusive: dict[str, str] = {}
    for start in range(0, len(pages.ids), LOOKUP_PAGES):
        results = lookup.of(pages.between(start, start + LOOKUP_PAGES))
        edges += (edge for edge in results.edges() if edge.left not in new or edge.right not in new)
        pairs += results.pairs
        inconclusive |= {results.pages.ids[row]: why for row, why in results.inconclusive.items()}
        use = sum(results.use, use)
    return edges, pairs, inconclusive, use


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
