"""The clusters of ``es_dedup.spark`` are those of a scan, however the rows are spread and ordered."""

import json
import lzma
import os
import random
import re
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import es_dedup.spark
from es_dedup import Page
from es_dedup.errors import ConfigError
from es_dedup.settings import Settings
from tests.samples import pages, story, truths
from tests.spark_corpora import SETTINGS, found, scanned, table, varied

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(900),
    pytest.mark.filterwarnings("ignore"),
]  # pyspark warns of its own code


def sample_texts() -> list[Page]:
    """True main texts of the sample pages, with their sites."""
    by_id = {page.id: page for page in pages()}
    return [
        Page(each.page_id, text=each.text, site=each.site, url=by_id[each.page_id].url) for each in truths()
    ]


def test_samples_have_the_clusters_of_a_scan(spark: Any) -> None:
    some = sample_texts()
    wanted = scanned(some)
    assert (
        len({canonical for canonical, _ in wanted.values()}) < len(wanted) - 20
    )  # there are duplicates to find
    assert found(es_dedup.spark.deduplicate(table(spark, some), SETTINGS)) == wanted


@given(st.integers(0, 10**6), st.integers(4, 60), st.integers(1, 7), st.integers(1, 7))
@hypothesis.settings(max_examples=4, suppress_health_check=list(hypothesis.HealthCheck))
def test_random_corpora_have_the_clusters_of_a_scan_in_any_order_and_partitioning(
    spark: Any, seed: int, count: int, parts: int, other_parts: int
) -> None:
    some, settings = varied(seed, count)
    wanted = scanned(some, settings)
    random.Random(seed).shuffle(some)
    assert scanned(some, settings) == wanted
    first = es_dedup.spark.deduplicate(table(spark, some, parts), settings)
    second = es_dedup.spark.deduplicate(table(spark, reversed(some), other_parts), settings)
    assert found(first) == wanted
    assert sorted(first.collect()) == sorted(second.collect())
    spark.catalog.clearCache()


def test_more_copies_than_answer_and_common_terms_are_capped_as_in_a_scan(spark: Any) -> None:
    copies = [story(1, f"copy-{number}", day=1 + number % 27) for number in range(90)]
    formed = [
        Page(f"form-{number}", text=f"{story(2).text}\n{story(number + 10).text}", title=f"{number}")
        for number in range(90)
    ]
    assert found(es_dedup.spark.deduplicate(table(spark, copies + formed), SETTINGS)) == scanned(
        copies + formed
    )


def test_pages_that_cannot_be_processed_and_pages_without_words_are_told(spark: Any) -> None:
    some = [story(1, "a"), story(1, "b"), Page("empty", text=""), Page("nothing")]
    made = {row.page_id: row for row in es_dedup.spark.features(table(spark, some), SETTINGS).collect()}
    assert made["nothing"].failed == "neither text nor html"
    assert made["empty"].skipped
    rows = {row.page_id: row for row in es_dedup.spark.deduplicate(table(spark, some), SETTINGS).collect()}
    assert (rows["nothing"].canonical, rows["nothing"].failed) == (None, "neither text nor html")
    assert rows["empty"].canonical == "empty"
    assert rows["b"].duplicate_of == "a"


def test_each_page_without_an_id_has_a_row(spark: Any) -> None:
    text, long = story(1).text, "x" * 600
    rows = spark.createDataFrame(
        [(None, text), ("", text), (None, None), (long, text), ("a\0b", text), ("a", text)],
        "id string, text string",
    )
    for parts in (1, 5):
        made = es_dedup.spark.deduplicate(rows.repartition(parts), SETTINGS).collect()
        assert Counter(row.page_id for row in made if row.failed) == {"": 3, long: 1, "a\0b": 1}
        assert [(row.page_id, row.canonical) for row in made if not row.failed] == [("a", "a")]


def test_columns_are_read_by_their_types_and_names(spark: Any) -> None:
    text = story(1).text or ""
    rows = spark.createDataFrame([(9, text, 1), (10, text, 2)], "ID bigint, Text string, number int")
    day, html = "date_add(date'2026-01-03', -number)", f"cast('<p>{text}</p>' AS binary) AS html"
    for published in (day, f"cast({day} AS timestamp)", f"cast({day} AS timestamp_ntz)"):
        for content in ("Text", html, f"{html}, NULL AS title"):
            columns = ["ID", *content.split(", "), f"{published} AS Published"]
            made = es_dedup.spark.features(rows.selectExpr(*columns), SETTINGS).collect()
            assert {row.page_id: row.published[:10] for row in made} == {
                "9": "2026-01-02",
                "10": "2026-01-01",
            }
            assert made[0].length == made[1].length > 100
    for problem, columns in {
        "column id has the type double, it must be a string or a whole number": [
            "cast(ID AS double)",
            "Text",
        ],
        "column text has the type binary, it must be a string": ["ID", "cast(Text AS binary)"],
        "column title has the type int, it must be a string": ["ID", "Text", "number AS title"],
        "there are 2 columns text": ["ID", "Text", "Text AS text"],
    }.items():
        with pytest.raises(ConfigError, match=problem):
            es_dedup.spark.features(rows.selectExpr(*columns), SETTINGS)
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        with pytest.raises(ConfigError, match="pages need a column id, not only ID, Text, number"):
            es_dedup.spark.features(rows, SETTINGS)
        both = rows.selectExpr("cast(ID + 1 AS string) AS id", "ID", "Text AS text")
        made = es_dedup.spark.features(both, SETTINGS).collect()
        assert [row.page_id for row in made] == ["10", "11"]
    finally:
        spark.conf.unset("spark.sql.caseSensitive")


