"""What other decision settings would change, on labelled and on stored pairs, before anything is written."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from es_dedup.evaluation.uncertain import sampled
from es_dedup.model import Edge, Relation
from es_dedup.model.annotations import Label
from es_dedup.model.batches import chunked

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from es_dedup.batch.whole_corpus import ReclusterReport
    from es_dedup.deduplicator.deduplicator import Deduplicator
    from es_dedup.evaluation.labels import LabelledPair, Pair
    from es_dedup.settings import Settings

PAGES: Final = 64  # compared at a time
SEED: Final = 1


@dataclass(frozen=True, slots=True)
class PairChange:
    """A pair that would be decided otherwise; ``left`` < ``right``, relations are seen from ``left``."""

    left: str
    right: str
    before: Relation
    after: Relation

    @property
    def step(self) -> int:
        """1: the two would be joined, -1: parted, 0: neither, only the relation of pages that are not the same changes."""
        return self.after.same - self.before.same


@dataclass(frozen=True, slots=True)
class LabelChange:
    """Labelled pairs of one label: all, and those merged before and after the change."""

    label: Label
    pairs: int
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class SettingsChange:
    """What other settings would change.

    Attributes:
        stored: pages of the index.
        pages: of them, those whose candidates were compared; fewer than ``stored``: a random draw.
        pairs: compared with the settings in force.
        changed: pairs of these pages that would be decided otherwise, by ids.
        clusters: clusters as they are stored now that a page of a joined or parted pair is in, ascending.
        concerned: pages among ``pages`` with a joined or parted pair.
        recluster: counts of reclustering everything, where all pages were compared; else None.
        labels: by label, of the labelled pairs whose pages are stored.
        labelled: of the labelled pairs those that would be decided otherwise.
    """

    stored: int
    pages: int
    pairs: int
    changed: Sequence[PairChange]
    clusters: Sequence[str]
    concerned: int
    recluster: ReclusterReport | None
    labels: Sequence[LabelChange]
    labelled: Sequence[PairChange]


def settings_change(
    dedup: Deduplicator, changes: Mapping[str, Any], labels: Sequence[LabelledPair], most: int
) -> SettingsChange:
    """Compare the settings in force with others; nothing is written.

    Pairs are decided by the statistics that are stored; reclustering learns them anew, which ``recluster`` counts, too.

    Args:
        dedup: an index whose pages are clustered; may be open for reading.
        changes: other values of decision settings, by dotted name.
        labels: labelled pairs; those with a page that is not stored are passed over.
        most: pages that are compared with their candidates; of more, a random draw of this size.

    Raises:
        ConfigError: see ``IndexReader.settings_with``.
    """
    settings = dedup.settings_with({}), dedup.settings_with(changes)
    pages, stored = sampled(dedup, most, SEED), dedup.count()
    changed, pairs = _of_pages(dedup, pages, settings)
    concerned = {page for each in changed if each.step for page in (each.left, each.right)}
    by_label, labelled = _of_labels(dedup, labels, settings)
    return SettingsChange(
        stored=stored,
        pages=len(pages),
        pairs=pairs,
        changed=changed,
        clusters=sorted(set(dedup.cluster_ids(concerned).values())),
        concerned=len(concerned.intersection(pages)),
        recluster=dedup.recluster(dry_run=True, settings=settings[1]) if len(pages) == stored else None,
        labels=by_label,
        labelled=labelled,
    )


def _of_pages(
    dedup: Deduplicator, pages: Sequence[str], settings: tuple[Settings, Settings]
) -> tuple[list[PairChange], int]:
    """Changed pairs of these pages, and how many pairs were compared."""
    sides: tuple[dict[Pair, Relation], dict[Pair, Relation]] = ({}, {})
    pairs = 0
    for some in chunked(pages, PAGES):
        (before, compared), (after, _) = (dedup.related_pairs(some, each) for each in settings)
        pairs += compared
        for side, edges in zip(sides, (before, after), strict=True):
            side.update(_relations(edges))
    return _differences(*sides), pairs


def _of_labels(
    dedup: Deduplicator, labels: Sequence[LabelledPair], settings: tuple[Settings, Settings]
) -> tuple[list[LabelChange], list[PairChange]]:
    stored = dedup.cluster_ids({name for each in labels for name in each.pair})
    known = [each for each in labels if set(each.pair) <= stored.keys()]
    sides = [_relations(dedup.related_among([each.pair for each in known], one)) for one in settings]
    counts = Counter(each.label for each in known)
    same = [
        Counter(each.label for each in known if each.pair in side and side[each.pair].same) for side in sides
    ]
    by_label = [
        LabelChange(label, counts[label], same[0][label], same[1][label]) for label in Label if counts[label]
    ]
    return by_label, _differences(*sides)


def _relations(edges: Iterable[Edge]) -> dict[Pair, Relation]:
    return {(each.left, each.right): each.relation for each in edges}


def _differences(before: Mapping[Pair, Relation], after: Mapping[Pair, Relation]) -> list[PairChange]:
    none = Relation.DIFFERENT
    changes = (
        PairChange(*pair, before.get(pair, none), after.get(pair, none))
        for pair in sorted(before.keys() | after.keys())
    )
    return [each for each in changes if each.before != each.after]
