"""The pipeline on an embedded index: what each call promises, in memory and on a file."""

import re
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from es_dedup import Deduplicator, Outcome, Page, Progress, Relation, Settings, WritePolicy
from es_dedup.errors import DuplicatePage, OtherRoot, UnknownPage
from es_dedup.readers import ReadOptions, read_pages
from tests.samples import edges, partition, story
from tests.texts import article
from tests.unit.decision.decision_cases import lines

ALONE = Settings(workers=1)


@pytest.fixture(params=["memory", "file"])
def dedup(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Deduplicator]:
    """Some stories with copies: 0 to 9, and copies of 1 and 2."""
    path = ":memory:" if request.param == "memory" else tmp_path / "pages.db"
    with Deduplicator.open(path, settings=ALONE) as opened:
        opened.add_many(
            [*(story(seed) for seed in range(10)), story(1, "copy-1", day=2), longer(2, "longer-2")]
        )
        yield opened


def longer(seed: int, page_id: str) -> Page:
    """A story inside a page three times as long."""
    text = f"{story(seed).text}\n{article(seed + 500, sentences=30)}"
    return Page(page_id, text=text, title=story(seed).title, published="2024-05-02")


def short(seed: int, page_id: str) -> Page:
    """The first third of a story."""
    text = "。".join((story(seed).text or "").split("。")[:4]) + "。"
    return Page(page_id, text=text, title=story(seed).title, published="2024-05-02")


class TestAdd:
    def test_a_new_page_is_unique(self, dedup: Deduplicator) -> None:
        decision = dedup.add(story(50))
        assert (decision.outcome, decision.cluster_id, decision.verdicts) == ("unique", "story-50", ())
        assert dedup.text("story-50") == story(50).text

    def test_a_copy_names_its_canonical_document_with_all_verdicts(self, dedup: Deduplicator) -> None:
        decision = dedup.add(story(1, "again", day=3))
        assert (decision.outcome, decision.duplicate_of, decision.cluster_id) == (
            "duplicate",
            "story-1",
            "story-1",
        )
        assert {pair.right for pair in decision.verdicts} == {"story-1", "copy-1"}
        assert {pair.left for pair in decision.verdicts} == {"again"}
        assert all(len(pair.verdicts) == 3 for pair in decision.verdicts)

    def test_says_what_check_says(self, dedup: Deduplicator) -> None:
        for page in (story(1, "x", day=3), story(60, "y"), longer(3, "z"), short(4, "s")):
            asked, told = dedup.check(page), dedup.add(page)
            assert told.outcome == asked.outcome
            assert told.duplicate_of == asked.duplicate_of
            assert (told.contained_in, told.contains) == (asked.contained_in, asked.contains)
            assert [pair.right for pair in told.verdicts] == [pair.right for pair in asked.verdicts]

    def test_containment_points_both_ways(self, dedup: Deduplicator) -> None:
        assert dedup.add(longer(3, "long")).contains == ("story-3",)
        assert dedup.add(short(4, "short")).contained_in == ("story-4",)
        assert dedup.cluster("story-3").contained_in == ("long",)
        assert dedup.cluster("short").canonical == "short", "containment is no membership"

    def test_an_earlier_page_becomes_the_canonical_document_and_says_what_it_duplicates(
        self, dedup: Deduplicator
    ) -> None:
        decision = dedup.add(story(5, "first", published="2020-01-01"))
        assert (decision.outcome, decision.duplicate_of) == ("duplicate", "story-5")
        assert dedup.cluster("story-5").canonical == "first"

    def test_the_same_again_changes_nothing(self, dedup: Deduplicator) -> None:
        before = edges(dedup), partition(dedup)
        decision = dedup.add(story(1, "copy-1", day=2))
        assert (decision.outcome, decision.duplicate_of) == ("duplicate", "story-1")
        assert dedup.add_many([story(1)]).unchanged == 1
        assert (edges(dedup), partition(dedup)) == before

    @pytest.mark.parametrize("bad", ["", "x" * 513, "nul\0", "half\ud800"])
    def test_a_page_that_cannot_be_stored_is_a_value_error(self, dedup: Deduplicator, bad: str) -> None:
        with pytest.raises(ValueError, match="id"):
            dedup.add(Page(bad, text="x"))
        assert dedup.check(Page("", text="x")).notes != ()
        assert dedup.stats()["pages"] == 12


