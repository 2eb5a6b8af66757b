"""Overrides on the embedded index and on Elasticsearch: clusters follow at once, and nothing loses them."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from es_dedup import Deduplicator, Override, OverrideKind, Settings
from es_dedup.batch.overrides import JOURNAL, OVERRIDES, from_dict
from es_dedup.errors import (
    DamagedData,
    DuplicatePage,
    InvalidOverride,
    OverrideConflict,
    SchemaMismatch,
    UnknownOverride,
    UnknownPage,
)
from es_dedup.views.cluster_json import cluster_as_dict
from tests.commands import ran, rows
from tests.samples import partition, story

ALONE = Settings(workers=1)
WHY = {"reason": "read both", "author": "ed"}
COPIES = [f"copy-{number}" for number in range(4)]


@pytest.fixture
def dedup(place: str) -> Iterator[Deduplicator]:
    """Three stories, and four copies of the first, the later the number."""
    with Deduplicator.open(place, settings=ALONE) as opened:
        opened.scan(
            [
                *(story(seed) for seed in range(3)),
                *(story(0, name, day=2 + at) for at, name in enumerate(COPIES)),
            ]
        )
        yield opened


def canonical(dedup: Deduplicator, page_id: str) -> str:
    return dedup.cluster(page_id).canonical


def test_clusters_follow_in_the_same_call_and_go_back_when_it_is_undone(dedup: Deduplicator) -> None:
    before = partition(dedup)
    done = dedup.override_different("copy-0", "copy-1", **WHY)
    assert canonical(dedup, "copy-1") == "copy-1"
    assert done.changed == (*COPIES, "story-0")
    (stored,) = dedup.overrides()
    assert done.overrides == (stored,)
    assert (stored.kind, stored.pages, stored.reason, stored.author) == (
        OverrideKind.DIFFERENT,
        ("copy-0", "copy-1"),
        "read both",
        "ed",
    )
    undone = dedup.undo_override(stored.id, reason="wrong page", author="al").overrides[0]
    assert (undone.undone_by, undone.undone_reason) == ("al", "wrong page")
    assert undone.undone >= undone.time
    assert partition(dedup) == before
    assert dedup.overrides() == []
    assert dedup.overrides(undone=True) == [undone]
    assert dedup.undo_override(stored.id).overrides == (undone,)


def test_nothing_loses_overrides(dedup: Deduplicator, place: str) -> None:
    dedup.override_different("story-0", "copy-1", **WHY)
    dedup.override_same("story-1", "story-2", **WHY)
    dedup.override_canonical("copy-2", **WHY)
    kept, clusters = dedup.overrides(), partition(dedup)
    assert {frozenset(("story-1", "story-2")), frozenset(("copy-1", *COPIES[2:], "copy-0"))} & clusters
    dedup.recluster()
    assert (dedup.overrides(), partition(dedup)) == (kept, clusters)
    dedup.recluster_as_before()
    dedup.scan([story(0, "copy-1", day=3)])
    assert partition(dedup) == clusters
    assert dedup.recluster(dry_run=True).changed == 0
    dedup.remove(["copy-1", "story-2"])
    dedup.add_many([story(2), story(0, "copy-1", day=3)])
    assert partition(dedup) == clusters
    dedup.close()
    with Deduplicator.open(place, settings=ALONE) as again:
        assert (again.overrides(), partition(again)) == (kept, clusters)


def test_what_cannot_hold_is_refused_and_changes_nothing(dedup: Deduplicator) -> None:
    first = dedup.override_same("copy-0", "copy-1", **WHY).overrides[0]
    assert dedup.override_same("copy-1", "copy-0", reason="again", author="al").overrides == (first,)
    before = partition(dedup)
    with pytest.raises(OverrideConflict, match=f"different copy-0 copy-1 .*{first.id}.*undo one"):
        dedup.override_different("copy-0", "copy-1", **WHY)
    with pytest.raises(UnknownPage):
        dedup.override_same("copy-0", "nowhere", **WHY)
    with pytest.raises(InvalidOverride, match="named twice"):
        dedup.override_same("copy-0", "copy-0", **WHY)
    with pytest.raises(InvalidOverride, match="author"):
        dedup.override_canonical("copy-0", reason="x", author=" ")
    with pytest.raises(InvalidOverride, match="no text"):
        dedup.override_canonical("copy-0", reason="\ud800", author="ed")
    with pytest.raises(InvalidOverride, match="reason has 1,001 characters"):
        dedup.override_canonical("copy-0", reason="r" * 1_001, author="ed")
    with pytest.raises(UnknownOverride):
        dedup.undo_override("nothing")
    assert (dedup.overrides(undone=True), partition(dedup)) == ([first], before)


def test_pages_decided_different_are_no_duplicates_for_policies_checks_and_dry_runs(
    dedup: Deduplicator,
) -> None:
    dedup.remove(COPIES[1:])
    copy = story(0, "copy-0", day=8)
    assert dedup.check(copy).duplicate_of == "story-0"
    dedup.override_different("story-0", "copy-0", **WHY)
    assert dedup.check(copy).outcome == "unique"
    assert dedup.add_many([copy], dry_run=True).decisions == {}
    dedup.add_many([copy], policy="fail")
    assert dedup.add_many([story(0, "copy-0", day=9)], policy="skip").left_out == 0
    assert canonical(dedup, "copy-0") == "copy-0"
    dedup.override_same("copy-0", "story-1", **WHY)
    dry = dedup.add_many([story(0, "copy-0", day=7)], dry_run=True).decisions
    assert dry["copy-0"].duplicate_of == canonical(dedup, "story-1")


def test_a_page_that_is_stored_already_is_decided_on_as_people_have_decided(dedup: Deduplicator) -> None:
    dedup.override_same("story-1", "copy-0", reason="one event", author="al")
    dedup.override_different("story-0", "copy-1", **WHY)
    same, apart = dedup.check(story(1)), dedup.check(story(0, "copy-1", day=3))
    assert (same.outcome, same.duplicate_of, same.cluster_id) == ("duplicate", "story-0", "story-0")
    assert same.notes == ("copy-0: decided same by al: one event",)
    assert same.verdicts[0].explanation[2].startswith("decided same by al: one event; without this rejected")
    assert apart.notes == ("story-0: decided different by ed: read both",)
    assert "story-0" not in {each.right for each in apart.verdicts}
    changed = replace(story(1), title="Another title")
    dry = dedup.add_many([changed], dry_run=True, policy="mark").decisions
    assert dry["story-1"].duplicate_of == "story-0"
    with pytest.raises(DuplicatePage):
        dedup.add_many([changed], policy="fail")
    added = dedup.add(changed)
    assert "copy-0" in {each.right for each in added.verdicts}
    left_out = dedup.add_many([replace(changed, title="A third title")], policy="skip")
    assert left_out.left_out == 1
    assert left_out.decisions["story-1"].duplicate_of == "copy-0"
    assert dedup.check(story(1)).duplicate_of == "story-0"
    dedup.remove([*COPIES, "story-0"])
    assert dedup.add_many([changed], policy="skip").left_out == 0


def test_explanations_and_clusters_name_overrides(dedup: Deduplicator) -> None:
    rules = dedup.explain("story-0", "copy-1")
    dedup.override_different("story-0", "copy-0", **WHY)
    dedup.override_same("copy-1", "copy-0", reason="one event", author="al")
    dedup.override_canonical("copy-1", **WHY)
    found = dedup.explain("story-0", "copy-1")
    assert (found.relation, found.decided_by) == ("different", "overrides")
    assert found.reason == "decided different by ed: read both; decided same by al: one event"
    assert found.explanation[0].endswith(": not merged")
    assert found.explanation[2] == f"{found.reason}; without this {rules.explanation[2]}"
    assert found.otherwise == replace(rules, clusters=())
    assert (found.rules, found.all_verdicts) == (rules.rules, rules.all_verdicts)
    assert dedup.explain("copy-1", "story-0").overrides == found.overrides[::-1]
    assert found.reversed.overrides == found.overrides[::-1]
    shown = cluster_as_dict(dedup, dedup.cluster("copy-0"), evidence=True)
    assert shown["canonical"]["overrides"] == [
        "copy-0: decided same by al: one event",
        "decided canonical by ed: read both",
    ]
    (member,) = [each for each in shown["members"] if each["page_id"] == "copy-0"]
    assert "story-0: decided different by ed: read both" in member["overrides"]
    assert member["evidence"]["decided_by"] == "overrides"
    assert member["evidence"]["otherwise"]["relation"] == "exact"


def test_import_takes_all_or_nothing_and_is_idempotent(dedup: Deduplicator) -> None:
    dedup.override_same("story-1", "story-2", **WHY)
    dedup.undo_override(dedup.override_canonical("copy-1", **WHY).overrides[0].id)
    exported = [from_dict(json.loads(json.dumps(each.as_dict()))) for each in dedup.overrides(undone=True)]
    with Deduplicator.open(":memory:", settings=ALONE) as other:
        assert len(other.import_overrides(exported).overrides) == 2
        assert other.import_overrides(exported).overrides == ()
        other.scan([*(story(seed) for seed in range(3))])
        assert canonical(other, "story-2") == canonical(other, "story-1")
        against = Override(
            "x", OverrideKind.DIFFERENT, ("story-1", "story-2"), "r", "a", "2026-01-02T00:00:00Z"
        )
        beside = Override("y", OverrideKind.CANONICAL, ("story-2",), "r", "a", "2026-01-01T00:00:00Z")
        with pytest.raises(OverrideConflict):
            other.import_overrides([against, beside])
        assert set(other.overrides(undone=True)) == set(exported)


def test_rows_of_another_format_and_damaged_ones_are_refused(dedup: Deduplicator) -> None:
    dedup.override_same("copy-0", "copy-1", **WHY)
    head = str(dedup._index.note(OVERRIDES))
    for note, error in (
        (head.replace('"format": 2', '"format": 3'), SchemaMismatch),
        (head.replace('"rows": 1', '"rows": 1000000000000'), DamagedData),
        ("{", DamagedData),
    ):
        dedup._index.set_note(OVERRIDES, note)
        with pytest.raises(error):
            dedup.override_same("copy-0", "copy-2", **WHY)


def test_what_others_record_is_read_row_by_row(dedup: Deduplicator, place: str) -> None:
    with Deduplicator.open(place, settings=ALONE) as other:
        for name in COPIES[1:]:
            dedup.override_different("copy-0", name, **WHY)
            assert other.overrides() == dedup.overrides()
        assert json.loads(str(dedup._index.note(OVERRIDES)))["rows"] == 3
        first = dedup.overrides()[0]
        other.undo_override(first.id)
        assert first not in dedup.overrides()
        JOURNAL.cached.clear()
        assert [each.id for each in dedup.overrides(undone=True)] == [
            each.id for each in other.overrides(undone=True)
        ]
        dedup._index.set_note(JOURNAL.row(4), None)
        assert dedup.overrides() == other.overrides()
        JOURNAL.cached.clear()
        with pytest.raises(DamagedData):
            dedup.overrides()


def test_the_command_line(dedup: Deduplicator, place: str, tmp_path: Path) -> None:
    dedup._index.refresh()
    dedup.close()

    def run(*words: str, code: int = 0) -> list[dict[str, object]]:
        return rows("--db", place, "quality", "override", *words, code=code, USER="ed")

    (different,) = run("different", "copy-0", "copy-1", "--reason", "two events")
    assert different["changed"] == [*COPIES, "story-0"]
    run("same", "copy-0", "story-1", "--reason", "one event", "--author", "al")
    run("same", "copy-1", "story-1", "--reason", "x", code=1)
    run("canonical", "copy-0", "--reason", "the original")
    for words in (("clusters", "--evidence"), ("explain", "copy-0", "story-1"), ("show", "story-1")):
        assert "decided same by al: one event" in ran("--db", place, *words, code=0).stdout
    listed = run("list")
    assert [(each["kind"], each["author"]) for each in listed] == [
        ("different", "ed"),
        ("same", "al"),
        ("canonical", "ed"),
    ]
    run("undo", str(listed[0]["id"]))
    file = tmp_path / "overrides.jsonl"
    run("export", "--output", str(file))
    assert len(run("list", "--all")) == len(file.read_text(encoding="utf-8").splitlines()) == 3
    (again,) = run("import", str(file))
    assert again["overrides"] == []
    file.write_text('{"kind": "same"}\n', encoding="utf-8")
    run("import", str(file), code=1)
