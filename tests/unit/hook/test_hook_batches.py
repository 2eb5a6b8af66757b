"""What the hook makes of actions before any server is asked: items, batches, features of poisonous pages."""

from __future__ import annotations

import json
import threading
import uuid
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from elasticsearch.helpers import BULK_FLUSH
from hypothesis import given
from hypothesis import strategies as st

from es_dedup import Page, Settings
from es_dedup.batch.learning import store_statistics
from es_dedup.decision.statistics import Statistics
from es_dedup.hook import DedupHook, SourceFields
from es_dedup.hook.bulk import batches
from es_dedup.hook.decide_and_write import BatchDecider
from es_dedup.hook.documents import Batch, item_of
from es_dedup.hook.run import Run
from es_dedup.index import factory
from es_dedup.index.embedded import EmbeddedIndex
from es_dedup.index.source_index import DedupField
from es_dedup.settings.recorded import STATISTICS
from scripts.template_sets import function_calls
from tests.hooked import Inline
from tests.texts import article

if TYPE_CHECKING:
    from collections.abc import Callable

NOBODY: Any = None
HOOK = DedupHook(EmbeddedIndex(":memory:", features={}), NOBODY, SourceFields("text"), Settings())


def run(chunk_size: int = 3, **options: Any) -> Run:
    """A call whose hook is never asked."""
    return Run(HOOK, "mark", None, chunk_size, options)


class TestItems:
    def test_places_come_from_the_action_or_from_the_call(self) -> None:
        named = item_of({"index": {"_index": "a", "_id": 7, "routing": "r/1"}}, {"x": 1}, {"index": "b"})
        assert (named.page_id, named.target) == ("a?r%2F1/7", "a")
        assert item_of({"create": {"_id": "x"}}, {}, {"index": "b", "routing": "q"}).page_id == "b?q/x"

    def test_a_document_without_id_is_given_one_of_its_own(self) -> None:
        items = [item_of({"index": {}}, b'{"x": 1}', {"index": "i"}) for _ in range(50)]
        assert len({item.page_id for item in items}) == 50
        assert items[0].action == ({"index": {"_id": items[0].key.id}}, b'{"x": 1}')

    @pytest.mark.parametrize(
        ("action", "body", "problem"),
        [
            ({"index": {}}, {}, "index"),
            ({"index": {"_index": "i"}}, "[1]", "object"),
            ({"index": {"_index": "i", "_id": 1}}, None, "object"),
            ({"index": {"_index": "i", "_id": ""}}, {}, "empty _id"),
            ({"index": {"_index": "i", "_id": "x" * 520}}, {}, "511 bytes"),
            ({"index": {"_index": "i", "_id": "\ud800"}}, {}, "surrogate"),
            ({"index": {"_index": "i", "_id": ["\ud800"]}}, {}, "no simple value"),
            ({"index": {"_index": "i", "_id": "1", "routing": "\ud800"}}, {}, "surrogate"),
            ({"index": {"_index": "i", "_id": [1]}}, {}, "simple"),
            ({"delete": {"_index": "i"}}, None, "_id"),
            ({"upsert": {"_index": "i", "_id": 1}}, {}, "no operation"),
            ({"index": {"_index": "i"}}, "{", "object"),
            ({"index": {"_index": "i"}}, '{"a":\n1}', "object"),
        ],
    )
    def test_what_is_no_page_is_sent_as_it_was_given(self, action: Any, body: Any, problem: str) -> None:
        item = item_of(action, body, {})
        assert problem in item.problem
        assert item.page_id  # it is reported
        head, sent = item.action
        assert sent is body
        assert next(iter(head.values())).items() >= next(iter(action.values())).items()

    @pytest.mark.parametrize(
        ("given", "name"),
        [
            (7, "7"),
            (0, "0"),
            (1.5, "1.5"),
            (1e22, "1e+22"),
            (True, "true"),
            (uuid.UUID(int=3), str(uuid.UUID(int=3))),
        ],
    )
    def test_an_id_is_what_the_server_reads(self, given: Any, name: str) -> None:
        item = item_of({"index": {"_id": given, "routing": given}}, {}, {"index": "i"})
        assert (item.key.id, item.key.routing, item.head["_id"]) == (name, name, given)

    def test_json_keeps_its_digits(self) -> None:
        item = item_of({"index": {"_index": "i", "_id": 1}}, '{"n": 1.000000000000000000001} ', {})
        item.dedup_field = DedupField("c", canonical=True, relation="unique")
        sent = bytes(item.action[1])
        assert sent.startswith(b'{"n": 1.000000000000000000001, "dedup": {')
        assert json.loads(sent)["dedup"]["cluster_id"] == "c"
        empty = item_of({"index": {"_index": "i", "_id": 1}}, "{ }", {})
        empty.dedup_field = item.dedup_field
        assert json.loads(bytes(empty.action[1])).keys() == {"dedup"}

    def test_a_left_out_page_rests_on_what_it_duplicates_or_is_in(self) -> None:
        item = item_of({"index": {"_index": "i", "_id": "1"}}, {}, {})
        item.kept, item.because = False, {"i/2", "i/3"}
        assert item.rests_on(["i/2", "i/3", "i/9"])
        assert not item.rests_on(["i/3"])
        batch = Batch([item])
        assert (batch.written([]), batch.to_read([])) == (set(), ["i/1"])


