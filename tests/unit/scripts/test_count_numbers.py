"""The count of the decision's numbers names each with its place, and misses none that is set by default."""

from dataclasses import fields

import pytest

from es_dedup.decision.thresholds import BALANCED
from scripts.count_numbers import DECISION, main, numbers_in

SOURCE = """
LONG: Final = 400
NAME: Final = "no number"
class Thresholds:
    amounts: tuple[float, ...] = (20, 50)
    cover: tuple[float, ...] = (0.7, 0.6)
    without: frozenset[str] = frozenset()
RULES: Final = (
    Rule("a", (DAYS >= 1, COVER < LONG), ((NUMBERS >= 3, SHARE < 0.4),)),
)
def other(value): return value >= 7 and 2 * value
"""


def test_curves_constants_and_bounds_of_rules_are_counted() -> None:
    assert sorted(numbers_in(SOURCE)) == [
        (2, "LONG", 400),
        (6, "cover", 0.6),
        (6, "cover", 0.7),
        (9, "NUMBERS", 3),
        (9, "SHARE", 0.4),
    ]


def test_every_threshold_is_printed_with_its_place(capsys: pytest.CaptureFixture[str]) -> None:
    main(DECISION)
    *lines, total = capsys.readouterr().out.splitlines()
    assert total == f"{len(lines)} numbers"
    names = {line.split()[1] for line in lines if line.startswith("thresholds.py:")}
    assert {each.name for each in fields(BALANCED)} - names == {"amounts", "untitled_amounts", "without"}
