"""Can anything tell pages that contain another from pages that share a passage with it?

Readers call a pair containing when about four fifths of the shorter page stand in the longer one, and partial when a real
passage is shared and neither holds. First table: how many pairs of each label have which cover of the better covered page,
as the decision rules see it. Second table: of the pairs whose cover lies between the two bounds, the chance that a containing
pair has more of a measure than a partial one (area under the curve; 1 tells them apart, .5 says nothing). The decision rules know
the first three measures; the others are exact, from the whole texts, and no index stores what they need.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Final

import numpy as np
from bench_presets import all_measured
from harness import Row, data_file, parser_of, report, rows_of
from labelled import LABELLED

from es_dedup.evaluation import Label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from measured_pairs import Measured
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

BANDS: Final = (0.0, 0.3, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 1.01)
LOW, HIGH = 0.35, 0.80
RUN: Final = 5  # characters that a shared run has at least


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark."""
    parser = parser_of(__doc__)
    parser.add_argument("--sets", nargs="*", default=("portal-zh", "news-zh-2025"), choices=tuple(LABELLED))
    parser.add_argument("--no-read", action="store_true", help="without the pairs read for this project")
    given = parser.parse_args(arguments)
    bands: list[Row] = []
    areas: list[Row] = []
    for each in all_measured(given.data, given.sets, read=not given.no_read):
        better = np.maximum(each.measures.left.cover, each.measures.right.cover)
        bands += [
            {"set": each.name, "label": str(label)} | in_bands(better[each.labels == label])
            for label in (Label.DUP, Label.CONTAIN, Label.PARTIAL)
        ]
        rows = rows_of(data_file(given.data, f"{each.name.partition(',')[0]}.jsonl.xz"))
        areas.append({"set": each.name} | areas_of(each, better, {row["id"]: row["text"] for row in rows}))
    report("Pairs by cover of the better covered page", bands, None)
    report(f"Containing above partial, cover from {LOW} to {HIGH}", areas, given.json)
    return 0


def in_bands(covers: Floats) -> Row:
    """Number of covers in each band."""
    counts = np.histogram(covers, BANDS)[0].tolist()
    return {f"{low:.2f}–": count for low, count in zip(BANDS, counts, strict=False)}


def areas_of(each: Measured, better: Floats, texts: dict[str, str]) -> Row:
    """Area under the curve of every measure."""
    asked = np.isin(each.labels, (Label.CONTAIN, Label.PARTIAL)) & (better >= LOW) & (better <= HIGH)
    contain = each.labels[asked] == Label.CONTAIN
    if not contain.any() or contain.all():
        return {"containing": int(contain.sum()), "partial": int((~contain).sum())}
    measures, ids = each.measures, each.pages.ids
    table: dict[str, list[float]] = {}
    for pair in np.flatnonzero(asked).tolist():
        inner, outer = ids[each.left[pair]], ids[each.right[pair]]
        side = measures.left
        if measures.left.cover[pair] < measures.right.cover[pair]:
            inner, outer, side = outer, inner, measures.right
        found = {
            "cover": better[pair],
            "clauses": side.clause_cover[pair],
            "shared units": measures.shared_tokens[pair],
        } | exact(letters(texts[inner]), letters(texts[outer]))
        for name, value in found.items():
            table.setdefault(name, []).append(float(value))
    return {"containing": int(contain.sum()), "partial": int((~contain).sum())} | {
        name: round(area(np.array(values), contain), 2) for name, values in table.items()
    }


def letters(text: str) -> str:
    """The text without marks and white space."""
    return re.sub(r"\W+", "", text.lower())


def exact(inner: str, outer: str) -> dict[str, float]:
    """Measures of how the inner text stands in the outer one, from the whole texts."""
    covered = np.zeros(len(inner), dtype=np.int64)
    known = {outer[at : at + RUN] for at in range(len(outer) - RUN + 1)}
    for at in range(len(inner) - RUN + 1):
        if inner[at : at + RUN] in known:
            covered[at : at + RUN] = 1
    edges = np.flatnonzero(np.diff(np.concatenate(([-1], covered, [-1]))))
    runs = np.diff(edges)
    kinds = covered[edges[:-1]]
    size = max(len(inner), 1)
    return {
        "5-grams": share_of_grams(inner, outer, 5),
        "3-grams": share_of_grams(inner, outer, 3),
        "in shared runs": covered.sum() / size,
        "longest run": runs[kinds == 1].max(initial=0) / size,
        "largest gap, less": -runs[kinds == 0].max(initial=0) / size,
    }


def share_of_grams(inner: str, outer: str, size: int) -> float:
    """Share of the inner text's grams that the outer one has."""
    known = {outer[at : at + size] for at in range(len(outer) - size + 1)}
    grams = [inner[at : at + size] for at in range(len(inner) - size + 1)]
    return sum(gram in known for gram in grams) / max(len(grams), 1)


def area(values: Floats, positive: NDArray[np.bool_]) -> float:
    """Chance that a positive value is above another one; ties count half."""
    above = values[positive][:, None] - values[~positive][None]
    return float((above > 0).mean() + (above == 0).mean() / 2)


if __name__ == "__main__":
    sys.exit(main())
