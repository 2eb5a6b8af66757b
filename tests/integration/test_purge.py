"""Copies deleted from a source index: nothing but current copies goes, and a backup brings them back."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from elasticsearch import Elasticsearch

from es_dedup.errors import MassChange, NotAttached
from es_dedup.index.source_index import SourceFields
from es_dedup.maintenance.audit import audit
from es_dedup.maintenance.context import MaintenanceContext
from es_dedup.maintenance.purge import (
    CANONICAL_OUTDATED,
    CHANGED,
    NO_CANONICAL,
    OTHERWISE,
    OUTDATED,
    WAITS,
    purge,
)
from tests.commands import ran
from tests.servers import url_of
from tests.source_indices import attached, source_index
from tests.texts import article
from tests.traffic import run

BODY = SourceFields("body")
Site = tuple[Elasticsearch, str, MaintenanceContext]
"""A client, an index and what is attached to it."""


def documents(clusters: int, size: int = 3) -> dict[str, dict[str, Any]]:
    """Clusters of copies; the page ``N-0`` is the canonical one."""
    return {
        f"{number}-{copy}": {
            "body": article(number),
            "title": f"Page {number}",
            "at": f"2026-01-0{copy + 1}",
            "owner": {"tags": [copy, None], "empty": {}},
        }
        for number in range(clusters)
        for copy in range(size)
    }


@pytest.fixture
def site() -> Iterator[Site]:
    """Four clusters of three copies, decided on."""
    with source_index(documents(4)) as (client, name), attached(name, fields=BODY) as context:
        run(context, "backfill")
        yield client, name, context


def ids(client: Elasticsearch, name: str) -> set[str]:
    client.indices.refresh(index=name)
    return {hit["_id"] for hit in client.search(index=name, size=1000, source=False)["hits"]["hits"]}


def whole(client: Elasticsearch, name: str) -> dict[str, Any]:
    """All documents without their ``dedup`` field."""
    client.indices.refresh(index=name)
    hits = client.search(index=name, size=1000)["hits"]["hits"]
    return {hit["_id"]: {k: v for k, v in hit["_source"].items() if k != "dedup"} for hit in hits}


def test_copies_go_into_a_backup_that_bulk_brings_back(site: Site, tmp_path: Path) -> None:
    client, name, context = site
    before = whole(client, name)
    found = purge(context, name, None)
    assert (found.deleted, dict(found.kept)) == (8, {})
    assert whole(client, name) == before  # a dry run

    path = tmp_path / "copies.ndjson"
    assert purge(context, name, path, dry_run=False, force=True).deleted == 8
    canonical = ids(client, name)
    assert len(canonical) == len({key.partition("-")[0] for key in canonical}) == 4
    sizes = client.search(index=name, size=10)["hits"]["hits"]
    assert {hit["_source"]["dedup"]["cluster_size"] for hit in sizes} == {1}
    assert context.index.count() == 4
    assert audit(context).clean
    assert path.stat().st_mode & 0o077 == 0

    copies = path.read_bytes()
    assert purge(context, name, tmp_path / "later.ndjson", dry_run=False).deleted == 0  # repeated
    with pytest.raises(FileExistsError):
        purge(context, name, path, dry_run=False)
    assert path.read_bytes() == copies
    lines = [json.loads(line) for line in copies.splitlines()]
    assert not client.bulk(operations=lines, refresh=True)["errors"]
    assert whole(client, name) == before
    assert audit(context, repair=True, force=True).repaired["duplicate"] == 8
    assert purge(context, name, None).deleted == 8  # decided on again
    assert audit(context).clean
    assert client.bulk(operations=lines)["errors"]  # documents that are there stay


def test_what_is_not_a_current_copy_stays(site: Site, tmp_path: Path) -> None:
    client, name, context = site
    heads = {hit["_source"]["dedup"]["cluster_id"]: hit["_id"] for hit in _hits(client, name, canonical=True)}
    copies: dict[str, list[str]] = {}
    for hit in _hits(client, name, canonical=False):
        copies.setdefault(hit["_source"]["dedup"]["cluster_id"], []).append(hit["_id"])
    first, second, third, fourth = sorted(copies)
    client.delete(index=name, id=heads[first], refresh=True)
    client.update(index=name, id=copies[second][0], doc={"dedup": {"waiting": True}})
    client.index(index=name, id=copies[third][0], document={"body": "written past the hook"}, refresh=True)
    found = purge(context, name, tmp_path / "f", dry_run=False, force=True)
    assert dict(found.kept) == {NO_CANONICAL: 2, WAITS: 1, OTHERWISE: 1}
    gone = {copies[second][1], copies[third][1], *copies[fourth]}
    assert found.deleted == 4
    assert ids(client, name) == set(documents(4)) - gone - {heads[first]}


def test_a_copy_stays_where_its_text_or_that_of_its_canonical_document_is_another_by_now(
    site: Site, tmp_path: Path
) -> None:
    """Others wrote past the hook; a partial update leaves the ``dedup`` field as it was."""
    client, name, context = site
    client.update(index=name, id="0-1", doc={"body": article(90)})
    client.update(index=name, id="1-0", doc={"body": article(91)})
    client.index(index=name, id="2-0", document={"body": article(92), "title": "Page 2"}, refresh=True)
    assert purge(context, name, None).deleted == 3
    found = purge(context, name, tmp_path / "first", dry_run=False, force=True)
    assert (found.deleted, dict(found.kept)) == (3, {OUTDATED: 1, CANONICAL_OUTDATED: 4})
    assert ids(client, name) == set(documents(4)) - {"0-2", "3-1", "3-2"}
    audit(context, repair=True, force=True)
    assert purge(context, name, tmp_path / "second", dry_run=False).deleted == 2
    assert len({text["body"] for text in whole(client, name).values()}) == len(whole(client, name)) == 7


def test_a_copy_that_is_written_after_it_was_read_stays(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, name, context = site
    delete = context.source_index.delete_unchanged
    written: list[str] = []

    def write_between(found: Any) -> dict[str, str]:
        given = list(found)
        written.append(given[0].key.id)
        client.update(index=name, id=given[0].key.id, doc={"seen": True})
        return delete(given)

    monkeypatch.setattr(context.source_index, "delete_unchanged", write_between)
    found = purge(context, name, tmp_path / "f", dry_run=False, force=True)
    assert dict(found.kept) == {CHANGED: len(written)}
    assert set(written) <= ids(client, name)


def test_very_many_copies_have_to_be_forced(tmp_path: Path) -> None:
    with source_index(documents(60)) as (client, name), attached(name, fields=BODY) as context:
        run(context, "backfill")
        with pytest.raises(MassChange, match="purge would change 120 documents"):
            purge(context, name, tmp_path / "f", dry_run=False)
        assert not (tmp_path / "f").exists()
        assert len(ids(client, name)) == 180
        with pytest.raises(NotAttached):
            purge(context, "other", None)


def test_an_interrupted_run_goes_on(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client, name, context = site
    before, paths = whole(client, name), (tmp_path / "first", tmp_path / "second")
    with monkeypatch.context() as patched:
        patched.setattr("es_dedup.maintenance.context.MaintenanceContext.forget_gone", _interrupt)
        with pytest.raises(KeyboardInterrupt):
            purge(context, name, paths[0], dry_run=False, force=True)
    done = purge(context, name, paths[1], dry_run=False, force=True)
    assert done.deleted + done.gone == 8
    assert context.index.count() == 4
    assert audit(context).clean
    lines = [json.loads(line) for path in paths for line in path.read_text(encoding="utf-8").splitlines()]
    assert not client.bulk(operations=lines)["errors"]
    assert whole(client, name) == before


def test_a_rate_slows_down(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    _, name, context = site
    slept: list[float] = []
    monkeypatch.setattr("es_dedup.maintenance.purge.time.sleep", slept.append)
    purge(context, name, None, dry_run=False, force=True, rate=0.5)
    assert sum(slept) > 8


def test_the_command_asks_for_a_file_and_tells_what_it_did(site: Site, tmp_path: Path) -> None:
    _, name, _ = site
    start = ["--db", f"{url_of('es8')}/{name}", "--json", "elastic", "purge"]
    path = str(tmp_path / "copies.ndjson")

    def said(*arguments: str, code: int = 0) -> Any:
        done = ran(*start, *arguments, code=code)
        return json.loads(done.stdout) if not code else done.output

    assert said(name)["deleted"] == 8
    assert "--backup FILE or" in said(name, "--apply", code=2)
    assert said(name, "--apply", "--backup", path, "--force") == {
        "command": "elastic purge", "dry_run": False, "deleted": 8, "gone": 0, "kept": {}, "preset": "balanced",
    }  # fmt: skip
    assert f"{path} is there already" in said(name, "--apply", "--backup", path, code=2)


def _hits(client: Elasticsearch, name: str, *, canonical: bool) -> list[Any]:
    client.indices.refresh(index=name)
    query = {"term": {"dedup.canonical": canonical}}
    found: list[Any] = client.search(index=name, size=100, query=query)["hits"]["hits"]
    return found


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt
