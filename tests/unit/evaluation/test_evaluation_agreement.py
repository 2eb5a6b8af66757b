"""How far readers agree, by a worked example, and the labels on which they do."""

import json

import pytest

from es_dedup.evaluation import parse_labels
from es_dedup.evaluation.agreement import agreements, consensus
from es_dedup.model import Relation
from es_dedup.model.annotations import Annotation, Label

DUP, DIFF = Label.DUP, Label.DIFF


def said(reader: str, *labels: Label | None, relation: Relation | None = None) -> list[Annotation]:
    """Labels of the first pairs; None: not labelled."""
    given = ((place, label) for place, label in enumerate(labels) if label is not None)
    return [Annotation("a", f"p{at:02}", label, reader, "", relation) for at, label in given]


def test_kappa_is_that_of_a_worked_example() -> None:
    # 50 pairs: both dup 20, both diff 15, a alone dup 5, b alone dup 10; chance 0.5, observed 0.7
    ours = [DUP] * 25 + [DIFF] * 25
    theirs = [DUP] * 20 + [DIFF] * 5 + [DUP] * 10 + [DIFF] * 15
    (found,) = agreements([*said("b", *theirs), *said("a", *ours), *said("c", *[None] * 50, DUP)])
    assert (found.readers, found.pairs, found.agreed, found.share) == (("a", "b"), 50, 35, 0.7)
    assert found.kappa == pytest.approx(0.4)


def test_kappa_is_unknown_without_variation_and_at_most_one() -> None:
    assert agreements([*said("a", DUP, DUP), *said("b", DUP, DUP)])[0].kappa is None
    assert agreements([*said("a", DUP, DIFF), *said("b", DUP, DIFF)])[0].kappa == 1
    assert agreements([*said("a", DUP, DIFF), *said("b", DIFF, DUP)])[0].kappa == -1
    assert agreements(said("a", DUP)) == []


def test_labels_on_which_readers_differ_are_undecided() -> None:
    rows = consensus(
        [
            *said("a", DUP, DIFF),
            *said("b", DUP, DUP),
            *said("c", None, None, Label.CONTAIN, relation=Relation.CONTAINED),
        ]
    )
    assert [row["label"] for row in rows] == ["dup", "?", "contain"]
    assert rows[1]["readers"] == {"a": "diff", "b": "dup"}
    read = parse_labels("\n".join(map(json.dumps, rows)), "x", jsonl=True)
    assert [(each.right, each.label, each.relation) for each in read] == [
        ("p00", DUP, None),
        ("p02", Label.CONTAIN, Relation.CONTAINED),
    ]
