"""Replacing, removing, browsing, dry runs and order: what is stored stays right."""

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from es_dedup import Deduplicator, Page, Settings
from es_dedup.batch import stored_pages
from es_dedup.batch.clusters import QUICK_PAGES
from es_dedup.errors import UnknownPage
from es_dedup.readers import read_pages
from es_dedup.settings.loading import IndexConfig
from tests.samples import edges, pages, partition, small_pages, story

ALONE = Settings(workers=1)


@pytest.fixture
def dedup() -> Iterator[Deduplicator]:
    """Ten stories, and four copies of the first."""
    with Deduplicator.open(":memory:", settings=ALONE) as opened:
        opened.add_many(
            [*(story(seed) for seed in range(10)), *(story(0, f"copy-{n}", day=2 + n) for n in range(4))]
        )
        yield opened


def swept(dedup: Deduplicator) -> set[frozenset[str]]:
    """Clusters after everything was compared anew; ids are left aside."""
    dedup.recluster()
    return partition(dedup)


class TestReplace:
    def test_a_member_that_changes_leaves_its_cluster(self, dedup: Deduplicator) -> None:
        decision = dedup.update(story(50, "copy-1"))
        assert decision.outcome == "unique"
        assert dedup.cluster("copy-1").size == 1
        assert dedup.cluster("story-0").size == 4
        assert partition(dedup) == swept(dedup)

    def test_a_canonical_document_that_changes_leaves_the_others_together(self, dedup: Deduplicator) -> None:
        dedup.update(story(50, "story-0"))
        assert dedup.cluster("copy-2").canonical == "copy-0"
        assert dedup.cluster("copy-2").size == 4
        assert dedup.cluster("story-0").size == 1
        assert partition(dedup) == swept(dedup)

    def test_a_canonical_document_that_joins_another_cluster(self, dedup: Deduplicator) -> None:
        decision = dedup.update(story(1, "story-0", day=9))
        assert decision.duplicate_of == "story-1"
        assert {frozenset(("story-0", "story-1")), frozenset(f"copy-{n}" for n in range(4))} <= partition(
            dedup
        )
        assert partition(dedup) == swept(dedup)

    def test_a_new_time_alone_moves_the_canonical_document(self, dedup: Deduplicator) -> None:
        dedup.update(story(0, "copy-3", published="2001-01-01"))
        assert dedup.cluster("story-0").canonical == "copy-3"
        assert partition(dedup) == swept(dedup)

    def test_the_same_id_in_two_batches_of_one_call(
        self, dedup: Deduplicator, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("es_dedup.batch.ingest.Ingest.write_pages", 256)
        filler = [story(100 + n, f"filler-{n}") for n in range(600)]
        with Deduplicator.open(":memory:", settings=ALONE) as fresh:
            report = fresh.add_many([story(1, "twice"), *filler, story(2, "twice"), story(2, "other")])
            assert (report.read, report.stored) == (603, 602)
            assert (report.failed, report.superseded) == ({}, 1)
            assert fresh.text("twice") == story(2).text
            assert fresh.cluster("twice").size == 2
            assert partition(fresh) == swept(fresh)

    def test_what_a_later_batch_of_one_call_overwrites_is_not_counted_as_stored(
        self, dedup: Deduplicator, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("es_dedup.batch.ingest.Ingest.write_pages", 256)
        monkeypatch.setattr("es_dedup.batch.ingest.FULL_SHARE", 0)  # decide on pages as they are stored
        filler = [story(100 + n, f"filler-{n}") for n in range(256)]
        report = dedup.add_many([story(50, "first"), *filler, story(50, "second")], policy="overwrite")
        assert (report.read, report.stored, report.left_out) == (258, 257, 1)
        assert (report.outcomes["duplicate"], sum(report.outcomes.values())) == (1, 257)
        assert report.decisions["first"].duplicate_of == "second"
        assert not dedup.clusters_pending
        assert partition(dedup) == swept(dedup)

    @pytest.mark.parametrize("write_pages", [256, 18_432])
    @pytest.mark.parametrize("command", ["scan", "add_many"])
    def test_equal_rows_without_ids_are_stored_once_and_told(
        self, tmp_path: Path, command: str, write_pages: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Their ids are digests of their contents: wherever the copies stand, each is counted as what it is."""
        monkeypatch.setattr("es_dedup.batch.ingest.Ingest.write_pages", write_pages)
        texts = [story(n).text for n in range(300)]
        rows = [{"text": text} for text in (*texts, *texts[:40], texts[0], *texts[:10])]
        (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        given = [page for page in read_pages([tmp_path / "rows.jsonl"]) if isinstance(page, Page)]
        with Deduplicator.open(":memory:", settings=ALONE) as dedup:
            told = dedup.add_many(given, dry_run=True)
            done = getattr(dedup, command)(given)
            for report in (told, done):
                counts = (report.read, report.stored, report.repeated, report.unchanged, report.superseded)
                assert counts == (351, 300, 51, 0, 0)
            again = getattr(dedup, command)(given)
            assert (again.stored, again.repeated + again.unchanged) == (0, 351)
            assert dedup.stats()["pages"] == 300

    def test_pages_added_one_by_one_are_decided_with_statistics_of_at_least_half_of_them(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("es_dedup.batch.ingest.QUICK_PAGES", 20)
        form = "您好，您在本店购买的商品已经由仓库发出，订单编号为{}号，请您在收到包裹以后当面验收，如有问题请联系客服。"
        rows = [Page(id=f"row-{n}", text=form.format(70_123 + 77 * n), title="您的订单") for n in range(40)]
        with Deduplicator.open(":memory:", settings=ALONE) as dedup:
            for page in (*(story(n) for n in range(40)), *rows):
                dedup.add(page)
            assert len(partition(dedup)) == 80, "rows of a form are told apart"
            assert partition(dedup) == swept(dedup)

    def test_a_dry_run_names_the_duplicates_that_the_write_names(self) -> None:
        """Versions before of replaced pages, which are still stored in a dry run, bring nothing together."""
        source = random.Random(1)
        with Deduplicator.open(":memory:", settings=ALONE) as dedup:
            dedup.add_many(story(n) for n in range(QUICK_PAGES + 100))
            for turn in range(40):
                given = [
                    story(source.choice([3000, 3001, 4000 + 100 * turn + name]), f"page-{name}")
                    for name in source.sample(range(12), 6)
                ]
                told, done = dedup.add_many(given, dry_run=True), dedup.add_many(given)
                assert {name: each.duplicate_of for name, each in told.decisions.items()} == {
                    name: each.duplicate_of for name, each in done.decisions.items()
                }

    def test_a_page_that_cannot_be_stored_leaves_the_old_one_in_its_cluster(
        self, dedup: Deduplicator
    ) -> None:
        bad = story(50, "copy-1", url="https://example.org/\ud800")
        report = dedup.add_many([bad])
        assert list(report.failed) == ["copy-1"]
        assert dedup.cluster("copy-1").canonical == "story-0"
        assert partition(dedup) == swept(dedup)

    def test_an_unknown_page_is_not_updated(self, dedup: Deduplicator) -> None:
        with pytest.raises(UnknownPage):
            dedup.update(story(99))


class TestRemove:
    def test_a_canonical_document(self, dedup: Deduplicator) -> None:
        told = dedup.would_remove(["story-0", "nobody", "story-0", "story-5"])
        assert (told.removed, told.unknown, told.repaired_clusters) == (2, ("nobody",), 1)
        report = dedup.remove(["story-0", "nobody", "story-0"])
        assert (report.removed, report.unknown, report.repaired_clusters >= 1) == (1, ("nobody",), True)
        assert dedup.cluster("copy-1").canonical == "copy-0"
        assert (dedup.cluster("copy-1").id, dedup.would_remove(["story-0"]).unknown) == (
            "story-0",
            ("story-0",),
        )
        assert partition(dedup) == swept(dedup)

    def test_the_only_page_of_a_cluster(self, dedup: Deduplicator) -> None:
        assert dedup.remove("story-5").removed == 1
        assert dedup.search("story").total_documents == 0
        with pytest.raises(UnknownPage):
            dedup.cluster("story-5")
        assert dedup.remove(["story-5"]).removed == 0

    def test_everything(self, dedup: Deduplicator) -> None:
        names = [record.page_id for records in dedup._index.scan() for record in records]
        assert dedup.remove(names).removed == 14
        assert (partition(dedup), dedup.stats()["pages"]) == (set(), 0)
        assert dedup.add(story(3)).outcome == "unique"

    def test_all_first_copies_of_many(self) -> None:
        """Copies are compared with the first ones only; when these go, the others must find each other."""
        with Deduplicator.open(":memory:", settings=ALONE) as many:
            many.add_many(story(1, f"copy-{n:03}") for n in range(150))
            assert len(partition(many)) == 1
            many.remove([f"copy-{n:03}" for n in range(100)])
            assert len(partition(many)) == 1
            assert partition(many) == swept(many)

    def test_a_copy_comes_back_under_the_name_of_a_removed_canonical_document(
        self, dedup: Deduplicator
    ) -> None:
        dedup.remove(["story-0"])
        dedup.add(story(60, "story-0"))
        assert dedup.cluster("story-0").size == 1
        assert dedup.cluster("copy-0").size == 4
        assert partition(dedup) == swept(dedup)


class TestBrowse:
    def test_clusters_show_evidence_of_each_member(self, dedup: Deduplicator) -> None:
        (cluster,) = dedup.clusters(min_size=2)
        assert (cluster.canonical, cluster.size) == ("story-0", 5)
        assert all(member.evidence["left_cover"] == 1.0 for member in cluster.members)
        assert [each.id for each in dedup.clusters()] == sorted(each.id for each in dedup.clusters())
        assert len(list(dedup.clusters())) == 10
        assert dedup.cluster("copy-2") == cluster

    def test_a_canonical_document_that_is_gone_is_no_error(self, dedup: Deduplicator) -> None:
        dedup._index.delete_many(["story-0"])  # what a reader sees while another process removes pages
        assert {member.page_id for member in dedup.cluster("copy-1").members} >= {"copy-0"}
        assert len(list(dedup.clusters())) == 10

    def test_search_counts_groups_and_documents(self, dedup: Deduplicator) -> None:
        words = (story(0).text or "")[:4]
        found = dedup.search(words, limit=1)
        assert (found.total_groups, found.total_documents, len(found.hits)) == (1, 5, 1)
        assert (found.hits[0].cluster_id, found.hits[0].similar_count) == ("story-0", 4)
        flat = dedup.search(words, collapse=False, limit=3, offset=3)
        assert (flat.total_groups, flat.total_documents, len(flat.hits)) == (1, 5, 2)
        assert dedup.search(words, offset=5).hits == ()
        assert dedup.search("").total_documents == 0
        with pytest.raises(ValueError, match="negative"):
            dedup.search(words, offset=-1)

    def test_a_search_reads_the_matches_that_it_shows(
        self, dedup: Deduplicator, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(stored_pages, "GROUPED", 2)
        asked: list[int] = []
        search = dedup._index.search

        def watched(query: str, *, limit: int) -> list[tuple[str, float]]:
            asked.append(limit)
            return search(query, limit=limit)

        monkeypatch.setattr(dedup._index, "search", watched)
        words = (story(0).text or "")[:4]
        found = dedup.search(words, limit=1)
        assert (found.total_groups, found.total_documents, len(found.hits)) == (None, 5, 1)
        assert asked == [2]
        found = dedup.search(words, limit=2)  # copies of one page: the second group is looked for
        assert (found.total_groups, found.total_documents, len(found.hits)) == (1, 5, 1)
        assert asked == [2, 2, 8]

    def test_stats(self, dedup: Deduplicator) -> None:
        stats = dedup.stats()
        named = ("pages", "clusters", "unique_pages", "duplicates", "largest_cluster")
        assert [stats[name] for name in named] == [14, 1, 9, 4, 5]

    def test_without_texts(self) -> None:
        bare = Settings(index=IndexConfig(keep_text=False), workers=1)
        with Deduplicator.open(":memory:", settings=bare) as opened:
            opened.add_many([story(1), story(1, "copy")])
            assert opened.text("story-1") == ""
            assert opened.cluster("copy").size == 2


class TestDryRun:
    def test_writes_nothing_and_says_what_adding_says(self, tmp_path: Path) -> None:
        path = tmp_path / "pages.db"
        with Deduplicator.open(path) as opened:
            opened.scan(pages()[:120])
        before = path.read_bytes()
        with Deduplicator.open(path) as opened:
            told = opened.add_many(iter(pages()[100:]), dry_run=True)
        assert path.read_bytes() == before
        with Deduplicator.open(path) as opened:
            done = opened.add_many(pages()[100:])
        assert (told.read, told.stored, told.unchanged, told.skipped) == (100, 80, 20, {"no-main-text": 4})
        assert (done.stored, done.unchanged) == (told.stored, told.unchanged)
        same = [name for name, each in done.decisions.items() if told.decisions.get(name, None) and told.decisions[name].outcome == each.outcome]  # fmt: skip
        assert len(same) >= 0.9 * len(done.decisions)

    def test_into_an_empty_index_it_is_exact(self) -> None:
        with Deduplicator.open(":memory:") as opened:
            told = opened.scan(pages(), dry_run=True)
            assert opened.stats()["pages"] == 0
            done = opened.scan(pages())
        assert told.outcomes == done.outcomes
        assert told.decisions == done.decisions


class TestOrder:
    @pytest.fixture(scope="module")
    @staticmethod
    def scanned() -> tuple[set[frozenset[str]], list[tuple[str, str, str, float]]]:
        """Clusters and edges of one scan."""
        with Deduplicator.open(":memory:", settings=ALONE) as opened:
            opened.scan(small_pages())
            assert len(partition(opened)) < len(small_pages())
            return partition(opened), edges(opened)

    @settings(max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(order=st.permutations(range(len(small_pages()))))
    def test_one_by_one_and_a_recluster_equal_a_scan(
        self, scanned: tuple[set[frozenset[str]], list[tuple[str, str, str, float]]], order: list[int]
    ) -> None:
        with Deduplicator.open(":memory:", settings=ALONE) as opened:
            for place in order:
                opened.add(small_pages()[place])
            assert (swept(opened), edges(opened)) == scanned

    @settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(order=st.permutations(range(len(small_pages()))), cuts=st.lists(st.integers(0, 40), max_size=4))
    def test_several_calls_and_a_recluster_equal_a_scan(
        self,
        scanned: tuple[set[frozenset[str]], list[tuple[str, str, str, float]]],
        order: list[int],
        cuts: list[int],
    ) -> None:
        given_pages: list[Page] = [small_pages()[place] for place in order]
        with Deduplicator.open(":memory:", settings=ALONE) as opened:
            for start, end in zip([0, *sorted(cuts)], [*sorted(cuts), 40], strict=True):
                opened.add_many(given_pages[start:end])
            assert (swept(opened), edges(opened)) == scanned