def test_a_page_id_that_occurs_twice_is_refused(spark: Any) -> None:
    with pytest.raises(ValueError, match="page ids occur twice, as 'a'"):
        es_dedup.spark.deduplicate(table(spark, [story(1, "a"), story(2, "a")]), SETTINGS)


def test_wrong_columns_and_further_methods_are_refused(spark: Any) -> None:
    with pytest.raises(ConfigError, match="there are: name; rename one to text or html"):
        es_dedup.spark.features(spark.createDataFrame([("a",)], "name string"), SETTINGS)
    with pytest.raises(ConfigError, match="dwdcs cannot be used on Spark"):
        es_dedup.spark.features(table(spark, [story(1)]), Settings(detectors=("ccdet", "dwdcs")))


def test_the_guide_works(spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    guide = (Path(__file__).parents[2] / "docs" / "how-to" / "run-on-spark.md").read_text(encoding="utf-8")
    code = "".join(re.findall(r"^```python\n(.*?)^```", guide, re.MULTILINE | re.DOTALL))
    exec(re.sub(r'"(\w+\.parquet)"', rf'"{tmp_path}/\1"', code), {})  # noqa: S102 - ours
    assert "duplicate_of" in capsys.readouterr().out
    rows = spark.read.parquet(f"{tmp_path}/clusters.parquet").collect()
    assert {row.page_id: row.duplicate_of for row in rows} == {"a": None, "b": "a"}


def test_a_term_of_many_rows_is_joined_in_pieces_as_in_one(spark: Any) -> None:
    from es_dedup.spark.batches import batch_of  # noqa: PLC0415
    from es_dedup.spark.candidates import _hits, term_runs  # noqa: PLC0415

    rng = np.random.default_rng(3)
    terms = np.sort(rng.choice([1, 2, 3, 4, 5, 6], size=900, p=[0.02, 0.5, 0.02, 0.02, 0.4, 0.04]))
    whole = {
        "method": np.zeros(900, dtype=np.int8),
        "term": terms,
        "rank": np.concatenate(
            [np.sort(rng.choice(2_000, int((terms == each).sum()), replace=False)) for each in range(1, 7)]
        ),
        "queried": rng.random(900) < 0.8,
        "stored": rng.random(900) < 0.5,
        "fresh": np.ones(900, dtype=np.bool_),
        "fact": np.zeros(900, dtype=np.int64),
    }
    batches = [
        batch_of(**{name: values[at : at + 30] for name, values in whole.items()}) for at in range(0, 900, 30)
    ]

    def counted(pieces: Iterable[Any]) -> Counter[tuple[int, int]]:
        found: Counter[tuple[int, int]] = Counter()
        for piece in pieces:
            for hits in _hits(SETTINGS, [piece]):
                for row in hits.to_pylist():
                    found[row["query"], row["stored"]] += row["shared"]
        return found

    pieces = list(term_runs(batches, 90))
    assert len(pieces) > 4
    assert max(piece.num_rows for piece in pieces) < 400
    assert counted(pieces) == counted([batch_of(**whole)])


def test_components_in_rounds_are_those_at_the_driver(spark: Any) -> None:
    from es_dedup.spark.components import components  # noqa: PLC0415 - pyspark may be missing

    rng = random.Random(5)
    edges = [(f"n{rng.randrange(40)}", f"n{rng.randrange(40)}") for _ in range(25)]
    edges += pairwise(f"path{number:02}" for number in range(20))
    frame = spark.createDataFrame([edge for edge in edges if edge[0] != edge[1]], "left string, right string")
    assert sorted(components(frame, driver_edges=0).collect()) == sorted(components(frame).collect())


@pytest.mark.data
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("name", "least"), [("news-en", 100), ("portal-zh", 100), ("news-zh-2025", 100), ("broadcast-zh", 50)]
)
def test_real_texts_have_the_clusters_of_a_scan(spark: Any, name: str, least: int) -> None:
    folder = Path(os.environ.get("ES_DEDUP_DATA", "nowhere"))
    if not folder.is_dir():
        pytest.skip("ES_DEDUP_DATA names no folder")
    with lzma.open(folder / f"{name}.jsonl.xz", "rt", encoding="utf8") as file:
        rows = list(map(json.loads, file))
    some = {
        row["id"]: Page(row["id"], text=row["text"], title=row.get("title"), published=row.get("time"))
        for row in rows
    }
    wanted = scanned(some.values())
    assert sum(relation is not None for _, relation in wanted.values()) >= least
    assert found(es_dedup.spark.deduplicate(table(spark, some.values()), SETTINGS)) == wanted


@pytest.mark.parametrize("top", [2**64, 2**40], ids=["spread", "all close"])
def test_pages_to_learn_from_are_found_without_sending_as_many_of_each_partition(
    spark: Any, top: int
) -> None:
    from es_dedup.spark.ranking import smallest_places  # noqa: PLC0415 - needs pyspark

    count, source = 1_000, random.Random(5)
    keys = {f"p{number}": source.randrange(top) for number in range(20_000 if top == 2**64 else 2_000)}
    signed = np.array(list(keys.values()), dtype=np.uint64).view(np.int64).tolist()
    rows = spark.createDataFrame(zip(keys, signed, strict=True), "page_id string, place_key bigint")
    filled = rows.selectExpr("*", "cast(repeat(page_id, 2000) as binary) as payload").repartition(32)
    some = smallest_places(filled, len(keys), count)  # of each partition so many would be 320 MB
    assert [row.page_id for row in some] == sorted(keys, key=lambda name: (keys[name], name))[:count]
    assert all(bytes(row.payload) == 2000 * row.page_id.encode() for row in some)
