"""The page of a comparison: all methods, safe texts, well-formed, nothing from outside."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

import pytest
from lxml import html

from es_dedup.evaluation import labelled
from es_dedup.model import Relation, Verdict
from es_dedup.model.annotations import Label
from experiments.comparison import compare
from experiments.comparison_page import COST, QUALITY, cost_row, quality_row, render_comparison
from experiments.curves import bar_list, line_chart
from experiments.methods import Cost, MethodRun

HOSTILE: Final = "<script>alert(1)</script>\u202e\"'&"
WHEN: Final = datetime(2026, 11, 21, 12, 30, tzinfo=UTC)


def comparison(*names: str) -> dict[str, Any]:
    """A comparison of methods, of which the first alone is right on the last pair."""
    labels = [labelled(f"a{at}{HOSTILE}", f"b{at}", Label.DUP) for at in range(4)]
    runs = []
    for place, name in enumerate(names):
        verdicts = {
            each.pair: Verdict(name, Relation.DUPLICATE, 0.9 - at / 10, {"common": at, "why": HOSTILE})
            for at, each in enumerate(labels[: 4 if place == 0 else 3])
        }
        cost = Cost(0.1 * 10**place, 8.0, 4.0, 0.0 if place else 2.5, 0.5, None)
        runs.append(
            MethodRun(name, verdicts, frozenset(verdicts), {"few-words": 2}, cost, lambda score: score)
        )
    return compare(runs, labels, 8, folds=2).as_dict()


@pytest.fixture(scope="module")
def page() -> str:
    """A page of three methods."""
    data = comparison("one", "two", "three")
    texts = {f"a3{HOSTILE}": (HOSTILE, HOSTILE * 100), "b3": ("Title", "Text of the page")}
    return render_comparison(data, texts, title=HOSTILE, generated=WHEN)


def test_the_page_is_well_formed_and_names_every_method(page: str) -> None:
    tree: Any = html.fromstring(page)
    assert [cell.text for cell in tree.xpath("//table[1]//tbody/tr/td[1]")][:3] == ["one", "two", "three"]
    heads = [cell.text for cell in tree.xpath("//th")]
    assert heads[: len(QUALITY)] == list(QUALITY)
    assert set(COST) <= set(heads)
    assert len(tree.xpath("//svg")) == 5
    assert "one alone is right: labelled dup" in page


def test_texts_of_pages_stay_texts(page: str) -> None:
    tree: Any = html.fromstring(page)
    assert not tree.xpath("//script")
    assert not tree.xpath("//@style | //@onclick")
    assert "\u202e" not in page
    assert "alert(1)" in tree.text_content()


def test_nothing_is_loaded_and_nothing_runs(page: str) -> None:
    assert "default-src 'none'" in page
    tree: Any = html.fromstring(page)
    assert not tree.xpath("//link | //img | //@src | //iframe")


def test_rows_have_a_cell_for_every_heading() -> None:
    for name, method in comparison("one", "two", "three")["methods"].items():
        assert len(quality_row(name, method)) == len(QUALITY)
        assert len(cost_row(name, method)) == len(COST)
    assert cost_row(name, method)[3] == "–"


def test_lines_of_few_points_and_many_lines_are_drawn() -> None:
    drawn = line_chart("t", "x", "y", {f"line {at}": [(0.5, 0.5)][: at % 2] for at in range(25)})
    tree: Any = html.fragment_fromstring(drawn)
    assert len(tree.xpath("//g")) == 25
    assert len({group.get("class") for group in tree.xpath("//g")}) == 25
    assert len(tree.xpath("//circle")) == 12


@pytest.mark.parametrize("values", [{}, {"a": 0.0}, {"a": 1.0}, {"a": 0.001, "b": 1000.0, "c": 0.0}])
def test_bars_are_longer_for_larger_values_and_nothing_for_nothing(values: dict[str, float]) -> None:
    tree: Any = html.fragment_fromstring(bar_list("t", "ms", values))
    widths = [float(bar.get("width")) for bar in tree.xpath("//rect")]
    assert len(widths) == len(values)
    assert widths == sorted(widths)
    assert all(
        (width > 0) == (value > 0) for width, value in zip(widths, sorted(values.values()), strict=True)
    )
