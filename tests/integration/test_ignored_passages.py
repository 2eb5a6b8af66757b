"""Passages of a site that people have decided to ignore: never counted on new pages, and not on stored ones after a recluster."""

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest

from es_dedup import Deduplicator, Override, Page, Settings
from es_dedup.batch.overrides import load_ignored
from es_dedup.errors import InvalidOverride
from es_dedup.hook import DedupHook, dedup_bulk
from es_dedup.index.source_index import SourceFields
from es_dedup.maintenance.audit import audit
from es_dedup.maintenance.reindex import reindex
from tests.commands import ran
from tests.samples import partition, story
from tests.source_indices import attached, settings, source_index
from tests.texts import article
from tests.traffic import run

ALONE = Settings(workers=1)
WHY = {"reason": "stands on every page", "author": "ed"}
SITES = ("one.example", "two.example")
PASSAGES = [article(900 + number)[:600].strip() for number in range(3)]
"""Long enough to make pages with little text of their own near-duplicates."""


def page(name: str, site: str, own: int, *passages: str) -> Page:
    """A short text of its own between long passages."""
    text = "\n\n".join((*passages[:1], article(own)[:250], *passages[1:]))
    return Page(name, text=text, site=site, title=f"Story {own}", published=f"2026-01-{own % 28 + 1:02}")


def pages(seed: int) -> list[Page]:
    """Pages of two sites with and without passages, among them copies."""
    chosen = random.Random(seed)
    return [
        page(
            f"p{at:02}",
            chosen.choice(SITES),
            chosen.randrange(12),
            *chosen.sample(PASSAGES, chosen.randrange(3)),
        )
        for at in range(40)
    ]


def fresh(given: list[Page], overrides: list[Override]) -> tuple[object, dict[str, bytes]]:
    """Clusters and features of a first scan with overrides in force."""
    with Deduplicator.open(":memory:", settings=ALONE) as dedup:
        dedup.import_overrides(overrides)
        dedup.scan(given)
        return partition(dedup), features(dedup)


def features(dedup: Deduplicator) -> dict[str, bytes]:
    return {each.page_id: each.payload for each in dedup.records()}


@pytest.mark.parametrize("seed", range(3))
def test_clusters_after_a_recluster_are_those_of_a_fresh_run(place: str, seed: int) -> None:
    given = pages(seed)
    with Deduplicator.open(place, settings=ALONE) as dedup:
        dedup.scan(given)
        before = partition(dedup), features(dedup)
        first = dedup.override_ignore(SITES[0], PASSAGES[0], **WHY)
        assert first.changed == ()
        assert (partition(dedup), features(dedup)) == before
        dedup.override_ignore(SITES[1], PASSAGES[2].replace(" ", "\n "), **WHY)
        assert dedup.recluster().without_text == 0
        assert (partition(dedup), features(dedup)) == fresh(given, dedup.overrides()) != before
        assert {each.id: dedup.text(each.id) for each in given} == {each.id: each.text for each in given}
        dedup.undo_override(first.overrides[0].id)
        dedup.recluster()
        assert (partition(dedup), features(dedup)) == fresh(given, dedup.overrides())
        for each in dedup.overrides():
            dedup.undo_override(each.id)
        dedup.recluster()
        assert (partition(dedup), features(dedup)) == before
        assert dedup.recluster().changed == 0


def test_pages_that_come_later_are_added_without_the_passage(place: str) -> None:
    old, new, other = (page(f"p{at}", SITES[at == 2], at, *PASSAGES[:2]) for at in range(3))
    with Deduplicator.open(place, settings=ALONE) as dedup:
        for passage in PASSAGES[:2]:
            dedup.override_ignore(SITES[0], passage, **WHY)
        again = dedup.override_ignore(SITES[0], f" {PASSAGES[0]} ", **WHY)
        assert [each.text for each in dedup.overrides()] == PASSAGES[:2]
        assert again.overrides[0] == dedup.overrides()[0]
        dedup.add(old)
        assert dedup.check(new).outcome == "unique"
        assert dedup.explain("p0", new).relation == "different"
        assert dedup.explain("p0", replace(other, site=SITES[0])).relation == "different"
        assert dedup.add(new).outcome == "unique"
        for side in ("left", "right"):
            pieces = (piece for row in dedup.aligned("p0", new) for piece in getattr(row, side))
            shown = "".join(piece.text for piece in pieces)
            assert PASSAGES[0][:20] not in shown
            assert "\n\n\n" not in shown
        alone = Page("alone", text=PASSAGES[0], site=SITES[0])
        assert dedup.add_many([alone]).skipped == {"no-words": 1}
        dedup.undo_override(dedup.overrides()[0].id)
        dedup.recluster()
        assert not dedup.record("alone").skipped
        assert dedup.record("alone").length > 0