class TestAddMany:
    def test_the_report_counts_everything(self, dedup: Deduplicator) -> None:
        given = [
            story(1, "c1", day=4),
            story(60),
            story(60, "c60", day=4),
            story(2),
            Page("", text="x"),
            Page("e", text=""),
        ]
        report = dedup.add_many(given)
        assert (report.read, report.stored, report.unchanged, len(report.failed)) == (6, 4, 1, 1)
        assert report.outcomes == {"duplicate": 2, "unique": 2}
        assert report.skipped == {"empty": 1}
        assert report.skipped_pages == {"e": "empty"}
        assert {name: each.duplicate_of for name, each in report.decisions.items()} == {
            "c1": "story-1",
            "c60": "story-60",
        }

    @pytest.mark.parametrize("dry_run", [True, False])
    def test_what_could_not_be_used_is_named(self, dedup: Deduplicator, dry_run: bool) -> None:
        given = [
            story(70, "twice"),
            Page("none"),
            Page("t", text="x y z", published="gestern"),
            story(71, "twice"),
        ]
        report = dedup.add_many([*given, Page("binary", html=b"%PDF-1.7\x00\x01" * 99)], dry_run=dry_run)
        assert report.failed == {"none": "neither text nor html"}
        assert (report.superseded, report.unchanged) == (1, 0)
        assert report.skipped_pages == {"binary": "binary"}
        assert [note.partition(";")[0] for note in report.notes] == [
            "the time of publication given for 1 pages cannot be read and is left out",
            "pages replaced by a later one of the same id in this call: 1",
        ]
        with pytest.raises(ValueError, match="'none': neither text nor html"):
            dedup.add(Page("none"))
        assert "neither" in dedup.check(Page("none")).notes[0]
        lacking = Page("lacking", html="<p>", published="gestern")
        notes = (
            "there is no text to compare",
            "the time of publication that was given cannot be read and is left out",
        )
        assert [ask(lacking).notes for ask in (dedup.check, dedup.add, dedup.add)] == [notes] * 3

    def test_of_several_pages_with_one_id_the_last_wins(self, dedup: Deduplicator) -> None:
        given = [story(70, "twice"), story(1, "twice", day=5), story(1, "twice", day=5)]
        for dry_run in (True, False):
            report = dedup.add_many(given, dry_run=dry_run)
            assert (report.read, report.stored, report.superseded, report.repeated) == (3, 1, 1, 1)
            assert (report.failed, report.unchanged) == ({}, 0)
        assert dedup.text("twice") == story(1).text
        assert dedup.cluster("twice").canonical == "story-1"

    def test_progress_is_told(self, dedup: Deduplicator) -> None:
        seen: list[Progress] = []
        dedup.scan([story(80)], progress=seen.append)
        assert {each.stage for each in seen} >= {"features", "join", "cluster"}
        assert all(each.total is None or each.done <= each.total for each in seen)

    def test_statistics_are_learned_anew_when_a_fifth_is_new(self) -> None:
        with Deduplicator.open(":memory:", settings=ALONE) as fresh:
            for seed in range(40):
                fresh.add(story(seed))
            known = fresh.stats()["statistics"]
            assert isinstance(known, dict)
            assert 32 <= known["pages"] <= 40
            assert known["pages"] + known["pages_since"] == 40

    def test_nothing_is_something(self, dedup: Deduplicator) -> None:
        assert dedup.add_many([]).read == 0
        assert dedup.scan([]).stored == 0


