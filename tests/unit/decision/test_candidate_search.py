"""Looking stored pages up: common terms, copies by hash, canonical documents of many, and lists that were cut."""

from collections.abc import Iterator
from typing import Final

import pytest

from es_dedup import Deduplicator, Page, Relation, Settings
from es_dedup.decision.candidate_search import MOST_COMPARED, term_groups
from es_dedup.decision.statistics import Statistics
from es_dedup.settings.loading import IndexConfig
from tests.samples import story
from tests.unit.decision.decision_cases import lines

WIRE: Final = lines(78, 12)
NOTICE: Final = lines(77, 12)
NARROW: Final = Settings(index=IndexConfig(limit=5, max_df=10), workers=1)
ONE: Final = Settings(index=IndexConfig(limit=1), workers=1)
ISSUES: Final = 2 * MOST_COMPARED


def reprint(number: int) -> Page:
    """The wire story with a line of the site's own."""
    text = "\n".join((*WIRE, *lines(500 + number, 1)))
    return Page(f"reprint-{number:03}", text=text, title=WIRE[0][:12], published="2024-05-01")


@pytest.fixture
def narrow() -> Iterator[Deduplicator]:
    """Few candidates, and terms soon count as common."""
    with Deduplicator.open(":memory:", settings=NARROW) as dedup:
        yield dedup


class TestCommonTerms:
    def test_are_asked_again_when_the_rare_ones_find_nothing(self, narrow: Deduplicator) -> None:
        narrow.add_many([reprint(number) for number in range(30)])
        decision = narrow.check(reprint(99))
        assert decision.duplicate_of == narrow.cluster("reprint-000").canonical
        found = narrow._lookup().of_stored([f"reprint-{number:03}" for number in range(30)])
        assert found.inconclusive == {}, "a duplicate is conclusive"
        assert found.pairs <= 30 * 8, "of 29 each"

    def test_rare_terms_are_enough_where_there_are_some(self, narrow: Deduplicator) -> None:
        narrow.add_many([story(seed) for seed in range(30)])
        found = narrow._lookup().of_stored(["story-3"])
        assert (found.pairs, found.capped_terms, found.truncated) == (0, 0, 0)


class TestCopies:
    def test_are_found_by_hash_however_common(self, narrow: Deduplicator) -> None:
        narrow.add_many([story(1, f"copy-{number:03}") for number in range(60)])
        decision = narrow.check(story(1, "again"))
        assert {pair.relation for pair in decision.verdicts} == {Relation.EXACT}
        assert decision.duplicate_of == "copy-000"

    def test_their_canonical_document_is_among_them_though_the_list_is_cut(
        self, narrow: Deduplicator
    ) -> None:
        copies = [story(1, f"copy-{number:03}", day=2) for number in range(60)]
        narrow.add_many([*copies, story(1, "zz-first", day=1)])
        assert narrow.check(story(1, "again")).duplicate_of == "zz-first"
        narrow.add(story(1, "later", day=3))
        assert narrow.cluster("later").canonical == "zz-first"

    def test_a_page_is_never_compared_with_itself(self, narrow: Deduplicator) -> None:
        narrow.add_many([story(1, "a"), story(1, "b")])
        assert [pair.right for pair in narrow._lookup().of_stored(["a"]).related(0)] == ["b"]

    def test_pages_without_words_are_no_copies(self, narrow: Deduplicator) -> None:
        narrow.add_many([Page("a", text=""), Page("b", text="……")])
        assert narrow.check(Page("c", text="")).outcome == "unique"


