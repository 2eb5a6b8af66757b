"""Pages that searches do not see yet: what is kept of them, for how long, and what they answer."""

from __future__ import annotations

import random

import pytest

from es_dedup.index.elastic.bulk import Result
from es_dedup.index.elastic.read_your_writes_pages import MOST_PAGES, PageWriteCache, newest_of, postings_of
from es_dedup.index.records import RecordBatch
from es_dedup.index.term_weights import ENOUGH
from es_dedup.testing.builders import random_records, record


def written(first: int, count: int, status: int = 201) -> list[Result]:
    return [Result(status, condition=(number, 1)) for number in range(first, first + count)]


def begun() -> PageWriteCache:
    """After a first write, which nothing is known to precede."""
    recent = PageWriteCache()
    assert not recent.add(RecordBatch.of([record("first")]), [0], written(0, 1))
    assert len(recent) == 0
    return recent


def batch(*names: str) -> RecordBatch:
    return RecordBatch.of([record(name, [number, 9], content_hash=7) for number, name in enumerate(names)])


class TestKept:
    def test_writes_that_follow_each_other_are_enough(self) -> None:
        recent = begun()
        assert recent.add(batch("a", "b"), [0, 1], written(1, 2))
        assert recent.add(batch("c"), [0], written(3, 1))
        assert len(recent) == 3

    @pytest.mark.parametrize(
        "results",
        [
            written(2, 2),
            written(1, 2, 200),
            [*written(1, 1), *written(3, 1)],
            written(1, 1) + written(1, 1),
        ],
        ids=["another writer before", "replaced", "another writer between", "another shard"],
    )
    def test_else_searches_have_to_be_refreshed(self, results: list[Result]) -> None:
        recent = begun()
        assert not recent.add(batch("a", "b"), [0, 1], results)
        assert len(recent) == 0

    def test_another_primary_is_noticed(self) -> None:
        assert not begun().add(batch("a"), [0], [Result(201, condition=(1, 2))])

    def test_what_searches_see_is_forgotten(self) -> None:
        recent = begun()
        recent.add(batch("a", "b"), [0, 1], written(1, 2))
        recent.add(batch("c"), [0], written(3, 1))
        recent.seen(1)
        assert len(recent) == 3
        recent.seen(newest_of({"hits": {"hits": [{"sort": [2]}]}}))
        assert recent.copies([7]) == {7: ["c"]}
        recent.seen(recent.newest())
        assert (len(recent), recent.newest()) == (0, -1)
        assert newest_of({"hits": {"hits": []}}) == -1

    def test_too_many_are_not_kept(self) -> None:
        recent = begun()
        names = [str(number) for number in range(MOST_PAGES)]
        assert recent.add(batch(*names), range(MOST_PAGES), written(1, MOST_PAGES))
        assert not recent.add(batch("more"), [0], written(MOST_PAGES + 1, 1))
        assert recent.copies([7]) == {7: ["more"]}


class TestAnswers:
    @pytest.mark.parametrize("seed", range(5))
    def test_answers_are_those_of_a_plain_count(self, seed: int) -> None:
        source = random.Random(seed)
        recent, stored = begun(), random_records(90, seed=seed, vocabulary=120)
        for start in (0, 30, 60):
            part = RecordBatch.of(stored[start : start + 30])
            assert recent.add(part, range(30), written(1 + start, 30))
        weights = [
            {term: source.choice((630, 840, 1260, ENOUGH)) for term in source.sample(range(150), 12)}
            for _ in range(40)
        ]
        left_out = [set(source.sample(sorted(asked), source.randrange(4))) for asked in weights]
        postings = postings_of(recent.parts(), sorted(set().union(*weights)))
        assert postings.counts() == {
            term: count
            for term in set().union(*weights)
            if (count := sum(term in each.terms for each in stored))
        }
        expected = []
        for asked, out in zip(weights, left_out, strict=True):
            sums = {
                each.page_id: sum(asked[term] for term in each.terms if term in asked and term not in out)
                for each in stored
            }
            expected.append({name: weight for name, weight in sums.items() if weight >= ENOUGH})
        assert any(expected)
        assert postings.answers(weights, left_out) == expected