class TestCheck:
    def test_writes_nothing(self, dedup: Deduplicator) -> None:
        assert dedup.check(story(1, "again")).duplicate_of == "story-1"
        assert dedup.stats()["pages"] == 12
        with pytest.raises(UnknownPage):
            dedup.record("again")

    def test_many_are_answered_in_order_each_for_itself(self, dedup: Deduplicator) -> None:
        asked = [story(1, "x"), Page("", text="bad"), story(90, "x"), story(2, "x")] * 30
        found = dedup.check_many(iter(asked))
        assert [each.duplicate_of for each in found] == ["story-1", None, None, "story-2"] * 30
        assert [bool(each.notes) for each in found] == [False, True, False, False] * 30

    def test_a_stored_page_is_not_its_own_duplicate(self, dedup: Deduplicator) -> None:
        assert dedup.check(story(3)).outcome is Outcome.UNIQUE


class TestExplain:
    def test_ids_and_pages(self, dedup: Deduplicator) -> None:
        assert dedup.explain("story-1", "copy-1").relation is Relation.EXACT
        assert dedup.explain("longer-2", story(2, "given")).relation is Relation.CONTAINS
        assert dedup.explain(story(1), story(3)).relation is Relation.DIFFERENT
        with pytest.raises(UnknownPage):
            dedup.explain("story-1", "nobody")

    def test_aligned(self, dedup: Deduplicator) -> None:
        shared = [row for row in dedup.aligned("story-2", "longer-2") if row.same]
        assert "".join(row.left[0].text for row in shared) == dedup.text("story-2")
        assert not any(row.same for row in dedup.aligned("story-2", "story-3"))

    def test_candidates(self, dedup: Deduplicator) -> None:
        assert dedup.candidates("copy-1") == ["story-1"]


