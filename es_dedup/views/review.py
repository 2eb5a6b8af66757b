"""Review: pairs near a threshold, shown to readers who say what they are; and how far readers agree."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Final

from es_dedup.errors import UnknownPage
from es_dedup.evaluation.agreement import agreements, as_jsonl, consensus
from es_dedup.evaluation.labels import UNDECIDED, Pair
from es_dedup.evaluation.rule_thresholds import deciding_conditions
from es_dedup.evaluation.uncertain import sampled, uncertain_pairs
from es_dedup.model.annotations import Annotation, Label
from es_dedup.views.compare import pair_of
from es_dedup.views.templates import console_page

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from es_dedup.deduplicator.index_reader import IndexReader
    from es_dedup.views.frame import Visitor

DRAWN_PAGES: Final = 2_000
"""Pages that a queue is drawn from at random."""
DRAWN_PAIRS: Final = 30
"""Pairs of a queue."""
ANSWERS: Final = {
    Label.DUP: "Same",
    Label.DIFF: "Different",
    Label.CONTAIN: "One contains the other",
    Label.PARTIAL: "A passage is shared",
}
"""Labels in words."""
SKIP: Final = "skip"
UNDO: Final = "undo"


def draw(reader: IndexReader, seed: int) -> bytes:
    """A queue: the pairs most in doubt among those of some pages and their candidates, not labelled by anybody; JSON."""
    known = {each.pair for each in reader.annotations()}
    pages = sampled(reader, DRAWN_PAGES, seed)
    found = uncertain_pairs(reader, pages, count=DRAWN_PAIRS, known=known, seed=seed)
    return json.dumps(found).encode()


def labels(reader: IndexReader) -> bytes:
    """All labels as JSON lines, one for each pair; ``?`` where readers differ."""
    return as_jsonl(consensus(reader.annotations())).encode()


def begin(reader: IndexReader, visitor: Visitor) -> bytes:
    """What was labelled by whom, and how far readers agree; who may write can begin a review."""
    said = reader.annotations()
    rows = consensus(said)
    return console_page(
        "review_start",
        visitor,
        answers=ANSWERS,
        readers=_readers(said),
        agreements=agreements(said),
        pairs=len(rows),
        undecided=sum(row["label"] == UNDECIDED for row in rows),
    )


def ask(
    reader: IndexReader,
    visitor: Visitor,
    name: str,
    second: bool,  # noqa: FBT001 - sent to a process by position
    queue: Sequence[Pair],
    skipped: Collection[Pair],
    wanted: Pair | None,
) -> bytes:
    """The next pair for a reader, with what its decision hangs on, and buttons for the answers.

    Args:
        reader: of the index.
        visitor: who looks.
        name: of who reads.
        second: pairs that other readers have labelled come first.
        queue: drawn pairs.
        skipped: pairs that are not asked again.
        wanted: this pair, whatever was said of it.
    """
    said = reader.annotations()
    done = {each.pair for each in said if each.reader == name} | set(skipped)
    labelled = [each.pair for each in said if each.reader != name] if second else []
    open_pairs = [pair for pair in dict.fromkeys((*labelled, *queue)) if pair not in done]
    if wanted is not None:
        open_pairs = list(dict.fromkeys((wanted, *open_pairs)))
    given = {"reader": name, **({"second": "true"} if second else {})}
    for pair in open_pairs:
        try:
            decision = reader.explain(*pair)
            shown = pair_of(reader, *pair, visitor.language)
        except UnknownPage:  # removed meanwhile
            continue
        nearest = deciding_conditions((decision.otherwise or decision).rules)
        return console_page(
            "review",
            visitor,
            answers=ANSWERS,
            given=given,
            pair=shown,
            nearest=[each for each in nearest if each.margin < 1 or each is nearest[0]],
            left=len(open_pairs),
        )
    return console_page("review_end", visitor, given=given)


def _readers(said: Sequence[Annotation]) -> list[tuple[str, list[int]]]:
    """Each reader with the number of their labels of each kind, and of all."""
    counts = Counter((each.reader, each.label) for each in said)
    names = sorted({each.reader for each in said})
    of_kinds = {name: [counts[name, label] for label in ANSWERS] for name in names}
    return [(name, [*some, sum(some)]) for name, some in of_kinds.items()]
