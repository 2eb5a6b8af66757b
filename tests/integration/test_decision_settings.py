"""Settings that shape decisions: what the clusters of an index were made with, and what happens when they change."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from es_dedup import Deduplicator, Page, Settings
from es_dedup.cli.main import app
from tests.servers import fresh_name, remove, url_of
from tests.texts import article

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

STORY = [article(place, sentences=1) for place in range(12)]
OWN = [article(100 + place, sentences=1) for place in range(4)]
PAGES = (
    Page("a", text="\n".join(STORY), title=STORY[0][:10]),
    Page("b", text="\n".join((*STORY[:8], *OWN)), title=STORY[0][:10]),
)
"""Two thirds of each page are shared: one cluster by default, two with the preset ``strict``."""


def chosen(preset: str = "balanced", order: str = "earliest") -> Settings:
    """Settings with these decision settings."""
    return Settings.model_validate({"judge": {"preset": preset}, "cluster": {"order": order}})


@pytest.fixture(params=["file", "server"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Where an index may be made: a file, or a fresh name on a server."""
    if request.param == "file":
        yield str(tmp_path / "pages.db")
        return
    address = f"{url_of('es8')}/{fresh_name()}"
    yield address
    remove(address)


def test_recluster_applies_a_changed_preset(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Deduplicator.open(place, settings=chosen()) as dedup:
        dedup.scan(PAGES)
        assert [cluster.size for cluster in dedup.clusters()] == [2]
    monkeypatch.setenv("ES_DEDUP_JUDGE__PRESET", "strict")
    for options, sizes in ((["--dry-run"], [2]), ([], [1, 1])):
        result = CliRunner().invoke(app, ["--db", place, "--json", "recluster", *options])
        assert result.exit_code == 0, result.output
        said = json.loads(result.stdout)
        assert {name: said[name] for name in ("pages", "changed", "clusters_before", "clusters")} == {
            "pages": 2,
            "changed": 1,
            "clusters_before": 1,
            "clusters": 0,
        }
        with Deduplicator.open(place, settings=chosen("strict"), read_only=True) as dedup:
            assert [cluster.size for cluster in dedup.clusters()] == sizes
