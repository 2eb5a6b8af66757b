"""What readers say of pairs, on the embedded index and on Elasticsearch: kept beside decisions, and lost by nothing."""

import json

import pytest

from es_dedup import Deduplicator, Relation, Settings
from es_dedup.batch.annotations import read_jsonl
from es_dedup.errors import InputError, InvalidAnnotation, UnknownPage
from es_dedup.evaluation.uncertain import sampled
from es_dedup.model.annotations import Label
from tests.samples import partition, story

ALONE = Settings(workers=1)


def test_labels_are_kept_and_change_no_cluster(place: str) -> None:
    with Deduplicator.open(place, settings=ALONE) as dedup:
        dedup.scan([*(story(seed) for seed in range(3)), story(0, "copy", day=2)])
        clusters = partition(dedup)
        assert dedup.annotate("story-0", "copy", Label.DIFF, reader="mz").pair == ("copy", "story-0")
        dedup.annotate("copy", "story-0", Label.DUP, reader="mz")
        first = dedup.annotate("copy", "story-0", Label.CONTAIN, reader="al")
        assert first.relation in (Relation.CONTAINS, Relation.CONTAINED)
        assert [(each.label, each.reader) for each in dedup.annotations()] == [
            (Label.DUP, "mz"),
            (Label.CONTAIN, "al"),
        ]
        for left, right, reader in (("copy", "copy", "mz"), ("copy", "story-0", " "), ("copy", "a", "mz")):
            with pytest.raises((InvalidAnnotation, UnknownPage)):
                dedup.annotate(left, right, Label.DUP, reader=reader)
        with pytest.raises(InvalidAnnotation):
            dedup.annotate("copy", "story-0", Label.DUP, reader="\ud800")
        with pytest.raises(InvalidAnnotation, match="reader has 1,001 characters"):
            dedup.annotate("copy", "story-0", Label.DUP, reader="r" * 1_001)
        line = json.dumps(first.as_dict() | {"time": "yesterday"})
        with pytest.raises(InputError, match=r"labels:1: no label .*yesterday"):
            dedup.import_annotations(read_jsonl([line], "labels"))
        assert dedup.remove_annotation("story-0", "copy", reader="al")
        assert not dedup.remove_annotation("story-0", "copy", reader="al")
        kept = dedup.annotations()
        assert len(kept) == 1
        dedup.recluster()
        assert (dedup.annotations(), partition(dedup)) == (kept, clusters)
        assert sorted(dedup.page_ids()) == ["copy", "story-0", "story-1", "story-2"]
        assert sampled(dedup, 2, seed=1) == sampled(dedup, 2, seed=1)
        assert len(sampled(dedup, 2, seed=1)) == 2
        assert sorted(sampled(dedup, 9, seed=1)) == sorted(dedup.page_ids())
    with Deduplicator.open(place, settings=ALONE) as dedup:
        assert dedup.annotations() == kept
