"""Settings that shape decisions: what the clusters of an index were made with, and what happens when they change."""

from typing import Any

import pytest

from es_dedup import Deduplicator, Page, Settings
from es_dedup.deduplicator import deduplicator
from es_dedup.errors import ConfigError, SettingsDiffer, SettingsMismatch
from es_dedup.hook import DedupHook, dedup_bulk
from es_dedup.index.elastic.adapter import ElasticIndex
from es_dedup.index.embedded import EmbeddedIndex
from es_dedup.index.jobs import JobState
from es_dedup.maintenance.context import open_context
from es_dedup.maintenance.runner import Runner, start_recluster
from es_dedup.settings.recorded import STATISTICS
from tests.commands import rows
from tests.source_indices import FIELDS as SOURCE_FIELDS
from tests.source_indices import attached, canonical_counts, documents, source_index
from tests.source_indices import settings as source_settings
from tests.texts import article
from tests.traffic import run

STORY = [article(place, sentences=1) for place in range(12)]
OWN = [article(100 + place, sentences=1) for place in range(4)]
CUT = "\n".join((*STORY[:8], *OWN[:3]))
PAGES = (
    Page("a", text="\n".join(STORY), title=STORY[0][:10]),
    Page("b", text="\n".join((*STORY[:8], *OWN)), title=STORY[0][:10]),
)
"""Two thirds of each page are shared: one cluster by default, two with the preset ``strict``; ``CUT`` is the second one, truncated."""


def chosen(preset: str = "balanced", order: str = "earliest") -> Settings:
    """Settings with these decision settings."""
    return Settings.model_validate({"decision": {"preset": preset}, "cluster": {"order": order}})


