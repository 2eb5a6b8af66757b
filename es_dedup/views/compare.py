"""Two pages side by side: what ``evidence.html.j2`` shows of a pair."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from es_dedup.model.explanation import thresholds_of_coverage
from es_dedup.model.translations import translate, translate_filled
from es_dedup.views.evidence import Measure, measures, rule_rows
from es_dedup.views.features import FieldPair, compared_fields

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from es_dedup.decision.alignment import AlignedRow, Piece
    from es_dedup.deduplicator.index_reader import IndexReader
    from es_dedup.index.records import FeatureRecord
    from es_dedup.model import PairDecision, Verdict

CHARS: Final = 100_000
"""Characters of a text that are shown."""
_INVISIBLE: Final = re.compile("[\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
Pieces: TypeAlias = "list[tuple[str, str]]"
"""Parts of a text, each with the name of its element: ``mark`` of what only one text has, ``s`` of template text; else empty."""


class PageView(NamedTuple):
    """A page as shown; ``text`` may be empty when texts are not kept."""

    record: FeatureRecord
    text: str


@dataclass(frozen=True, slots=True)
class MethodRow:
    """What one method says of a pair: its verdict with measures, or why it is not applicable."""

    name: str
    verdict: Verdict | None = None
    measures: Sequence[Measure] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class PairView:
    """A pair as shown.

    Attributes:
        sides: both pages.
        relation: between them, as decided.
        lines: the decision in words.
        bars: of each page how much of it stands in the other one, and the threshold that decided, in [0, 1]; empty where this was not measured.
        rows: of each text the parts that are shown side by side, and whether they are the same.
        more: characters of each text that are not shown.
        methods: what each method says.
        rules: name, outcome and reason of each rule.
        fields: named features of both pages.
    """

    sides: tuple[PageView, PageView]
    relation: str
    lines: Sequence[str]
    bars: Sequence[tuple[float, float | None]]
    rows: Sequence[tuple[bool, tuple[Pieces, Pieces]]]
    more: tuple[int, int]
    methods: Sequence[MethodRow]
    rules: Sequence[tuple[str, str, str]]
    fields: Sequence[FieldPair]


def pair_of(
    reader: IndexReader,
    left: str,
    right: str,
    language: str,
    *,
    features: bool = False,
    names: tuple[str, str] = ("the left page", "the right page"),
    chars: int = CHARS,
) -> PairView:
    """Two stored pages as the view shows them, side by side.

    Args:
        reader: an open index.
        left, right: ids of the pages.
        language: of all words around the pages.
        features: with their named features.
        names: what the pages are called in the sentence on them, in English.
        chars: of each text at most so many characters are shown.

    Raises:
        UnknownPage: an id that is not stored.
    """
    ours, theirs = (PageView(reader.record(name), reader.text(name)) for name in (left, right))
    decision, aligned = reader.explain(left, right), reader.aligned(left, right)
    called = [translate(language, name) for name in names]
    rows, more = _cut_rows(aligned, chars)
    return PairView(
        sides=(ours, theirs),
        relation=str(decision.relation),
        lines=replace(decision, left=called[0], right=called[1]).explained(language),
        bars=_bars(decision),
        rows=rows,
        more=more,
        methods=[
            *(MethodRow(each.detector, each, measures(each.evidence)) for each in decision.all_verdicts),
            *_skipped(decision.skipped, language),
        ],
        rules=rule_rows(decision.rules, language),
        fields=compared_fields(reader.features(left), reader.features(right)) if features else (),
    )


def _bars(decision: PairDecision) -> list[tuple[float, float | None]]:
    """Coverage of both pages; the better covered one has to reach another threshold than the other one."""
    if decision.shares is None:
        return []
    better, lesser = thresholds_of_coverage(decision)
    left_is_better = decision.shares[0] >= decision.shares[1]
    thresholds = (better, lesser) if left_is_better else (lesser, better)
    return list(zip(decision.shares, thresholds, strict=True))


def _skipped(reasons: Mapping[str, str], language: str) -> Iterable[MethodRow]:
    for name, reason in reasons.items():
        parts = (translate_filled(language, part) for part in reason.split("; "))
        yield MethodRow(name, reason=translate(language, "; ").join(parts))


def _cut_rows(
    rows: Sequence[AlignedRow], most: int
) -> tuple[list[tuple[bool, tuple[Pieces, Pieces]]], tuple[int, int]]:
    """Rows with at most so many characters of each text, and how many more there are of each."""
    left_remaining = right_remaining = most
    shown = []
    for row in rows:
        if left_remaining <= 0 and right_remaining <= 0:
            break
        shown.append((row.same, (_cut(row.left, left_remaining), _cut(row.right, right_remaining))))
        left_remaining -= _length(row.left)
        right_remaining -= _length(row.right)
    lengths = sum(_length(row.left) for row in rows), sum(_length(row.right) for row in rows)
    return shown, (max(0, lengths[0] - most), max(0, lengths[1] - most))


def _cut(pieces: Iterable[Piece], most: int) -> Pieces:
    shown: Pieces = []
    for piece in pieces:
        if most <= 0:
            break
        text = piece.text[:most]
        most -= len(text)
        kind = "mark" if piece.only else "s" if piece.template else ""
        shown.append((kind, visible(text) if piece.only else text))
    return shown


def _length(pieces: Iterable[Piece]) -> int:
    return sum(len(piece.text) for piece in pieces)


def visible(text: str) -> str:
    """A text with the names of invisible characters in place of these, for stretches that may differ in nothing else."""
    return _INVISIBLE.sub(lambda character: f"⟨U+{ord(character[0]):04X}⟩", text)


def title_of(record: FeatureRecord) -> str:
    """What a page is called: its title, else its URL, else its id."""
    return record.title or record.url or record.page_id
