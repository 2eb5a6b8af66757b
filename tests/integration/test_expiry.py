"""Pages past an age: removed, and kept where indices are attached."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from es_dedup import Deduplicator, Page
from es_dedup.deduplicator import deduplicator
from es_dedup.maintenance.context import MaintenanceContext, open_context
from tests.commands import ran
from tests.servers import fresh_name, remove, url_of
from tests.source_indices import attached, documents, settings, source_index
from tests.texts import article

DAY = (datetime.now(UTC) - timedelta(90)).date().isoformat()


def aged(count: int) -> Iterator[Page]:
    """Triples of copies that are 100, 10 and 0 days old, and a page without a time."""
    today = datetime.now(UTC)
    for number in range(count):
        for days in (100, 10, 0):
            published = (today - timedelta(days)).isoformat()
            yield Page(id=f"{number:03}-{days}", text=article(number), published=published)
    yield Page(id="no time", text=article(count))


@contextmanager
def site_of(count: int) -> Iterator[MaintenanceContext]:
    """An index on Elasticsearch with aged pages, to which nothing is attached."""
    place = f"{url_of('es8')}/{fresh_name()}"
    try:
        with open_context(place, settings()) as context:
            context.dedup.scan(aged(count))
            yield context
    finally:
        remove(place)


def stored(context: MaintenanceContext) -> list[str]:
    """Page ids."""
    return sorted(each.page_id for each in context.dedup.records())


def test_old_pages_are_removed_with_their_relations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deduplicator, "REMOVED_AT_A_TIME", 4)
    with site_of(6) as context:
        assert context.dedup.cluster("003-100").size == 3
        assert [each.removed for each in context.dedup.remove_before(DAY)] == [4, 2]
        left = [f"{number:03}-{days}" for number in range(6) for days in (0, 10)]
        assert stored(context) == sorted([*left, "no time"])
        assert not context.index.edges_of([f"{number:03}-100" for number in range(6)])
        clusters = {cluster.canonical: cluster.size for cluster in context.dedup.clusters(min_size=2)}
        assert clusters == {f"{number:03}-10": 2 for number in range(6)}


def test_a_page_that_was_stored_anew_meanwhile_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deduplicator, "REMOVED_AT_A_TIME", 1)
    with site_of(2) as context:
        assert list(context.dedup.pages_before(DAY)) == ["000-100", "001-100"]
        removals = context.dedup.remove_before(DAY)
        assert next(removals).removed == 1
        context.dedup.add(Page(id="001-100", text=article(1), published=DAY))
        assert [each.removed for each in removals] == [0]
        assert "000-100" not in stored(context)
        assert "001-100" in stored(context)


def test_pages_of_attached_indices_follow_their_documents() -> None:
    few = {key: each for key, each in documents(made_up=6).items() if key.startswith("made-")}
    with source_index(few) as (_, name), attached(name) as site:
        done = ran("--db", site.place, "index", "remove", "--older-than", "1d", code=2)
        assert "audit --repair" in done.output.replace("\n", " ")


def test_the_command_removes_what_is_older(tmp_path: Path) -> None:
    place = str(tmp_path / "pages.db")
    with Deduplicator.open(place) as dedup:
        dedup.scan(aged(2))
    command = ("--db", place, "index", "remove", "--older-than")
    assert "no age such as" in ran(*command, "5", code=2).output
    assert "4" in ran(*command, "5d", "--dry-run").stdout
    ran(*command, "5d")
    with Deduplicator.open(place, read_only=True) as dedup:
        assert [each.page_id for each in dedup.records()] == ["000-0", "001-0", "no time"]