class TestBatches:
    def test_one_id_comes_once_in_a_batch(self) -> None:
        actions = [{"_index": "i", "_id": name, "text": "x"} for name in "aabca"]
        made = [[item.key.id for item in items] for items in batches(actions, run())]
        assert made == [["a"], ["a", "b"], ["c", "a"]]  # chunks of three, the first one cut in two

    def test_documents_of_one_id_are_not_independent_whatever_names_their_index(self) -> None:
        actions = [
            {"_index": index, "_id": name, "text": "x"}
            for index, name in (("i", "a"), ("alias", "a"), ("i", "b"))
        ]
        by_index, by_alias, other = batches(actions, run(1))
        assert not run().independent(by_alias, by_index)
        assert run().independent(other, by_alias)

    def test_a_batch_ends_at_its_bytes_and_at_the_mark_for_it(self) -> None:
        actions: list[Any] = [{"_index": "i", "_id": str(n), "text": "x" * 800} for n in range(3)]
        assert [len(each) for each in batches(actions, run(9, max_chunk_bytes=1000))] == [1, 1, 1]
        marked: list[Any] = [actions[0], BULK_FLUSH, *actions[1:]]
        assert [len(each) for each in batches(marked, run(9))] == [1, 2]

    @given(st.lists(st.sampled_from("abcd"), max_size=30), st.integers(1, 5))
    def test_nothing_is_lost_or_turned_around(self, names: list[str], size: int) -> None:
        made = list(batches(({"_index": "i", "_id": name, "text": "x"} for name in names), run(size)))
        assert [item.key.id for items in made for item in items] == names
        assert all(len({item.key.id for item in items}) == len(items) <= size for items in made)

    def test_a_time_after_which_a_batch_ends_is_refused(self) -> None:
        with pytest.raises(ValueError, match="BULK_FLUSH"):
            run(flush_after_seconds=5)


class TestResults:
    def test_later_decisions_know_no_policy(self) -> None:
        with EmbeddedIndex(":memory:", features={}) as index:
            hook = DedupHook(index, NOBODY, SourceFields("text"))
            hook.dispatcher = Inline(hook)
            with pytest.raises(ValueError, match="mark"):
                hook.process([{"_index": "i", "text": "x"}], policy="skip")


def test_a_page_that_breaks_an_extractor_does_not_stop_the_others() -> None:
    class Brittle:
        def extract(self, html: object, **_: object) -> object:
            raise RecursionError(str(html)[:10])

    decider = BatchDecider(EmbeddedIndex(":memory:", features={}), Settings())
    decider._extractor = Brittle()  # type: ignore[assignment]
    made = decider.featurise([Page("a", text="one. two."), Page("bad", html="<p>"), Page("c", text="x")])
    assert made.records.ids == ["a", "c"]
    assert list(made.failed) == ["bad"]
    assert decider.featurise([Page("bad", html="<p>")]).failed.keys() == {"bad"}


@pytest.mark.parametrize("size", [50, 3])
def test_the_first_batch_of_an_index_teaches_its_templates(size: int) -> None:
    pages = [Page(f"i/{at:03}", text=text) for at, text in enumerate(list(function_calls(150))[100:])]
    with closing(factory.open_index(":memory:", Settings())) as index:
        decider = BatchDecider(index, Settings())
        for at in range(0, len(pages), size):
            decider.decide(decider.featurise(pages[at : at + size]))
        assert {each.canonical for each in index.assignments([page.id for page in pages]).values()} == {
            page.id for page in pages
        }