def test_a_check_sees_at_once_what_somebody_else_has_decided(place: str) -> None:
    old, new = (Page(name, text=PASSAGES[0], site=SITES[0]) for name in ("old", "new"))
    with Deduplicator.open(place, settings=ALONE) as dedup:
        dedup.add(old)
        with Deduplicator.open(place, settings=ALONE, read_only=True) as reader:
            assert reader.check(new).duplicate_of == "old"
            made = dedup.override_ignore(SITES[0], PASSAGES[0], **WHY)
            assert reader.check(new).outcome == "unique"
            dedup.undo_override(made.overrides[0].id)
            assert reader.check(new).duplicate_of == "old"


def test_pages_without_kept_text_stay_as_they_are_and_are_counted(place: str) -> None:
    kept = ALONE.model_copy(update={"index": ALONE.index.model_copy(update={"keep_text": False})})
    with Deduplicator.open(place, settings=kept) as dedup:
        dedup.scan([page(f"p{at}", SITES[at % 2], at, *PASSAGES[:1]) for at in range(4)])
        dedup.override_ignore(SITES[0], PASSAGES[0], **WHY)
        before = features(dedup)
        assert dedup.recluster().without_text == 2
        assert features(dedup) == before
    said = ran("--db", place, "elastic", "recluster").output
    assert "2 pages of sites with ignored passages have no kept text" in said


def test_what_is_no_passage_is_refused(place: str) -> None:
    with Deduplicator.open(place, settings=ALONE) as dedup:
        for site, text in (("", "x"), ("a", " ")):
            with pytest.raises(InvalidOverride):
                dedup.override_ignore(site, text, **WHY)


def test_the_command_line(place: str, tmp_path: Path) -> None:
    with Deduplicator.open(place, settings=ALONE) as dedup:
        dedup.scan(pages(0))

    def said(*words: str) -> str:
        return ran("--db", place, *words, USER="ed").output

    override = ("quality", "override")
    ignore = (*override, "ignore", "--site", SITES[0], "--text", PASSAGES[0], "--reason", "boilerplate")
    first = said(*ignore)
    assert "es-dedup elastic recluster" in first
    assert "no stored page" not in first
    unknown = said(*override, "ignore", "--site", "other.example", "--text", "x", "--reason", "typo")
    assert "no stored page is of site other.example" in unknown
    said(*override, "undo", unknown.split()[0])
    assert f"{SITES[0]}: " in said(*override, "list")
    file = tmp_path / "overrides.jsonl"
    said(*override, "export", "--output", str(file))
    said(*override, "import", str(file))
    made = json.loads(file.read_text(encoding="utf-8").splitlines()[0])["id"]
    assert "es-dedup elastic recluster" in said(*override, "undo", made)
    assert "es-dedup elastic recluster" in said(*ignore)
    said("elastic", "recluster")
    with Deduplicator.open(place, settings=ALONE, read_only=True) as dedup:
        assert (partition(dedup), features(dedup)) == fresh(pages(0), dedup.overrides())
        assert load_ignored(dedup._index) == {SITES[0]: (PASSAGES[0],)}


@pytest.mark.slow
def test_source_indices_follow_by_a_recluster_and_the_hook_knows_passages() -> None:
    fields = SourceFields("html", published="at", site="site")
    given = {
        f"d{at:02}": {
            "html": f"{PASSAGES[0]}\n\n{article(at)[:150]}",
            "at": f"2026-01-{at + 1:02}",
            "site": SITES[0],
        }
        for at in range(12)
    }
    with source_index(given) as (client, name), attached(name, settings(), fields=fields) as site:
        run(site, "backfill")
        assert len(partition(site.dedup)) < len(given)
        (made,) = site.dedup.override_ignore(SITES[0], PASSAGES[0], **WHY).overrides
        with DedupHook.open(site.place, fields, settings=settings()) as hook:
            actions = [{"_index": name, "_id": "d00", **given["d00"], "at": "2026-02-01"}]
            dedup_bulk(client, actions, hook=hook)
        run(site, "recluster")
        assert all(len(each) == 1 for each in partition(site.dedup))
        assert audit(site).as_dict()["found"] == {}
        before = features(site.dedup)
        reindex(site.place, settings())
        assert features(site.dedup) == before
        site.dedup.undo_override(made.id)
        run(site, "recluster")
        assert len(partition(site.dedup)) < len(given)
        assert audit(site).as_dict()["found"] == {}


def test_a_story_is_not_cut_inside_words() -> None:
    with Deduplicator.open(":memory:", settings=ALONE) as dedup:
        dedup.override_ignore("s", "fer", **WHY)
        one = replace(story(0), site="s")
        dedup.add(one)
        with Deduplicator.open(":memory:", settings=ALONE) as other:
            other.add(one)
            assert features(dedup) == features(other)
