"""An index on Elasticsearch as release 0.1 wrote it: refused for writing, read by id, and made anew from its texts.

``elastic-0.1.json`` holds mappings, settings and documents of such an index, with the clusters that 0.1 listed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from elasticsearch.helpers import bulk
from typer.testing import CliRunner

from es_dedup import Deduplicator, Page
from es_dedup.cli.main import app
from es_dedup.deduplicator.stored_reader import ROOTS
from es_dedup.errors import SchemaMismatch
from es_dedup.index.elastic import ElasticIndex, parse_address
from es_dedup.index.elastic.source_index import source_properties
from es_dedup.maintenance import texts
from es_dedup.maintenance.attachment import Attachment, save_attachments
from es_dedup.maintenance.reindex import NotVerified, reindex, roll_back
from es_dedup.settings import Settings
from tests.servers import client_of, fresh_name, remove, url_of
from tests.source_indices import FIELDS, count_with_dedup_field, documents, put, settings

if TYPE_CHECKING:
    from collections.abc import Iterator

WRITTEN = json.loads((Path(__file__).parent / "elastic-0.1.json").read_text(encoding="utf-8"))
PAGES = {"empty", *(f"page-{number:02}" for number in range(12))}


@pytest.fixture
def old() -> Iterator[str]:
    """Address of an index of release 0.1."""
    name = fresh_name()
    address = f"{url_of('es8')}/{name}"
    with client_of(address.rpartition("/")[0]) as client:
        for index, body in WRITTEN["indices"].items():
            aliases = {alias.replace("NAME", name): facts for alias, facts in body["aliases"].items()}
            client.indices.create(index=index.replace("NAME", name), **(body | {"aliases": aliases}))
        actions = [
            {"_index": index.replace("NAME", name), "_id": key, "_source": document}
            for index, documents in WRITTEN["documents"].items()
            for key, document in documents.items()
        ]
        bulk(client, actions, refresh=True)
    yield address
    remove(address)


def behind(address: str) -> set[str]:
    """Schema versions of the indices in use."""
    url, _, name = address.rpartition("/")
    with client_of(url) as client:
        found = client.indices.get_alias(name=[f"{name}-dedup-{kind}" for kind in ("features", "clusters")])
    return {index.rpartition("-dedup-")[2].split("-")[1] for index in found}


def clusters(address: str) -> list[Any]:
    with Deduplicator.open(address, read_only=True) as dedup:
        return [[each.id, each.canonical, [one.page_id for one in each.members]] for each in dedup.clusters()]


def test_it_is_refused_with_the_command(old: str) -> None:
    with pytest.raises(SchemaMismatch, match=rf"holds format 1.*needs 2.*--db {old} reindex"):
        Deduplicator.open(old)
    said = CliRunner().invoke(app, ["--db", old, "add", str(Path(__file__))])
    assert said.exit_code
    assert "reindex" in said.stderr


@pytest.mark.parametrize(
    "command", [["features", "page-03"], ["clusters"], ["explain", "page-01", "page-02"]]
)
def test_commands_that_compare_features_name_the_command_too(old: str, command: list[str]) -> None:
    said = CliRunner().invoke(app, ["--db", old, *command])
    assert said.exit_code == 1
    assert f"--db {old} reindex" in said.stderr


def test_pages_clusters_texts_and_notes_are_read_and_nothing_is_written(old: str) -> None:
    with ElasticIndex(parse_address(old), features=None) as index:
        assert {record.page_id for some in index.scan() for record in some} == PAGES
        assert index.get_many(["page-03"])["page-03"].title == "标题 3"
        assert set(index.texts(PAGES)) == PAGES - {"empty"}
        assert {each.page_id for group in index.clusters() for each in group} == PAGES
        assert not index.keeps_named
        (record,) = index.get_many(["page-03"]).values()
        for refused in (
            lambda: index.put_many([record]),
            lambda: index.delete_many(["page-03"]),
            lambda: index.replace_all([], []),
            lambda: index.candidates_with_copies((), [record.content_hash]),
        ):
            with pytest.raises(SchemaMismatch):
                refused()
        assert index.count() == len(PAGES)


def test_reindex_makes_all_anew_from_the_texts_and_swaps(old: str) -> None:
    with ElasticIndex(parse_address(old), features=None) as index:
        index.set_note(ROOTS, '["/a"]')
    said = reindex(old, Settings())
    assert (said.documents, said.pages) == (len(PAGES), len(PAGES))
    assert behind(old) == {"v2"}
    assert clusters(old) == WRITTEN["clusters"]
    with Deduplicator.open(old) as dedup:
        assert dedup._index.note(ROOTS) == '["/a"]'
        record = dedup.record("page-03")
        assert (record.title, record.url, record.site) == (
            "标题 3",
            "https://site3.example/3",
            "site3.example",
        )
        assert record.published.startswith("2024-05-04")
        assert dedup._index.named(["page-03"])["page-03"]["period_signatures"]
        copy = Page(id="copy", text=dedup.text("page-00"))
        assert dedup.check(copy).duplicate_of == "page-00"
    with pytest.raises(SchemaMismatch):  # release 0.1 made it
        roll_back(old, Settings())
    assert behind(old) == {"v2"}
    assert reindex(old, Settings()).pages == len(PAGES)  # of this version, too


def test_an_interrupted_reindex_goes_on(old: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "BATCH", 4)
    made: list[str] = []
    page = texts._page

    def interrupted(record: Any, text: str) -> Page:
        if len(made) == 6:
            raise KeyboardInterrupt
        made.append(record.page_id)
        return page(record, text)

    monkeypatch.setattr(texts, "_page", interrupted)
    with pytest.raises(KeyboardInterrupt):
        reindex(old, Settings())
    assert behind(old) == {"v1"}
    first = len(made)

    def counted(record: Any, text: str) -> Page:
        made.append(record.page_id)
        return page(record, text)

    monkeypatch.setattr(texts, "_page", counted)
    reindex(old, Settings())
    assert len(made) == len(PAGES)
    assert len(made) > first
    assert behind(old) == {"v2"}
    assert clusters(old) == WRITTEN["clusters"]


def test_pages_without_their_text_keep_it_from_being_swapped(old: str) -> None:
    url, _, name = old.rpartition("/")
    with client_of(url) as client:
        client.delete(index=f"{name}-dedup-texts", id="page-07", refresh=True)
    with pytest.raises(NotVerified, match="1 of 13 pages are not kept"):
        reindex(old, Settings())
    assert behind(old) == {"v1"}


def test_what_0_1_writes_and_removes_meanwhile_is_taken_over(
    old: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, _, name = old.rpartition("/")
    refill = texts.refill
    calls: list[Any] = []

    def meanwhile(*arguments: Any) -> Any:
        found = refill(*arguments)
        if not calls:
            with client_of(url) as client:
                for kind in ("features", "texts"):
                    index = f"{name}-dedup-{kind}"
                    client.delete(index=index, id="page-05", refresh=True)
                    document = next(
                        documents["page-04"]
                        for place, documents in WRITTEN["documents"].items()
                        if kind in place
                    )
                    client.index(
                        index=index, id="page-99", document=document | {"page_id": "page-99"}, refresh=True
                    )
        calls.append(found)
        return found

    monkeypatch.setattr("es_dedup.maintenance.reindex.refill", meanwhile)
    assert reindex(old, Settings()).pages == len(PAGES)
    with Deduplicator.open(old, read_only=True) as dedup:
        assert {
            page
            for each in dedup.clusters()
            for page in (each.canonical, *(one.page_id for one in each.members))
        } == (PAGES - {"page-05"} | {"page-99"})


def test_with_an_attached_index_its_documents_are_read_and_marked(old: str) -> None:
    url, _, name = old.rpartition("/")
    given = {key: each for key, each in documents(made_up=9).items() if key.startswith("made-")}
    with client_of(url) as client:
        client.indices.create(index=name, mappings={"properties": source_properties()})
        try:
            put(client, name, given)
            with ElasticIndex(parse_address(old), features=None) as index:
                save_attachments(index, [Attachment(name, FIELDS)])
            said = reindex(old, settings())
            assert (said.documents, said.pages, said.updated) == (9, 9, 9)
            assert behind(old) == {"v2"}
            assert count_with_dedup_field(client, name) == 9
            assert len(clusters(old)) == 6
        finally:
            client.indices.delete(index=name)
