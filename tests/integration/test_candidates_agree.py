"""Candidates of one method: an index and ``compare`` find the same, and a page finds what it holds in either order."""

import os
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from es_dedup import Deduplicator, Page
from es_dedup.detectors import char_frequency
from es_dedup.detectors.registry import create_detectors
from es_dedup.evaluation import Label, LabelledPair, read_labels
from es_dedup.evaluation.labels import Pair
from es_dedup.evaluation.runner import INDEX, measure
from es_dedup.model import Content
from es_dedup.readers import read_pages
from es_dedup.settings import Settings
from experiments.methods import run_method
from tests.texts import topical

METHODS: Final = ("char_frequency", "dwdcs")
NEAR: Final = (
    0.01  # of recall: an index adds copies, and canonical documents of those found, to a list that was cut
)


def alone(method: str, **more: object) -> Settings:
    """Settings with one method, which decides."""
    return Settings.model_validate(
        {"detectors": (method,), "decision": {"method": method}, "workers": 1, **more}
    )


def found_by(
    method: str, pages: Sequence[Page], labels: Sequence[LabelledPair], settings: Settings
) -> dict[str, frozenset[Pair]]:
    """The labelled pairs that an index finds, those that its scan has related, and those of ``compare``."""
    with Deduplicator.open(":memory:", settings=settings) as dedup:
        dedup.scan(pages)
        of_index = measure(dedup, labels)
        accepted = {pair for pair, said in of_index.decisions[method].items() if said != "different"}
        edges = dedup._index.edges_of([page.id for page in pages])
    contents = [Content(page.text or "", page.title or "") for page in pages]
    detector = create_detectors(settings)[method]
    run = run_method(detector, [page.id for page in pages], contents, labels, settings.index)
    return {
        "index": of_index.candidates[INDEX],
        "scan": frozenset((edge.left, edge.right) for edge in edges),
        "accepted": frozenset(accepted),
        "compare": run.candidates,
    }


@pytest.fixture(scope="module")
def series() -> list[Page]:
    """Twenty stories on one topic, each with an edited copy: what is frequent in one is frequent in most."""
    made = []
    for story in range(20):
        sentences = topical(1).split("。")
        random.Random(story).shuffle(sentences)
        own = topical(100 + story)
        text = own + "。".join(sentences)
        made += [Page(f"{story:02}-a", text=text), Page(f"{story:02}-b", text=text + "又及。")]
    return made


@pytest.mark.parametrize("method", METHODS)
def test_terms_that_most_pages_carry_find_candidates_everywhere(method: str, series: list[Page]) -> None:
    settings = alone(method, index={"max_df": 10, "limit": 100})
    labels = [LabelledPair(f"{at:02}-a", f"{at:02}-b", Label.DUP) for at in range(20)]
    pairs = {each.pair for each in labels}
    found = found_by(method, series, labels, settings)
    assert len(found["accepted"]) >= 18
    assert found["index"] == found["compare"] >= found["accepted"]
    assert found["scan"] & pairs == found["accepted"]