def test_statistics_of_another_process_are_not_overwritten(monkeypatch: pytest.MonkeyPatch) -> None:
    """It stores them between the look at the note and the own write, if it can."""
    other = replace(Statistics.empty(), pages=7)
    with closing(factory.open_index(":memory:", Settings())) as index:

        def store() -> None:
            with index.writing():
                store_statistics(index, other, other.to_bytes(), Settings())

        note, writers = index.note, [threading.Thread(), threading.Thread(target=store)]

        def slow_note(name: str) -> str | None:
            before = note(name)
            if name == STATISTICS and writers:  # the second time it is about to write
                (writer := writers.pop(0)).start()
                writer.join(0.2)
                started.append(writer)
            return before

        started: list[threading.Thread] = []
        monkeypatch.setattr(index, "note", slow_note)
        pages = [Page(f"i/{at}", text=article(at, sentences=9)) for at in range(5)]
        decider = BatchDecider(index, Settings())
        decider.find(decider.featurise(pages))
        assert len(started) == 2
        started[1].join()
        assert Statistics.from_bytes(index.load_statistics() or b"").pages == other.pages


@pytest.mark.parametrize("canonical", [True, False])
def test_what_a_killed_writer_has_replaced_is_decided_on_again(canonical: bool) -> None:
    """Its features are those of the document that is written again, and its cluster is that of the version before."""
    one, other = (article(at, sentences=12) for at in range(2))
    pages = [Page("a", text=one), Page("b", text=one), Page("c", text=other), Page("d", text=one)]
    replaced = Page("a" if canonical else "b", text=other)
    with closing(factory.open_index(":memory:", Settings())) as index:
        decider = BatchDecider(index, Settings())
        decider.decide(decider.featurise(pages))
        decider.find(decider.featurise([replaced]))  # and it is killed
        later = BatchDecider(index, Settings())
        decided = later.decide(later.featurise([replaced]))
        groups = {frozenset(each.page_id for each in group) for group in index.clusters()}
        assert groups == {frozenset(("c", replaced.id)), frozenset("abd").difference(replaced.id)}
        assert (list(decided.unchanged), list(decided.decisions)) == ([], [replaced.id])
        assert list(later.decide(later.featurise([replaced])).unchanged) == [replaced.id]


def _removes_the_canonical_document(decider: BatchDecider) -> None:
    decider.remove(["a"], lambda names: [])


def _sends_another_page_of_the_cluster_again(decider: BatchDecider) -> None:
    decider.decide(decider.featurise([Page("a", text=article(9, sentences=12))]))


def _adds_a_copy_that_is_older(decider: BatchDecider) -> None:
    decider.decide(decider.featurise([Page("0", text=article(0, sentences=12), published="2001-01-01")]))


@pytest.mark.parametrize(
    "meanwhile",
    [_removes_the_canonical_document, _sends_another_page_of_the_cluster_again, _adds_a_copy_that_is_older],
)
def test_what_a_killed_writer_has_replaced_stays_outdated_until_it_is_decided_on(
    meanwhile: Callable[[BatchDecider], None],
) -> None:
    """Whatever repairs its cluster meanwhile: the edges that are stored are those of the version before."""
    text = article(0, sentences=12)
    pages = [Page(name, text=text, published="2020-01-01") for name in "abe"]
    replaced = Page("b", text=article(8, sentences=12))
    with closing(factory.open_index(":memory:", Settings())) as index:
        decider = BatchDecider(index, Settings())
        decider.decide(
            decider.featurise([*pages, *(Page(f"f{at}", text=article(20 + at)) for at in range(8))])
        )
        if meanwhile is _sends_another_page_of_the_cluster_again:
            decider.find(decider.featurise([Page("a", text=article(9, sentences=12))]))
        decider.find(decider.featurise([replaced]))  # and it is killed
        later = BatchDecider(index, Settings())
        meanwhile(later)
        assert index.assignments(["b"])["b"].outdated
        decided = later.decide(later.featurise([replaced]))
        assert (list(decided.unchanged), str(decided.decisions["b"].outcome)) == ([], "unique")
        assert index.assignments(["b"])["b"].canonical == "b"


def test_a_batch_that_is_searched_again_finds_no_pages_of_later_batches() -> None:
    """They find its pages, and their documents are not written yet."""
    decider = BatchDecider(EmbeddedIndex(":memory:", features={}), Settings())
    text = article(7, sentences=12)
    first, second = (decider.find(decider.featurise([Page(name, text=text)])) for name in ("a", "b"))
    before = replace(first, note="statistics learned before")
    compared = [decider.compare(each).compared for each in (before, second)]
    assert [each and each.pairs for each in compared] == [0, 1]
