"""Overrides on the embedded index and on Elasticsearch: clusters follow at once, and nothing loses them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from es_dedup import Deduplicator, Override, OverrideKind, Settings
from es_dedup.batch.overrides import OVERRIDES, as_dict, from_dict, note_of
from es_dedup.cli.main import app
from es_dedup.errors import (
    DamagedData,
    InvalidOverride,
    OverrideConflict,
    SchemaMismatch,
    UnknownOverride,
    UnknownPage,
)
from tests.samples import partition, story
from tests.servers import fresh_name, remove, url_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ALONE = Settings(workers=1)
WHY = {"reason": "read both", "author": "ed"}
COPIES = [f"copy-{number}" for number in range(4)]


@pytest.fixture(params=["file", "es8"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Where an index can be made."""
    if request.param == "file":
        yield str(tmp_path / "pages.db")
        return
    url = f"{url_of('es8')}/{fresh_name()}"
    yield url
    remove(url)


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


def test_same_and_canonical(dedup: Deduplicator) -> None:
    dedup.override_same("story-1", "copy-2", **WHY)
    dedup.override_canonical("copy-3", **WHY)
    found = dedup.cluster("story-1")
    assert found.canonical == "copy-3"
    assert {each.page_id for each in found.members} == {"story-0", "story-1", *COPIES[:3]}
    dedup.remove("copy-3")
    assert canonical(dedup, "story-1") == "story-0"
    dedup.add(story(0, "copy-3", day=9))
    assert canonical(dedup, "story-1") == "copy-3"


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


def test_import_takes_all_or_nothing_and_is_idempotent(dedup: Deduplicator) -> None:
    dedup.override_same("story-1", "story-2", **WHY)
    dedup.undo_override(dedup.override_canonical("copy-1", **WHY).overrides[0].id)
    exported = [from_dict(json.loads(json.dumps(as_dict(each)))) for each in dedup.overrides(undone=True)]
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


def test_notes_of_a_later_format_and_damaged_ones_are_refused(dedup: Deduplicator) -> None:
    for note, error in (
        (note_of([]).replace('"format": 1', '"format": 2'), SchemaMismatch),
        ('{"format": 1, "overrides": [{"kind": "same"}]}', DamagedData),
        ("{", DamagedData),
    ):
        dedup._index.set_note(OVERRIDES, note)
        with pytest.raises(error):
            dedup.override_same("copy-0", "copy-1", **WHY)


def test_the_command_line(dedup: Deduplicator, place: str, tmp_path: Path) -> None:
    dedup._index.refresh()
    dedup.close()

    def run(*words: str, code: int = 0) -> list[dict[str, object]]:
        done = CliRunner().invoke(app, ["--db", place, "--json", "override", *words], env={"USER": "ed"})
        assert done.exit_code == code, done.output
        return [json.loads(line) for line in done.stdout.splitlines()]

    (different,) = run("different", "copy-0", "copy-1", "--reason", "two events")
    assert different["changed"] == [*COPIES, "story-0"]
    run("same", "copy-0", "story-1", "--reason", "one event", "--author", "al")
    run("same", "copy-1", "story-1", "--reason", "x", code=1)
    run("canonical", "copy-0", "--reason", "the original")
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
