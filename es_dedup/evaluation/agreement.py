"""Labels that several readers gave to the same pairs: how far they agree, and the labels on which they do."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

from es_dedup.evaluation.labels import UNDECIDED, LabelledPair, Pair, pair_of
from es_dedup.model.batches import by_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from es_dedup.model.annotations import Annotation, Label


@dataclass(frozen=True, slots=True)
class Agreement:
    """Two readers on the pairs that both have labelled.

    Attributes:
        readers: their names, in order.
        pairs: labelled by both; at least 1.
        agreed: of them, with the same label.
        kappa: Cohen's kappa, agreement beyond chance, in [-1, 1]; None where both gave all pairs one label.
            Source: Cohen, "A coefficient of agreement for nominal scales", Educational and Psychological Measurement 20 (1960).
    """

    readers: tuple[str, str]
    pairs: int
    agreed: int
    kappa: float | None

    @property
    def share(self) -> float:
        """Share of the pairs with the same label, in [0, 1]."""
        return self.agreed / self.pairs


def agreements(annotations: Iterable[Annotation]) -> list[Agreement]:
    """Agreement of each two readers who have labelled pairs in common, by their names."""
    by_reader: dict[str, dict[Pair, Label]] = {}
    for each in annotations:
        by_reader.setdefault(each.reader, {})[each.pair] = each.label
    found = []
    for readers in combinations(sorted(by_reader), 2):
        first, second = (by_reader[name] for name in readers)
        labels = [(first[pair], second[pair]) for pair in first.keys() & second.keys()]
        if labels:
            agreed = sum(one == other for one, other in labels)
            found.append(Agreement(readers, len(labels), agreed, _kappa(labels, agreed)))
    return found


def consensus(annotations: Iterable[Annotation]) -> list[dict[str, Any]]:
    """A line for each labelled pair as ``read_labels`` reads it, by pair: its label, or ``UNDECIDED`` where readers differ, and the label of each reader."""
    by_pair = by_key((each.pair, each) for each in annotations)
    rows = []
    for (left, right), readings in sorted(by_pair.items()):
        labels, relations = {each.label for each in readings}, {each.relation for each in readings}
        label = str(readings[0].label) if len(labels) == 1 else UNDECIDED
        row: dict[str, Any] = {"id_a": left, "id_b": right, "label": label}
        if len(relations) == 1 and readings[0].relation is not None:
            row["relation"] = str(readings[0].relation)
        rows.append(row | {"readers": {each.reader: str(each.label) for each in readings}})
    return rows


def as_jsonl(rows: Iterable[Mapping[str, Any]]) -> str:
    """Rows of ``consensus``, or labels of readers, as a file of labels has them."""
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


def agreed_labels(annotations: Iterable[Annotation]) -> tuple[LabelledPair, ...]:
    """The pairs on whose label all their readers agree."""
    return tuple(pair_of(row) for row in consensus(annotations) if row["label"] != UNDECIDED)


def _kappa(labels: list[tuple[Label, Label]], agreed: int) -> float | None:
    total = len(labels)
    first, second = (Counter(side) for side in zip(*labels, strict=True))
    chance = sum(first[label] * second[label] for label in first) / total**2
    return None if chance == 1 else (agreed / total - chance) / (1 - chance)
