"""Large clusters with little text in common are named, by ``scan`` and ``doctor`` alike."""

import pytest

from es_dedup import Deduplicator, Page, Settings
from es_dedup.batch.stored_pages import LARGE, loose_clusters
from es_dedup.index.cluster_changes import Assignment
from es_dedup.model import Relation
from es_dedup.settings.decision import DecisionConfig
from tests.texts import article


@pytest.mark.parametrize(
    ("pages", "score", "named"),
    [(LARGE, 0.55, True), (LARGE, 0.9, False), (LARGE - 1, 0.55, False)],
    ids=["little in common", "much in common", "small"],
)
def test_a_large_cluster_with_little_in_common_is_named(pages: int, score: float, named: bool) -> None:
    with Deduplicator.open(":memory:") as dedup:
        names = [f"{at:03}" for at in range(pages)]
        dedup.scan(Page(name, text=article(at, sentences=8)) for at, name in enumerate(names))
        assert dedup.loose_clusters() == ()
        dedup._index.assign_many(
            Assignment(name, names[0], names[0], Relation.DUPLICATE, score) for name in names
        )
        assert ["000" in note for note in loose_clusters(dedup._index)] == [True] * named


@pytest.mark.parametrize(("own", "named"), [(9, True), (5, False)])
def test_a_scan_says_so(own: int, named: bool) -> None:
    shared = "".join(article(at, sentences=1) for at in range(12))
    made = [
        Page(
            f"{at:03}",
            text=shared + article(100 + at, sentences=own),
            title=shared[:14] + article(500 + at, sentences=1)[:2],
        )
        for at in range(LARGE)
    ]
    others = [
        Page(f"other-{at}", text=article(900 + at), title=article(900 + at, sentences=1))
        for at in range(LARGE)
    ]
    with Deduplicator.open(":memory:", settings=Settings(decision=DecisionConfig(preset="loose"))) as dedup:
        notes = dedup.scan([*made, *others]).notes
        assert dedup.stats()["largest_cluster"] == LARGE
    assert any("little text in common" in note for note in notes) == named
