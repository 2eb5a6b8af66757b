"""An index of release 0.1, in a file or on Elasticsearch, is refused with advice by everything that opens it, and left as it is."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from typer.testing import CliRunner

from es_dedup import Deduplicator
from es_dedup.cli.main import app
from es_dedup.errors import SchemaMismatch
from es_dedup.hook import DedupHook
from es_dedup.index.embedded.tables import APPLICATION_ID
from es_dedup.maintenance.reindex import reindex
from es_dedup.settings import Settings
from tests.hooked import FIELDS
from tests.servers import client_of, fresh_name, remove, url_of

KINDS: Final = ("features", "clusters", "texts", "meta")
ADVICE: Final = r"holds format .*another name .*`es-dedup scan`"
COMMANDS: Final = {
    "file": ("add -", "scan -", "check -", "clusters", "show page", "index stats", "index doctor", "search ferry", "elastic recluster", "index changes"),
    "server": (
        "add -", "scan -", "check -", "clusters", "show page", "index stats", "search ferry", "elastic recluster", "index changes",
    ),
}  # fmt: skip


@pytest.fixture(params=("file", "server"))
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, str]]:
    """Where the index is kept, and its address."""
    if request.param == "file":
        file = tmp_path / "pages.db"
        connection = sqlite3.connect(file)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID")
        connection.execute("INSERT INTO meta VALUES ('schema', 1), ('fingerprint', '5f1c')")
        connection.execute("CREATE TABLE pages (doc INTEGER PRIMARY KEY, page_id TEXT NOT NULL UNIQUE)")
        connection.commit()
        connection.close()
        yield "file", str(file)
        return
    address = f"{url_of('es8')}/{fresh_name()}"
    with client_of(url_of("es8")) as client:
        for kind in KINDS:
            alias = f"{address.rpartition('/')[2]}-dedup-{kind}"
            metadata = {"es_dedup": {"schema": 1, "kind": kind, "features": {"extraction.parser": "tags"}}}
            client.indices.create(
                index=f"{alias}-v1-000001",
                aliases={alias: {"is_hidden": True, "is_write_index": True}},
                settings={"index": {"hidden": True}},
                mappings={
                    "_meta": metadata,
                    "dynamic": "strict",
                    "properties": {"page_id": {"type": "keyword"}},
                },
            )
    yield "server", address
    remove(address)


def state(address: str) -> Any:
    """All that is stored there."""
    if "://" not in address:
        with sqlite3.connect(address) as connection:
            found = list(connection.iterdump())
        connection.close()
        return found
    url, _, name = address.rpartition("/")
    with client_of(url) as client:
        return dict(client.indices.get(index=f"{name}*", expand_wildcards="all"))


def test_an_index_of_0_1_is_refused_with_advice_and_left_as_it_is(old: tuple[str, str]) -> None:
    kind, address = old
    before = state(address)
    for read_only in (True, False):
        with pytest.raises(SchemaMismatch, match=ADVICE):
            Deduplicator.open(address, read_only=read_only)
    if kind == "server":
        with pytest.raises(SchemaMismatch, match=ADVICE):
            DedupHook.open(address, FIELDS)
        with pytest.raises(SchemaMismatch, match=ADVICE):
            reindex(address, Settings())
    page = '{"id": "page", "text": "The ferry ran aground at noon on Monday."}\n'
    for command in COMMANDS[kind]:
        said = CliRunner().invoke(app, ["--db", address, *command.split()], input=page)
        assert said.exit_code, command
        assert "holds format" in said.output, (command, said.output)
        assert "another name" in " ".join(said.output.split()), (command, said.output)
    assert state(address) == before