def test_recluster_applies_a_changed_preset(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Deduplicator.open(place, settings=chosen()) as dedup:
        dedup.scan(PAGES)
        assert [cluster.size for cluster in dedup.clusters()] == [2]
    monkeypatch.setenv("ES_DEDUP_DECISION__PRESET", "strict")
    for options, sizes in ((["--dry-run"], [2]), ([], [1, 1])):
        (said,) = rows("--db", place, "elastic", "recluster", *options)
        assert {name: said[name] for name in ("pages", "changed", "clusters_before", "clusters")} == {
            "pages": 2,
            "changed": 1,
            "clusters_before": 1,
            "clusters": 0,
        }
        with Deduplicator.open(place, settings=chosen("strict"), read_only=True) as dedup:
            assert [cluster.size for cluster in dedup.clusters()] == sizes


def test_of_two_that_open_a_new_index_at_once_the_first_ones_settings_are_in_force(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second one looks before the first one has written, and writes after it."""
    kind = ElasticIndex if place.startswith("http") else EmbeddedIndex
    note = kind.note
    opened: list[str] = []

    def slow(index: Any, name: str) -> str | None:
        found = note(index, name)
        if not opened:
            opened.append(name)
            Deduplicator.open(place, settings=chosen("strict")).close()
        return found

    monkeypatch.setattr(kind, "note", slow)
    with Deduplicator.open(place, settings=chosen("loose")) as second:
        assert opened == [STATISTICS]
        assert not_in_force(second) == ["decision.preset"]


def test_of_two_that_add_to_an_empty_index_the_first_ones_settings_hold_for_both(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second one begins while the index is empty, and gets the write session when it is not."""
    session = vars(deduplicator)["write_session"]
    begun: list[Any] = []

    def late(index: Any) -> Any:
        if not begun:
            begun.append(index)
            with Deduplicator.open(place, settings=chosen("loose")) as first:
                first.add_many(PAGES[:1])
        return session(index)

    with Deduplicator.open(place, settings=chosen("strict")) as second:
        monkeypatch.setattr(deduplicator, "write_session", late)
        with pytest.warns(SettingsDiffer):
            second.add_many(PAGES[1:])
        assert not_in_force(second) == ["decision.preset"]
        assert sizes(second) == [2]


def test_stats_name_the_settings_that_are_not_in_force(monkeypatch: pytest.MonkeyPatch) -> None:
    with source_index(documents()) as (_, name), attached(name) as site:
        monkeypatch.setenv("ES_DEDUP_DECISION__PRESET", "strict")
        (said,) = rows("--db", site.place, "index", "stats")
        assert said["settings_not_in_force"] == [
            {"name": "decision.preset", "recorded": "balanced", "current": "strict"}
        ]


def sizes(dedup: Deduplicator) -> list[int]:
    return [cluster.size for cluster in dedup.clusters()]


def not_in_force(dedup: Deduplicator) -> list[str]:
    """Names of the caller's settings that are not in force."""
    differ = dedup.settings_differ
    return [] if differ is None else [each.name for each in (*differ.features, *differ.decisions)]


def test_the_settings_of_the_index_stay_in_force_until_it_is_reclustered(place: str) -> None:
    """No command mixes decisions of two settings, and ``explain`` agrees with ``clusters``."""
    with Deduplicator.open(place, settings=chosen()) as dedup:
        dedup.scan(PAGES)
    with Deduplicator.open(place, settings=chosen("strict", "longest")) as dedup:
        with pytest.warns(
            SettingsDiffer, match=r"decision\.preset is balanced in the index and strict now"
        ) as caught:
            assert sizes(dedup) == [2]
        assert "cluster.order is earliest in the index and longest now" in str(caught[0].message)
        assert dedup.explain("a", "b").relation.same, "as the clusters say"
        other = Page("c", text=CUT, title=PAGES[1].title)
        assert dedup.check(other).duplicate_of == "a"
        assert dedup.add(other).duplicate_of == "a"
        assert sizes(dedup) == [3]
        assert not_in_force(dedup) == ["cluster.order", "decision.preset"]
        assert dedup.recluster().clusters_before == 1
        assert not_in_force(dedup) == []
        assert dedup.explain("a", "b").relation.same is False
        assert sorted(sizes(dedup)) == [1, 2]
    with Deduplicator.open(place, settings=chosen(), read_only=True) as dedup:
        assert not_in_force(dedup) != []
        with pytest.warns(SettingsDiffer, match=r"decision\.preset is strict in the index and balanced now"):
            assert sorted(sizes(dedup)) == [1, 2]


@pytest.mark.parametrize("how", ["scan", "add to nothing"])
def test_a_scan_and_the_first_pages_take_the_callers_settings(place: str, how: str) -> None:
    with Deduplicator.open(place, settings=chosen()) as dedup:
        if how == "scan":
            dedup.scan(PAGES)
    with Deduplicator.open(place, settings=chosen("strict")) as dedup:
        assert not_in_force(dedup) != []
        if how == "scan":
            assert dedup.scan(PAGES).unchanged == len(PAGES)
        else:
            dedup.add_many(PAGES)
        assert not_in_force(dedup) == []
        assert sizes(dedup) == [1, 1]


def test_other_feature_settings_allow_reading_and_refuse_writing(place: str) -> None:
    other = Settings.model_validate({"ccdet": {"window": 7}, "simhash": {"max_hamming_distance": 5}})
    with Deduplicator.open(place) as dedup:
        dedup.scan(PAGES)
        before = list(dedup.clusters())
        pair = dedup.explain("a", "b")
    with pytest.raises(SettingsMismatch, match=r"ccdet\.window is 10 in the index and 7 now"):
        Deduplicator.open(place, settings=other)
    with Deduplicator.open(place, settings=other, read_only=True) as dedup:
        with pytest.warns(SettingsDiffer, match=r"ccdet\.window is 10 in the index and 7 now"):
            assert list(dedup.clusters()) == before
        assert dedup.explain("a", "b") == pair
        assert dedup.check(Page("c", text=PAGES[0].text)).duplicate_of == "a"
        assert dedup.search(STORY[0][:6]).hits


def test_a_job_brings_the_settings_of_its_caller_to_the_worker() -> None:
    """The worker has the default settings; it applies those of the job, and later reclustering by beat keeps them."""
    given = {page.id: {"html": f"<title>{page.title}</title><p>{page.text}</p>"} for page in PAGES}
    strict = source_settings().model_copy(update={"decision": chosen("strict").decision})
    with source_index(given) as (client, name), attached(name) as worker:
        run(worker, "backfill")
        assert canonical_counts(client, name) == {f"{name}/a": 1}
        with open_context(worker.place, strict) as caller:
            job = Runner(caller).start("recluster", {})
        assert job.options["settings"]["decision.preset"] == "strict"
        assert Runner(worker).run(job.id).state is JobState.DONE
        assert len(canonical_counts(client, name)) == 2
        again = start_recluster(worker)
        assert again is not None
        assert Runner(worker).run(again.id).state is JobState.DONE
        assert len(canonical_counts(client, name)) == 2


@pytest.mark.parametrize(
    "wrong", [{"decision.preset": "fierce"}, {"decision.unheard_of": 1}, {"elastic.password": "x"}]
)
def test_a_job_with_settings_that_a_worker_does_not_know_fails(wrong: dict[str, object]) -> None:
    with source_index(documents()) as (_, name), attached(name) as site:
        job = Runner(site).start("recluster", {"settings": wrong})
        with pytest.raises(ConfigError):
            Runner(site).run(job.id)
        failed, _ = site.jobs.job(job.id) or pytest.fail("the job is gone")
        assert failed.state is JobState.FAILED
        assert next(iter(wrong)).rpartition(".")[2] in failed.note


def test_a_hook_with_other_settings_decides_as_the_index_does() -> None:
    """Of several writers with different settings none decides by its own; reclustering reaches all that run."""
    given = {page.id: {"html": f"<title>{page.title}</title><p>{page.text}</p>"} for page in PAGES}
    with source_index(given) as (client, name), attached(name) as site:
        run(site, "backfill")
        with DedupHook.open(site.place, SOURCE_FIELDS, settings=chosen("strict")) as hook:
            source = {"html": f"<title>{PAGES[1].title}</title><p>{CUT}</p>"}
            with pytest.warns(
                SettingsDiffer, match=r"decision\.preset is balanced in the index and strict now"
            ):
                dedup_bulk(client, [{"_index": name, "_id": "c", "_source": source}], hook=hook, refresh=True)
            assert canonical_counts(client, name) == {f"{name}/a": 1}
            with open_context(
                site.place, source_settings().model_copy(update={"decision": chosen("strict").decision})
            ) as caller:
                run(caller, "recluster")
            dedup_bulk(client, [{"_index": name, "_id": "d", "_source": source}], hook=hook, refresh=True)
            assert len(canonical_counts(client, name)) == 2


@pytest.mark.parametrize(
    ("preset", "together"), [("balanced", True), ("strict", False), ("loose", True), ("fast", True)]
)
@pytest.mark.parametrize("way", ["scan", "add"])
def test_a_preset_holds_wherever_pairs_are_decided_on(preset: str, way: str, *, together: bool) -> None:
    with Deduplicator.open(":memory:", settings=chosen(preset)) as dedup:
        if way == "scan":
            dedup.scan(PAGES)
        else:
            for page in PAGES:
                dedup.add(page)
        assert len(sizes(dedup)) == (1 if together else 2)
        assert dedup.explain("a", "b").relation.same is together
        other = Page("c", text=PAGES[1].text, title=PAGES[1].title)
        related = {pair.right: pair.relation.same for pair in dedup.check(other).verdicts}
        assert related.get("b") is True
        assert related.get("a", False) is together
