"""Tables in an index on a real server: what a scan would have stored there, and the hook goes on."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

import es_dedup.spark
from es_dedup import Deduplicator, Override, OverrideKind
from es_dedup.batch.clusters import CLUSTERS_PENDING
from es_dedup.errors import ConfigError, IndexInterrupted, InputError, SettingsMismatch
from es_dedup.hook import DedupHook, dedup_bulk
from es_dedup.maintenance.audit import audit
from es_dedup.maintenance.context import open_context
from es_dedup.maintenance.runner import Runner
from tests.samples import story
from tests.servers import fresh_name, remove, url_of
from tests.source_indices import FIELDS, attached, count_with_dedup_field, documents, settings, source_index
from tests.spark_corpora import SETTINGS, table

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900), pytest.mark.filterwarnings("ignore")]


@pytest.fixture
def place() -> Iterator[str]:
    """An index of one test alone."""
    place = f"{url_of('es8')}/{fresh_name()}"
    yield place
    remove(place)


def tables(spark: Any, pages: list[Any], folder: Path, **how: Any) -> str:
    """Tables of pages."""
    folder.mkdir(exist_ok=True)
    rows = ({name: value for name, value in asdict(page).items() if value is not None} for page in pages)
    path = folder / "pages.jsonl"
    path.write_text("".join(json.dumps(row, default=str) + "\n" for row in rows), encoding="utf-8")
    options = es_dedup.spark.DayOptions(**how)
    es_dedup.spark.update_tables(spark, [str(path)], f"{folder}/tables", settings(), options)
    return f"{folder}/tables"


def test_loaded_tables_are_what_a_scan_stores_and_the_hook_goes_on(
    spark: Any, place: str, tmp_path: Path
) -> None:
    given = documents(made_up=60)
    with source_index(given) as (client, name), attached(name):
        pages = [FIELDS.page(f"{name}/{key}", source) for key, source in given.items()]
        made = tables(spark, pages, tmp_path, named=True)
        ours = f"{url_of('es8')}/{name}"
        done = es_dedup.spark.load(spark, made, ours, settings())
        assert done.pages == len(given)
        ids = [page.id for page in pages]
        with Deduplicator.open(place, settings=settings()) as scanned, open_context(ours, settings()) as site:
            scanned.scan(pages)
            assert site.index.get_many(ids) == scanned._index.get_many(ids)
            assert site.index.named(ids) == scanned._index.named(ids)
            assert site.index.edges_of(ids) == scanned._index.edges_of(ids)
            assert site.index.assignments(ids) == scanned._index.assignments(ids)
            assert site.dedup.check(pages[-1]).duplicate_of == scanned.check(pages[-1]).duplicate_of
            job = Runner(site).start("update", {})
            Runner(site).run(job.id)
            assert count_with_dedup_field(client, name) == len(given)
            assert audit(site).as_dict()["found"] == {}
        copy = {"_index": name, "_id": "copy", "_source": given["made-00000"] | {"at": "2026-12-01"}}
        with DedupHook.open(ours, FIELDS, settings=settings()) as hook:
            dedup_bulk(client, [copy], hook=hook)
        found = client.get(index=name, id="copy")["_source"]["dedup"]
        assert found["duplicate_of"] == f"{name}/made-00000"
        with pytest.raises(ConfigError, match="holds pages that did not come from these tables"):
            es_dedup.spark.load(spark, made, ours, settings())


def test_a_server_that_workers_do_not_reach_is_no_fault_of_the_tables(spark: Any) -> None:
    from es_dedup.spark import loading  # noqa: PLC0415 - imports what an extra brings

    hasty = SETTINGS.model_copy(
        update={"elastic": SETTINGS.elastic.model_copy(update={"retry_seconds": 0.1})}
    )
    made = es_dedup.spark.features(table(spark, [story(1, "a")]), hasty)
    with pytest.raises(IndexInterrupted, match="repeat the call") as caught:
        loading._put_all(made, None, "http://127.0.0.1:1/pages", hasty)  # type: ignore[arg-type] # it is not reached
    assert "errors." in caught.value.problem
    assert "\n" not in caught.value.problem


def test_a_load_that_was_stopped_is_repeated_and_unfit_tables_are_refused(
    spark: Any, place: str, tmp_path: Path
) -> None:
    pages = [FIELDS.page(key, source) for key, source in list(documents(made_up=6).items())[-6:]]
    plain = tables(spark, pages, tmp_path / "plain")
    with pytest.raises(ConfigError, match="make them with --named"):
        es_dedup.spark.load(spark, plain, place, settings())
    with pytest.raises(InputError, match="no finished tables"):
        es_dedup.spark.load(spark, f"{tmp_path}/none", place, settings())
    with pytest.raises(ConfigError, match="is not on Elasticsearch"):
        es_dedup.spark.load(spark, plain, "file.db", settings())
    made = tables(spark, pages, tmp_path, named=True)
    with Deduplicator.open(place, settings=settings()) as dedup:
        passage = dedup.override_ignore("a", "Passage", reason="r", author="a").overrides[0].id
        with pytest.raises(ConfigError, match="has ignored passages"):
            es_dedup.spark.load(spark, made, place, settings())
        dedup.undo_override(passage)
    assert es_dedup.spark.load(spark, made, place, settings()).pages == 6
    with Deduplicator.open(place, settings=settings()) as dedup:
        dedup._index.set_note(CLUSTERS_PENDING, "1")  # of other pages: a scan that was stopped
    with pytest.raises(ConfigError, match="holds pages that did not come from these tables"):
        es_dedup.spark.load(spark, made, place, settings())
    with Deduplicator.open(place, settings=settings()) as dedup:
        dedup._index.set_note(CLUSTERS_PENDING, es_dedup.spark.loading.LOADING)  # as if it had been stopped
    tables(spark, [FIELDS.page("later", documents(made_up=7)["made-00006"])], tmp_path, named=True, day="1")
    (tmp_path / "tables/clusters/day=1/_SUCCESS").unlink()  # a day that is not finished is not loaded
    strict = settings().model_copy(
        update={"decision": settings().decision.model_copy(update={"preset": "strict"})}
    )
    with pytest.raises(SettingsMismatch, match="preset"):
        es_dedup.spark.load(spark, made, place, strict)
    assert es_dedup.spark.load(spark, made, place, settings()).pages == 6


def test_clusters_follow_the_overrides_that_the_index_has(spark: Any, place: str, tmp_path: Path) -> None:
    pages = [story(1, "a"), story(1, "b", day=2), story(1, "c", day=3), story(2, "d"), story(3, "e")]
    kinds = {OverrideKind.DIFFERENT: "ab", OverrideKind.SAME: "de", OverrideKind.CANONICAL: "c"}
    decided = [
        Override(kind, kind, tuple(names), "r", "a", "2026-01-01T00:00:00Z") for kind, names in kinds.items()
    ]
    made = tables(spark, pages, tmp_path, named=True)
    with Deduplicator.open(":memory:", settings=settings()) as dedup:
        dedup.import_overrides(decided)
        dedup.scan(pages)
        wanted = {each.id: dedup.cluster(each.id).canonical for each in pages}
    with Deduplicator.open(place, settings=settings()) as dedup:
        dedup.import_overrides(decided)
    es_dedup.spark.load(spark, made, place, settings())
    with Deduplicator.open(place, settings=settings()) as dedup:
        assert {each.id: dedup.cluster(each.id).canonical for each in pages} == wanted
        assert wanted["a"] != wanted["b"]
