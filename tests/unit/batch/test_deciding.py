"""Batches of pages that are decided on beside other writers, and what clustering reads of them."""

from __future__ import annotations

import threading
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from es_dedup import Page, Settings
from es_dedup.batch.clusters import ClusterCache
from es_dedup.batch.deciding import MEANWHILE, BatchDecider
from es_dedup.batch.learning import store_statistics
from es_dedup.decision.statistics import Statistics
from es_dedup.extraction import registry
from es_dedup.index import factory
from es_dedup.index.embedded import EmbeddedIndex
from es_dedup.settings.loading import ExtractionConfig
from es_dedup.settings.recorded import STATISTICS
from es_dedup.testing.builders import assignment
from scripts.template_sets import function_calls
from tests.texts import article

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from es_dedup.extraction import Document


def test_a_page_that_breaks_an_extractor_does_not_stop_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def brittle(document: Document, config: ExtractionConfig) -> str:
        raise RecursionError(document.title)

    monkeypatch.setitem(registry._METHODS, "brittle", brittle)
    settings = Settings(extraction=ExtractionConfig(extractor="brittle"))
    decider = BatchDecider(EmbeddedIndex(":memory:", features={}), settings)
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
    compared = [decider.compare(each).pairs for each in (before, second)]
    assert [each.pairs for each in compared] == [0, 1]


@pytest.mark.parametrize("by", ["another process", "the same object"])
@pytest.mark.parametrize("how", ["replaced", "removed"])
def test_a_candidate_that_changes_after_the_comparison_counts_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str, how: str
) -> None:
    text, place = article(3, sentences=12), tmp_path / "i.db"
    with factory.open_index(place, Settings()) as index, factory.open_index(place, Settings()) as second:
        writing = index.writing

        @contextmanager
        def alone() -> Iterator[bool]:
            """As an index on a server says, where no other process has written."""
            with writing():
                yield by == "the same object"

        monkeypatch.setattr(index, "writing", alone)
        decider, other = BatchDecider(index, Settings()), BatchDecider(second, Settings())
        decider.decide(decider.featurise([Page("a", text=text)]))
        compared = decider.compare(decider.find(decider.featurise([Page("b", text=text)])))
        changing = other if by == "another process" else decider
        if how == "removed":
            changing.remove(["a"], lambda names: [])
        else:
            changing.decide(changing.featurise([Page("a", text=article(4, sentences=12))]))
        concluded = decider.conclude(compared)
        assert (list(concluded.unsure), {*concluded.decisions}) == ([], {"b"})
        assert (concluded.decisions["b"].outcome, concluded.decisions["b"].verdicts) == ("unique", ())
        assert index.edges_of(["b"]) == []


@pytest.mark.parametrize("read", ["members", "assignments"])
def test_members_are_those_that_were_written_last(read: str) -> None:
    with EmbeddedIndex(":memory:", features={}) as index:
        index.assign_many([assignment("a"), assignment("b", "a"), assignment("c", "a"), assignment("z")])
        near = ClusterCache(index)
        getattr(near, read)(["a", "b", "c", "z"])
        near.assign_many([assignment("b", "z"), assignment("c", "a"), assignment("new")])
        members = near.members(["a", "b", "z", "new"])
    found = {name: [each.page_id for each in group] for name, group in members.items()}
    assert found == {"a": ["a", "c"], "z": ["b", "z"], "new": ["new"]}


def test_pages_that_another_process_changes_before_the_decision_are_unsure() -> None:
    """One that is replaced, and an unchanged one that is taken out of its cluster."""
    pages = [Page(name, text=article(0, sentences=12)) for name in "ab"]
    new = Page("c", text=article(1, sentences=12))
    with closing(factory.open_index(":memory:", Settings())) as index:
        decider, other = BatchDecider(index, Settings()), BatchDecider(index, Settings())
        decider.decide(decider.featurise(pages))
        compared = decider.compare(decider.find(decider.featurise([pages[0], new])))
        other.remove(["a"], lambda names: [])
        other.decide(other.featurise([replace(new, text=article(2, sentences=12))]))
        decided = decider.conclude(compared)
        assert (set(decided.unsure), list(decided.unchanged)) == ({"a", "c"}, ["a"])
        assert {decided.decisions[name].notes for name in "ac"} == {(MEANWHILE,)}