class TestCutLists:
    @pytest.fixture
    def one(self) -> Iterator[Deduplicator]:
        """One candidate a page."""
        with Deduplicator.open(":memory:", settings=ONE) as dedup:
            dedup.add_many(self.issue(number) for number in range(ISSUES))
            yield dedup

    @staticmethod
    def issue(number: int) -> Page:
        """A page of the series: half of it is the notice of all."""
        text = "\n".join((*NOTICE, *lines(200 + number, 24)))
        return Page(f"issue-{number}", text=text, title=lines(200 + number, 1)[0][:12])

    def test_without_a_related_page_are_inconclusive(self, one: Deduplicator) -> None:
        decision = one.check(self.issue(99))
        assert (decision.outcome, decision.duplicate_of) == ("inconclusive", None)
        assert decision.notes[0].startswith("none of the best 9 candidates is related, and there are more")

    def test_of_a_page_that_is_stored_all_the_same(self, one: Deduplicator) -> None:
        one.add_many(story(seed) for seed in range(60))
        decision = one.add(self.issue(99))
        assert decision.outcome == "inconclusive"
        assert one.text("issue-99").startswith(NOTICE[0])
        report = one.add_many([self.issue(98)])
        assert (report.truncated, report.outcomes) == (1, {"inconclusive": 1})

    def test_each_method_has_its_own(self) -> None:
        """Pages with the notice share more terms than the one with equal ends of sentences, which only CCDet relates."""
        settings = Settings.model_validate(
            {"index": {"limit": 1}, "workers": 1, "decision": {"method": "ccdet"}}
        )
        own, others = lines(299, 24), lines(700, 24)
        ends = "\n".join(head[:8] + line[-11:] for head, line in zip(others, own, strict=True))
        with Deduplicator.open(":memory:", settings=settings) as dedup:
            dedup.add_many([*(self.issue(number) for number in range(ISSUES)), Page("ends", text=ends)])
            assert [pair.right for pair in dedup.check(self.issue(99)).verdicts] == ["ends"]

    def test_with_a_related_page_are_conclusive(self, one: Deduplicator) -> None:
        copy = self.issue(3)
        assert one.check(Page("copy", text=copy.text, title=copy.title)).duplicate_of == "issue-3"


class TestTemplate:
    @pytest.fixture
    def learned(self) -> Iterator[Deduplicator]:
        """A series whose notice the corpus knows to be template."""
        settings = Settings(index=IndexConfig(limit=1), detectors=("coverage", "simhash"), workers=1)
        with Deduplicator.open(":memory:", settings=settings) as dedup:
            dedup.scan(TestCutLists.issue(number) for number in range(40))
            yield dedup

    def test_brings_no_candidates(self, learned: Deduplicator) -> None:
        page = TestCutLists.issue(99)
        asked, _ = learned._featurise([page])
        assert learned._lookup().of(asked).pairs == 0
        assert learned.check(page).outcome == "unique", "the list of candidates is not cut"

    def test_is_asked_for_while_nothing_is_known(self, learned: Deduplicator) -> None:
        table = learned._featurise([TestCutLists.issue(99)])[0].table
        lookup, settings = learned._lookup(), Settings()
        every = term_groups(table, settings)[0]
        assert every == term_groups(table, settings, Statistics.empty().weights(table.coverage))[0]
        some = term_groups(table, settings, lookup.statistics.weights(table.coverage))[0]
        assert all(set(few.terms) < set(all_.terms) for few, all_ in zip(some[:2], every[:2], strict=True))

    def test_does_not_hide_a_copy(self, learned: Deduplicator) -> None:
        copy = TestCutLists.issue(3)
        edited = "\n".join((copy.text or "").splitlines()[:-3])
        assert learned.check(Page("copy", text=edited, title=copy.title)).duplicate_of == "issue-3"


@pytest.mark.parametrize("detectors", [("ccdet",), ("simhash",), ("coverage",), Settings().detectors])
def test_every_detector_finds_a_copy_alone(detectors: tuple[str, ...]) -> None:
    settings = Settings(detectors=detectors, workers=1)
    with Deduplicator.open(":memory:", settings=settings) as dedup:
        dedup.add_many([story(1), story(2)])
        edited = story(1, "edited").text or ""
        assert dedup._lookup().of(dedup._featurise([Page("edited", text=edited[:-3])])[0]).pairs == 1