class TestPolicies:
    def test_skip_leaves_out_duplicates_and_contained_pages(self, dedup: Deduplicator) -> None:
        given = [story(1, "d", day=9), short(4, "s"), story(60), longer(5, "l")]
        report = dedup.add_many(given, policy="skip")
        assert (report.stored, report.left_out) == (2, 2)
        assert report.decisions["d"].duplicate_of == "story-1"
        assert report.decisions["s"].contained_in == ("story-4",)
        assert report.outcomes == {"unique": 1, "contains": 1}
        assert dedup.stats()["pages"] == 14

    def test_skip_leaves_out_a_duplicate_that_would_come_first(self, dedup: Deduplicator) -> None:
        report = dedup.add_many([story(1, "d", published="2020-01-01")], policy=WritePolicy.SKIP)
        assert (report.stored, report.left_out) == (0, 1)
        assert dedup.cluster("story-1").canonical == "story-1"

    def test_skip_leaves_out_a_page_only_for_one_that_stays(self, dedup: Deduplicator) -> None:
        """Of a chain of pages, each much like its neighbour only, every second one has to stay."""
        parts = article(700, sentences=40).split("。")
        chain = [
            Page(f"part-{n}", text="。".join(parts[n * 5 : n * 5 + 16]), title=parts[10][:8])
            for n in range(5)
        ]
        for order in (chain, chain[::-1]):
            with Deduplicator.open(":memory:", settings=ALONE) as fresh:
                report = fresh.add_many(order, policy="skip")
                kept = {page.id for page in order} - {
                    name for name in report.decisions if not stored(fresh, name)
                }
                for page in order:
                    near = [fresh.explain(page, name).relation for name in kept]
                    assert page.id in kept or any(each.same or each is Relation.CONTAINED for each in near)

    @pytest.mark.parametrize("policy", ["skip", "overwrite", "fail"])
    def test_pages_that_come_one_by_one_are_not_lost_to_the_template_that_they_share(
        self, policy: str
    ) -> None:
        notice = article(99, sentences=8)
        pages = [Page(f"post-{n}", text=f"{article(n, sentences=5)}\n{notice}") for n in range(20)]
        copy = Page("copy", text=f"{pages[0].text}转载。")
        with Deduplicator.open(":memory:", settings=ALONE) as fresh:
            for page in (pages[0], copy, *pages[1:]):
                with pytest.raises(DuplicatePage) if policy == "fail" and page is copy else nullcontext():
                    fresh.add(page, policy=policy)
            assert fresh.stats()["pages"] == 20
            assert stored(fresh, "copy") == (policy == "overwrite")

    def test_questions_of_one_form_that_come_one_by_one_are_not_lost(self) -> None:
        """Statistics of the few pages that ``skip`` has kept do not tell that the rest is a form."""
        form = "sign in to your account and open the settings page. Choose the entry in the menu on the left, then follow the instructions. "
        form += "You will receive an e-mail that confirms the change. If you need further help, contact our support team. "
        form += "Was this article helpful? Yes No. Related articles. Still need help? Submit a request."
        things = "password invoice delivery address subscription refund account discount voucher newsletter".split()
        asked = [f"{do} my {thing}" for do in ("change", "cancel", "find", "print") for thing in things]
        with Deduplicator.open(":memory:", settings=ALONE) as fresh:
            for each in asked:
                page = Page(each, text=f"How do I {each}? To {each}, {form}", title=f"How do I {each}?")
                fresh.add(page, policy="skip")
            assert fresh.stats()["pages"] == len(asked)

    @pytest.mark.parametrize("policy", ["skip", "overwrite"])
    def test_a_call_of_many_pages_removes_by_the_statistics_that_it_learns(self, policy: str) -> None:
        texts = [article(n, sentences=20) for n in range(12)]
        copies = [text[: len(text) * 3 // 4] + article(50 + n, sentences=5) for n, text in enumerate(texts)]
        pages = [Page(str(n), text=text) for n, text in enumerate(texts + copies)]
        with Deduplicator.open(":memory:", settings=ALONE) as fresh:
            fresh.add_many(pages, policy=policy)
            assert fresh.stats()["pages"] == 12

    @pytest.mark.parametrize(
        "shared", [0.5, 0.75]
    )  # different by the rules, and a duplicate that is not nearly equal
    def test_what_people_have_decided_is_certain(self, shared: float) -> None:
        text = article(1, sentences=20)
        again = text[: int(len(text) * shared)] + article(3, sentences=6)
        with Deduplicator.open(":memory:", settings=ALONE) as fresh:
            fresh.add_many([Page("a", text=text), Page("b", text=article(2, sentences=20))])
            fresh.override_same("a", "b", reason="one event", author="editor")
            fresh.add(Page("b", text=again), policy="overwrite")
            assert (stored(fresh, "a"), stored(fresh, "b")) == (False, True)

    def test_skipped_page_of_add_still_gives_its_verdicts(self, dedup: Deduplicator) -> None:
        decision = dedup.add(story(1, "d", day=9), policy="skip")
        assert decision.duplicate_of == "story-1"
        assert {pair.right for pair in decision.verdicts} == {"story-1", "copy-1"}
        assert not stored(dedup, "d")

    def test_overwrite_removes_what_the_page_duplicates(self, dedup: Deduplicator) -> None:
        report = dedup.add_many([story(1, "new", published="2020-01-01"), longer(3, "l")], policy="overwrite")
        assert (report.stored, report.left_out) == (2, 0)
        assert report.decisions["new"].duplicate_of in ("story-1", "copy-1")
        assert [stored(dedup, name) for name in ("story-1", "copy-1", "new", "story-3")] == [
            False,
            False,
            True,
            True,
        ]
        assert dedup.cluster("new").size == 1

    def test_fail_keeps_nothing(self, dedup: Deduplicator) -> None:
        before = edges(dedup), partition(dedup)
        for given in ([story(60), story(1, "d")], [story(60), story(60, "d60")]):
            with pytest.raises(DuplicatePage):
                dedup.add_many(iter(given), policy="fail")
        with pytest.raises(DuplicatePage, match="story-1"):
            dedup.add(story(1, "d"), policy="fail")
        assert (edges(dedup), partition(dedup)) == before

    def test_fail_stores_what_is_no_duplicate(self, dedup: Deduplicator) -> None:
        report = dedup.add_many(iter([story(60), longer(4, "l"), story(2)]), policy="fail")
        assert (report.stored, report.unchanged) == (2, 1)
        assert dedup.add(story(61), policy="fail").outcome == "unique"

    def test_an_unknown_policy_is_refused(self, dedup: Deduplicator) -> None:
        with pytest.raises(ValueError, match="sometimes"):
            dedup.add(story(60), policy="sometimes")


def stored(dedup: Deduplicator, page_id: str) -> bool:
    """Whether a page is in the index."""
    return page_id in dedup._index.get_many([page_id])


class TestRoot:
    def pages(self, dedup: Deduplicator, folder: Path) -> list[Page]:
        """The pages of a folder, as a program reads them into an index."""
        pages = read_pages([folder], ReadOptions(root=dedup.root()))
        dedup.record_root(pages.root)
        return [item for item in pages if isinstance(item, Page)]

    @pytest.fixture
    def days(self, tmp_path: Path) -> list[Path]:
        for day in ("21", "22"):
            (tmp_path / day).mkdir()
            (tmp_path / day / "index.txt").write_text(story(int(day)).text or "", encoding="utf-8")
        return [tmp_path / "21", tmp_path / "22"]

    def test_it_is_kept(self, days: list[Path], tmp_path: Path) -> None:
        for day in days:
            with Deduplicator.open(tmp_path / "pages.db", settings=ALONE) as dedup:
                report = dedup.add_many(self.pages(dedup, day))
                assert (report.stored, report.replaced) == (1, 0)
        (days[0] / "index.txt").write_text(story(5).text or "", encoding="utf-8")
        with Deduplicator.open(tmp_path / "pages.db", settings=ALONE) as dedup:
            given = [*self.pages(dedup, days[0]), *self.pages(dedup, days[1])]
            assert [page.id for page in given] == ["index.txt", str(days[1].resolve() / "index.txt")]
            rehearsed, done = dedup.add_many(given, dry_run=True), dedup.add_many(given)
            for report in (rehearsed, done):
                assert (report.stored, report.replaced, report.unchanged) == (1, 1, 1)
            assert dedup.stats()["root"] == str(days[0].resolve())

    def test_that_of_another_process_is_not_overwritten(self, days: list[Path], tmp_path: Path) -> None:
        with Deduplicator.open(tmp_path / "pages.db", settings=ALONE) as one:
            mine = read_pages([days[0]], ReadOptions(root=one.root()))
            with Deduplicator.open(tmp_path / "pages.db", settings=ALONE) as other:
                self.pages(other, days[1])
            with pytest.raises(OtherRoot, match="run the command again"):
                one.record_root(mine.root)
            assert [page.id for page in self.pages(one, days[0])] == [str(days[0].resolve() / "index.txt")]


@pytest.mark.parametrize(
    ("order", "pair", "said"),
    [
        ("abc", "bc", "not merged, since b is in the cluster of a and c in that of c"),
        ("abc", "ab", "merged, since .* are enough"),
        ("bac", "ac", "merged, since both are in the cluster of b"),
        ("abc", "ac", "not merged, since .* needed"),
    ],
)
def test_an_explanation_says_what_the_clusters_are(order: str, pair: str, said: str) -> None:
    """Each page is like the next one, and not like the one after that."""
    texts = lines(1, 28)
    pages = {
        name: Page(id=name, text="".join(texts[4 * place :][:20]), title=texts[8][:10], published=f"2026-01-0{order.index(name) + 1}")
        for place, name in enumerate("abc")
    }  # fmt: skip
    with Deduplicator.open(":memory:", settings=Settings(workers=1)) as dedup:
        dedup.scan(pages.values())
        assert re.search(f": {said}", dedup.explain(*pair).explanation[0])
        assert re.search(f": {said}", dedup.explain(*pair).reversed.reversed.explanation[0])
        assert not dedup.explain(pair[0], pages[pair[1]]).clusters, "a given page is in no cluster"
