"""Overrides of an index with attached source indices: documents follow, and jobs and the hook keep to them."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from elasticsearch import Elasticsearch

from es_dedup import Deduplicator
from es_dedup.errors import ConfigError
from es_dedup.hook import DedupHook, dedup_bulk
from es_dedup.maintenance.audit import audit
from es_dedup.maintenance.context import MaintenanceContext, open_context, overridden
from es_dedup.maintenance.reindex import reindex, roll_back
from es_dedup.model.annotations import Label
from es_dedup.model.overrides import OverrideReport
from es_dedup.settings.sections import CcdetConfig
from tests.samples import story
from tests.servers import fresh_name, remove, url_of
from tests.source_indices import FIELDS, attached, documents, settings, source_index
from tests.traffic import run

WHY = {"reason": "read both", "author": "ed"}
FIRST, COPY, OTHER = "made-00001", "made-00002", "made-00004"


def dedup_field(client: Elasticsearch, name: str, key: str) -> dict[str, Any]:
    return dict(client.get(index=name, id=key)["_source"]["dedup"])


def change_overrides(
    site: MaintenanceContext, change: Callable[[Deduplicator], OverrideReport]
) -> tuple[OverrideReport, Mapping[str, int]]:
    """What ``overridden`` does with an open site: the report, and counts of documents."""
    return change(site.dedup), site.finish_overrides()


def agreed(client: Elasticsearch, name: str, site: MaintenanceContext) -> None:
    """Documents say that the copy is apart from its first page and with another one."""
    assert audit(site).as_dict()["found"] == {}
    assert dedup_field(client, name, FIRST)["cluster_size"] == 1
    found = [dedup_field(client, name, key)["cluster_id"] for key in (COPY, OTHER)]
    assert found[0] == found[1]


@pytest.mark.slow
def test_documents_follow_and_no_job_loses_overrides() -> None:
    given = {key: each for key, each in documents(made_up=12).items() if key.startswith("made")}
    old, new = settings(), settings().model_copy(update={"ccdet": CcdetConfig(window=8)})
    with source_index(given) as (client, name):
        first, copy, other = (f"{name}/{key}" for key in (FIRST, COPY, OTHER))
        with attached(name, old) as site:
            place = site.place
            run(site, "backfill")
            assert dedup_field(client, name, COPY)["duplicate_of"] == first
            _, counts = change_overrides(site, lambda dedup: dedup.override_different(first, copy, **WHY))
            assert counts["updated"] == 2
            assert dedup_field(client, name, COPY)["canonical"]
            change_overrides(site, lambda dedup: dedup.override_same(copy, other, **WHY))
            agreed(client, name, site)
            for what in ("recluster", "backfill"):
                run(site, what)
                agreed(client, name, site)
        with DedupHook.open(place, FIELDS, settings=old) as hook:
            actions = [{"_index": name, "_id": key, **given[key]} for key in (COPY, FIRST)]
            dedup_bulk(client, actions, hook=hook)
            client.delete(index=name, id=OTHER)
            dedup_bulk(client, [{"_index": name, "_id": OTHER, **given[OTHER]}], hook=hook)
        with open_context(place, old) as site:
            agreed(client, name, site)
            site.dedup.annotate(first, copy, Label.DUP, reader="mz")
        reindex(place, new)
        with open_context(place, new) as site:
            agreed(client, name, site)
            assert [each.reader for each in site.dedup.annotations()] == ["mz"]
            chosen = change_overrides(site, lambda dedup: dedup.override_canonical(copy, **WHY))[0]
            assert dedup_field(client, name, OTHER)["duplicate_of"] == copy
        roll_back(place, old)
        with open_context(place, old) as site:
            agreed(client, name, site)
            assert dedup_field(client, name, OTHER)["duplicate_of"] == copy
            change_overrides(site, lambda dedup: dedup.undo_override(chosen.overrides[0].id))
            agreed(client, name, site)
            assert len(site.dedup.overrides()) == 2


def test_without_an_attached_index_nothing_is_built_anew() -> None:
    place = f"{url_of('es8')}/{fresh_name()}"
    try:
        with Deduplicator.open(place, settings=settings()) as dedup:
            dedup.add(story(0))
        with pytest.raises(ConfigError, match="no source index is attached"):
            reindex(place, settings())
    finally:
        remove(place)


@pytest.mark.parametrize("dies", ["before clusters", "before documents"])
def test_documents_follow_although_the_process_was_stopped(
    dies: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {key: each for key, each in documents(made_up=12).items() if key.startswith("made")}
    with source_index(given) as (client, name), attached(name) as site:
        run(site, "backfill")
        first, copy, other = (f"{name}/{key}" for key in (FIRST, COPY, OTHER))
        with monkeypatch.context() as patched:
            if dies == "before clusters":
                patched.setattr(type(site.index), "change_clusters", _stop)
            else:
                patched.setattr(type(site.source_index), "write_dedup_fields", _stop)
            with pytest.raises(KeyboardInterrupt):
                change_overrides(site, lambda dedup: dedup.override_different(first, copy, **WHY))
        assert audit(site).as_dict()["found"] != {} or dies == "before clusters"
        with Deduplicator.open(site.place, settings=settings()) as dedup:
            if dies == "before documents":
                site.finish_overrides()
                assert audit(site).as_dict()["found"] == {}
                assert dedup_field(client, name, FIRST)["cluster_size"] == 1
            overridden(dedup, site.place, settings(), lambda to: to.override_same(copy, other, **WHY))
        agreed(client, name, site)
        assert site.finish_overrides() == {}


def _stop(*_: Any, **__: Any) -> None:
    raise KeyboardInterrupt