def test_an_index_that_most_terms_are_too_common_for_says_so(
    series: list[Page], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(char_frequency, "MOST_PAGES", 1)
    with Deduplicator.open(":memory:", settings=alone("char_frequency")) as dedup:
        (note,) = dedup.scan(series).notes
        assert note.startswith("char_frequency: ")
        assert "too many pages" in note
        asked = Page("asked", text=series[3].text)
        assert dedup.check(asked).notes[0].startswith("char_frequency: ")
        assert dedup.add_many([asked], dry_run=True).notes[0].startswith("char_frequency: ")
        assert dedup.add_many([asked]).notes[0].startswith("char_frequency: ")
    monkeypatch.undo()
    with Deduplicator.open(":memory:", settings=alone("char_frequency")) as dedup:
        assert dedup.scan(series).notes == ()
        assert dedup.check(Page("asked", text=series[3].text)).notes == ()


def items(count: int) -> list[str]:
    """Short notices of eight sentences each."""
    return ["".join(f"照办通知{item:02}之{at}。" for at in range(8)) for item in range(count)]


class TestCcdetAlone:
    @pytest.mark.parametrize("size", [5, 10, 20, 40])
    @pytest.mark.parametrize("first", ["items", "pages"])
    def test_finds_items_in_long_pages_in_either_order(self, size: int, first: str) -> None:
        short = [Page(f"item-{at:02}", text=text) for at, text in enumerate(items(40))]
        long = [
            Page(f"page-{at:02}", text="".join(page.text or "" for page in short[at : at + size]))
            for at in range(0, 40, size)
        ]
        stored, asked = (short, long) if first == "items" else (long, short)
        settings = alone("ccdet", ccdet={"prune": "none"}, index={"limit": 50})
        with Deduplicator.open(":memory:", settings=settings) as dedup:
            dedup.add_many(stored)
            decisions = [dedup.check(page) for page in asked]
        found = sum(len(each.contains) + len(each.contained_in) for each in decisions)
        assert found == len(short)
        assert all(not decision.notes for decision in decisions)

    def test_asks_for_as_many_signatures_as_the_settings_say(self) -> None:
        short = [Page(f"item-{at:02}", text=text) for at, text in enumerate(items(20))]
        whole = Page("page", text="".join(page.text or "" for page in short))
        settings = alone("ccdet", ccdet={"prune": "none", "query_signatures": 12})
        with Deduplicator.open(":memory:", settings=settings) as dedup:
            dedup.add_many(short)
            assert len(dedup.check(whole).contains) < 10


@pytest.mark.parametrize(
    "settings",
    [
        alone("char_frequency", index={"max_df": 10, "limit": 100}),
        *(Settings.model_validate({"workers": 1, "index": {"limit": limit}}) for limit in (1, 2, 50)),
        alone("ccdet", index={"limit": 1}, ccdet={"prune": "none"}),
    ],
    ids=["one method", "lists by method", "a list that is cut", "whole lists", "CCDet"],
)
def test_an_index_on_elasticsearch_has_the_same_candidates(
    own_address: str, series: list[Page], settings: Settings
) -> None:
    found = []
    for place in (":memory:", own_address):
        with Deduplicator.open(place, settings=settings) as dedup:
            dedup.scan(series)
            found.append({page.id: sorted(dedup.candidates(page.id)) for page in series})
    assert found[0] == found[1]
    assert all(found[0].values())


def test_ccdet_alone_finds_items_in_a_page_on_elasticsearch(own_address: str) -> None:
    short = [Page(f"item-{at:02}", text=text) for at, text in enumerate(items(40))]
    whole = Page("page", text="".join(page.text or "" for page in short))
    with Deduplicator.open(own_address, settings=alone("ccdet", ccdet={"prune": "none"})) as dedup:
        dedup.add_many(short)
        assert len(dedup.check(whole).contains) == len(short)


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize(("method", "least"), [("char_frequency", 0.69), ("dwdcs", 0.68)])
def test_portal_pages_are_found_alike(method: str, least: float) -> None:
    folder = Path(os.environ.get("ES_DEDUP_DATA", "nowhere"))
    if not folder.is_dir():
        pytest.skip("ES_DEDUP_DATA names no folder")
    pages = [page for page in read_pages([folder / "portal-zh.jsonl.xz"]) if isinstance(page, Page)]
    labels = read_labels(folder / "portal-zh.pairs.tsv")
    wanted = {each.pair for each in labels if each.label.positive}
    found = found_by(method, pages, labels, alone(method))
    recall = {name: len(pairs & wanted) / len(wanted) for name, pairs in found.items()}
    print(method, recall)
    assert min(recall["index"], recall["compare"]) >= least
    assert recall["compare"] == pytest.approx(recall["index"], abs=NEAR)
    assert recall["scan"] >= recall["accepted"] - NEAR
