"""``deduplicate`` gives for each kind of rows the clusters of a scan, and refuses what it cannot read before any work."""

import subprocess
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from es_dedup import Deduplicator, Page, Relation, deduplicate
from es_dedup.batch.copies import DistinctPages
from es_dedup.errors import UnknownPage
from es_dedup.settings import Settings
from tests.samples import pages

FERRY = (
    "The ferry ran aground at noon on Monday near the old lighthouse. All 214 passengers were taken off safely by evening. "
    "The captain told reporters that a rudder had failed in the strong current. Divers will look at the hull on Tuesday morning."
)
MAYOR = "Nobody has seen the mayor since the flood of last March. The council meets <b>today</b>. " * 2
LATER = FERRY + " It was towed into the harbour by night."
COLUMNS: dict[str, list[Any]] = {
    "key": ["a", "b", "c", "d"],
    "body": [FERRY, MAYOR, LATER, None],
    "size": [1, 2, 3, 4],
}
SETTINGS = Settings(workers=1)


def library(name: str) -> Any:
    """An optional library."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what it does when it is imported
        return pytest.importorskip(name, exc_type=ImportError)


KINDS: dict[str, tuple[Callable[[dict[str, list[Any]]], Any], Callable[[Any], list[str]]]] = {
    "list": (
        lambda columns: [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
        lambda rows: [row["key"] for row in rows],
    ),
    "columns": (dict, lambda rows: rows["key"]),
    "pandas": (lambda columns: library("pandas").DataFrame(columns), lambda rows: rows["key"].tolist()),
    "polars": (lambda columns: library("polars").DataFrame(columns), lambda rows: rows["key"].to_list()),
    "arrow": (lambda columns: library("pyarrow").table(columns), lambda rows: rows["key"].to_pylist()),
    "batch": (lambda columns: library("pyarrow").record_batch(columns), lambda rows: rows["key"].to_pylist()),
    "datasets": (
        lambda columns: library("datasets").Dataset.from_dict(columns),  # noqa: PLW0108 - imported when it is called
        lambda rows: list(rows["key"]),
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_each_kind_are_divided_into_rows_of_the_same_kind(kind: str) -> None:
    make, keys = KINDS[kind]
    data = make(COLUMNS)
    result = deduplicate(data, text="body", id="key", settings=SETTINGS)
    assert type(result.canonical) is type(result.duplicates) is type(data)
    assert keys(result.canonical) == ["b", "c", "d"]  # of pages without a time the longest one
    assert keys(result.duplicates) == ["a"]
    table = result.to_dict()
    assert table["duplicate_of"] == ["c", None, None, None]
    assert table["canonical_cover"][0] < table["cover"][0] <= 1.0
    assert result.skipped == {"d": "empty"}
    assert len(result) == 4
    alone = deduplicate(make({"text": [MAYOR, FERRY]}), settings=SETTINGS)
    assert not len(alone.duplicates if kind != "columns" else alone.duplicates["text"])


def test_a_list_of_texts_keeps_the_first_of_equal_ones() -> None:
    texts = [
        *(f"{MAYOR} Meeting {'abcdefghijkl'[place]} of the year. {place}" for place in range(9)),
        *[FERRY] * 12,
    ]
    result = deduplicate(texts, settings=SETTINGS)
    assert [cluster.canonical for cluster in result.clusters if cluster.size == 12] == ["9"]
    table = result.to_dict()
    assert table["canonical"][9:] == [9] * 12
    assert table["relation"][9:11] == [None, "exact"]
    assert table["cover"][9:11] == table["canonical_cover"][9:11] == [None, 1.0]


def test_a_dictionary_of_texts_is_divided_by_its_keys() -> None:
    result = deduplicate({7: FERRY, 8: MAYOR, 9: FERRY}, settings=SETTINGS)
    assert result.canonical == {7: FERRY, 8: MAYOR}
    assert result.to_dict()["duplicate_of"] == [None, None, 7]
    assert result.explain(7, 9).relation is Relation.EXACT
    assert result.explain(7, "9").left == "7"
    assert result.explain(8, 9).clusters == ("8", "7")
    with pytest.raises(UnknownPage):
        result.explain(7, 10)


def test_values_as_other_tools_wrap_them() -> None:
    """The forms are those of ``tests/formats/test_readers.py``."""
    rows: list[dict[str, Any]] = [
        {"id": UUID(int=1), "text": FERRY.split(". "), "title": 1984},
        {"id": {"$oid": "65a"}, "text": {"rendered": FERRY}, "title": ["1984"], "published": []},
        {"id": [3], "text": MAYOR, "title": {"rendered": "T"}},
    ]
    result = deduplicate(rows)
    assert result.canonical == rows[1:]  # the first text is shorter by what it was split at


@pytest.mark.parametrize("data", [[], {}, ()])
def test_nothing_has_no_duplicates(data: Any) -> None:
    result = deduplicate(data, settings=SETTINGS)
    assert not result
    assert result.canonical == result.duplicates == data
    assert result.to_dict()["page_id"] == []


def test_the_result_shows_itself() -> None:
    result = deduplicate([MAYOR, FERRY, MAYOR], settings=SETTINGS)
    assert repr(result) == "<DeduplicationResult: 3 rows, 2 kept, 1 duplicate in 1 cluster; preset balanced>"


def test_times_and_pages_of_html_are_read() -> None:
    html = "<html><body><article><p>" + FERRY + "</p></article></body></html>"
    rows = [
        {"html": html, "published": date(2026, 3, 2)},
        {"html": html.encode(), "published": datetime(2026, 3, 1, 12)},  # noqa: DTZ001 - pages name no zone
        {"html": None, "published": "2026-03-03"},
    ]
    result = deduplicate(rows, settings=SETTINGS)
    assert result.to_dict()["duplicate_of"] == [1, None, None]


def test_values_that_pandas_marks_as_missing_are_none() -> None:
    pandas = library("pandas")
    frame = pandas.DataFrame(
        {
            "text": pandas.array([FERRY, FERRY, None], dtype="string"),
            "title": [float("nan"), None, "Ferry"],
            "published": pandas.to_datetime(["2026-03-02", None, "2026-03-01"]),
        },
        index=[5, 5, 6],
    )
    result = deduplicate(frame, settings=SETTINGS)
    assert result.duplicates.equals(frame.iloc[[1]])
    assert result.to_pandas()["duplicate_of"].tolist()[1] == 0
    assert result.to_arrow().schema.field("duplicate_of").type == "int64"


def test_rows_of_a_dataset_are_those_that_were_selected() -> None:
    datasets = library("datasets")
    data = datasets.Dataset.from_dict({"text": [MAYOR, FERRY, FERRY]}).select([2, 0, 1])
    result = deduplicate(data, settings=SETTINGS)
    assert list(result.canonical["text"]) == [FERRY, MAYOR]
    with pytest.raises(TypeError, match=r'choose a split, as data\["train"\]'):
        deduplicate(datasets.DatasetDict({"train": data}))


@pytest.mark.parametrize(
    ("data", "names", "problem"),
    [
        (FERRY, {}, "data must be a list of texts or of dictionaries, .* not str"),
        ([FERRY, 3], {}, "row 1 must be a string, not int"),
        ([{"text": FERRY}, FERRY], {}, "row 1 must be a dictionary, not str"),
        (
            {"a": FERRY, "b": 3},
            {},
            "the value of 'b' must be a text, as all values, or a list, as all values, not int",
        ),
        ({"text": [FERRY, 3]}, {}, "row 1: text of a Page must be str, not int"),
        (
            {"text": [FERRY], "published": [[3, 4]]},
            {},
            "row 0: published of a Page must be str or datetime, not list",
        ),
        ({"text": [FERRY], "b": [1, 2]}, {}, "columns must be of one length"),
        (
            {"b": [FERRY]},
            {},
            r"no field of text or HTML \(the names tried are text, .*\); there are: b; name one as text='…'",
        ),
        ({"b": [FERRY]}, {"text": "c"}, "text='c': there is no column of this name; columns are 'b'"),
        ({"text": [FERRY], "id": [True]}, {}, "row 0: an id must be a string or a whole number, not True"),
        (
            {"text": [FERRY] * 2, "id": [1.0, 1.5]},
            {},
            "row 1: an id must be a string or a whole number, not 1.5",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_line(data: Any, names: Any, problem: str) -> None:
    with pytest.raises((TypeError, ValueError), match=problem) as caught:
        deduplicate(data, **names)
    assert "\n" not in str(caught.value)


def test_a_table_of_another_library_is_refused_with_advice() -> None:
    with pytest.raises(TypeError, match=r"not generator: pass list\(data\)"):
        deduplicate(text for text in [FERRY])
    polars = library("polars")
    with pytest.raises(TypeError, match=r"not LazyFrame: pass \.collect\(\)"):
        deduplicate(polars.LazyFrame({"text": [FERRY]}))
    with pytest.raises(TypeError, match=r"not Series: pass \.to_frame\(\)"):
        deduplicate(polars.Series("text", [FERRY]))


def test_rows_with_types_that_pyarrow_cannot_choose_from_are_chosen() -> None:
    arrow = library("pyarrow")
    texts = [FERRY, MAYOR, FERRY, LATER + " Nobody was hurt. " * 5]
    if hasattr(arrow, "string_view"):
        columns = {
            "text": arrow.array(texts, arrow.string_view()),
            "run": arrow.RunEndEncodedArray.from_arrays([1, 4], ["a", "b"]),
        }
        for data in (arrow.table(columns), arrow.record_batch(columns)):
            result = deduplicate(data, settings=SETTINGS)
            assert type(result.canonical) is type(data)
            assert result.canonical["text"].to_pylist() == [MAYOR, texts[3]]
            assert result.canonical["run"].to_pylist() == ["b", "b"]
            assert result.duplicates["text"].to_pylist() == [FERRY, FERRY]
    small, large = arrow.array(["x"]), arrow.array(["x" * 500_000_000])
    rows = [(MAYOR, small), (FERRY, large), (LATER, small), *[(FERRY, large)] * 4]
    raw = arrow.chunked_array([each for _, each in rows])  # a column of strings holds 2 GB in one piece
    result = deduplicate(arrow.table({"text": [text for text, _ in rows], "raw": raw}), settings=SETTINGS)
    assert result.canonical.to_pydict() == {"text": [MAYOR, LATER], "raw": ["x", "x"]}


def test_columns_of_a_dictionary_are_read_by_position() -> None:
    pandas = library("pandas")
    texts = pandas.Series([FERRY, MAYOR, LATER, MAYOR], index=[3, 2, 1, 0])
    result = deduplicate({"text": texts}, settings=SETTINGS)
    assert result.canonical == {"text": [MAYOR, LATER]}
    assert result.duplicates == {"text": [FERRY, MAYOR]}


def test_columns_are_found_by_their_names_alone() -> None:
    pandas = library("pandas")
    assert len(deduplicate(pandas.DataFrame({0: [FERRY, FERRY]}), text=0, settings=SETTINGS).duplicates) == 1  # type: ignore[arg-type]
    twice = pandas.DataFrame([[FERRY, MAYOR]], columns=["text", "text"])
    for data in (twice, library("pyarrow").table([[FERRY], [MAYOR]], names=["text", "text"])):
        with pytest.raises(ValueError, match=r"text='text': there are 2 columns of this name"):
            deduplicate(data, settings=SETTINGS)


@pytest.mark.parametrize(
    ("ids", "kind"),
    [
        ([1, 2, 3], "int64"),
        ([1, 2, 2**64 - 1], "uint64"),
        ([1, 2, 2**64], "string"),
        ([-1, 2, 2**63], "string"),
        ([1, 2, "c"], "string"),
        (["a", "b", "c"], "string"),
        ([], "string"),
    ],
)
def test_types_of_the_table_of_rows_depend_on_ids_alone(ids: list[Any], kind: str) -> None:
    pandas, arrow = library("pandas"), library("pyarrow")
    texts = [FERRY, MAYOR, "One day."] if kind == "int64" else [FERRY, FERRY, MAYOR]
    result = deduplicate({"text": texts[: len(ids)], "id": ids}, settings=SETTINGS)
    table, frame = result.to_arrow(), result.to_pandas()
    of_ids = ["page_id", "cluster_id", "canonical", "duplicate_of"]
    assert {str(table.schema.field(name).type) for name in of_ids} == {kind}
    assert {str(frame[name].dtype).lower() for name in of_ids} == {kind}
    assert [str(frame[name].dtype) for name in ("relation", "score", "cover")] == [
        "string",
        "Float64",
        "Float64",
    ]
    assert frame["page_id"].tolist() == table["page_id"].to_pylist()
    assert frame["page_id"].tolist() == ([str(each) for each in ids] if kind == "string" else ids)
    assert isinstance(frame, pandas.DataFrame)
    assert isinstance(table, arrow.Table)


@pytest.mark.parametrize(
    ("ids", "problem"),
    [
        ([1, 2, "1"], "row 2 has the value '1' of row 0"),
        ([1.0, float("nan"), 3.0], "row 1 has no value"),
        (["a", "", "c"], "row 1 has no value"),
    ],
)
def test_rows_without_an_id_of_their_own_are_called_by_their_numbers(ids: list[Any], problem: str) -> None:
    with pytest.warns(UserWarning, match=problem):
        result = deduplicate({"text": [FERRY, MAYOR, FERRY], "id": ids}, settings=SETTINGS)
    assert result.to_dict()["duplicate_of"] == [None, None, 0]
    assert problem in result.report.notes[0]


def test_ids_are_attributes_that_may_be_anything() -> None:
    ids = ["x" * 600, "\ud800", 7.0]
    result = deduplicate({"content": [FERRY, MAYOR, FERRY], "id": ids}, settings=SETTINGS)
    assert result.to_dict()["duplicate_of"] == [None, None, ids[0]]
    assert result.to_dict()["page_id"] == [*ids[:2], 7]


def decided(clusters: Any) -> list[Any]:
    """Clusters without the evidence, which equal rows do not have in full."""
    return sorted(
        (
            each.canonical,
            sorted((m.page_id, m.relation, m.score, m.shares) for m in each.members),
            sorted(each.contained_in),
        )
        for each in clusters
    )


@settings(max_examples=30)
@given(st.lists(st.sampled_from([FERRY, MAYOR, LATER, "", "Short."]), max_size=8))
def test_clusters_are_those_of_a_scan_in_any_order(texts: list[str]) -> None:
    pages = [Page(f"page {number}", text=text) for number, text in enumerate(texts)]
    with Deduplicator.open(":memory:", settings=SETTINGS) as dedup:
        scanned = dedup.scan(pages)
        expected = list(dedup.clusters(min_size=2))
    result = deduplicate({page.id: page.text for page in pages}, settings=SETTINGS)
    assert decided(result.clusters) == decided(expected)
    assert (result.report.read, result.report.stored) == (scanned.read, scanned.stored)
    assert result.report.outcomes == scanned.outcomes


def test_clusters_of_the_samples_are_those_of_a_scan() -> None:
    distinct, some = DistinctPages(), list[Page]()
    for page in pages():
        row = Page("row", html=page.html, url=page.url)
        some.append(replace(row, id=distinct.id_of(row)[0]))  # statistics sample pages by their ids
    with Deduplicator.open(":memory:", settings=SETTINGS) as dedup:
        dedup.scan(some)
        expected = list(dedup.clusters(min_size=2))
    result = deduplicate(
        [{"id": page.id, "html": page.html, "url": page.url} for page in some], settings=SETTINGS
    )
    assert decided(result.clusters) == decided(expected)
    assert len(result.canonical) + len(result.duplicates) == len(some)


def test_no_library_is_imported_for_a_list() -> None:
    code = (
        "import sys\nfrom es_dedup import deduplicate\nprint(deduplicate(['a b c', 'a b c']))\n"
        "print({'pandas', 'polars', 'pyarrow', 'datasets'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"
