"""Labelled pairs of pages: the ground truth that methods are measured on."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from es_dedup.errors import InputError
from es_dedup.model import Relation
from es_dedup.model.annotations import Label
from es_dedup.settings.files import read_regular

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

MAX_LABEL_BYTES: Final = 256 * 2**20
"""Bytes of a file of labels."""
Pair = tuple[str, str]
"""Two page ids, the smaller one first."""


_LABELS: Final = {str(label): label for label in Label} | {
    "0": Label.DIFF,
    "1": Label.DUP,
    "2": Label.DUP,
    "3": Label.DUP,
}
UNDECIDED: Final = "?"
"""In place of a label: the readers did not agree; the pair is left out."""
_REQUIRED: Final = ("id_a", "id_b", "label")


@dataclass(frozen=True, slots=True)
class LabelledPair:
    """One labelled pair.

    Attributes:
        left, right: page ids; ``left`` < ``right``.
        label: the reader's.
        relation: seen from ``left``, where the reader gave one; None elsewhere.
    """

    left: str
    right: str
    label: Label
    relation: Relation | None = None

    @property
    def pair(self) -> Pair:
        """The two ids, the smaller one first."""
        return self.left, self.right


def ordered_pair(left: str, right: str) -> Pair:
    """The two ids, the smaller one first."""
    return (left, right) if left < right else (right, left)


def labelled(left: str, right: str, label: Label, relation: Relation | None = None) -> LabelledPair:
    """A labelled pair with its ids in order; ``relation`` is seen from ``left`` as given.

    Raises:
        ValueError: an id is empty, or both are the same.
    """
    if not left or not right:
        raise ValueError("a page id is empty")
    if left == right:
        raise ValueError(f"page {left!r} is paired with itself")
    if left < right:
        return LabelledPair(left, right, label, relation)
    return LabelledPair(right, left, label, relation.reversed if relation else None)


def read_labels(path: str | Path) -> tuple[LabelledPair, ...]:
    """Pairs of a file, in its order.

    A name that ends in ``.jsonl`` is read as one JSON object a line, any other as tab-separated text with a
    header. Needed are ``id_a``, ``id_b`` and ``label`` (dup, contain, partial, diff; or 0 for diff and 1-3
    for dup; ``?``: undecided, the pair is left out); ``relation`` (of page a to page b) is optional; others are passed
    over. Blank lines are allowed.

    Raises:
        InputError: the file cannot be read, is not UTF-8, has no usable header, or a line is wrong or repeats a pair.
    """
    source = str(path)
    try:
        text = read_regular(Path(path), MAX_LABEL_BYTES).decode("utf-8-sig")
    except OSError as error:
        raise InputError(source, None, f"cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InputError(source, None, f"is not UTF-8 (byte {error.start}): save it as UTF-8") from error
    return parse_labels(text, source, jsonl=source.endswith(".jsonl"))


def parse_labels(text: str, source: str, *, jsonl: bool) -> tuple[LabelledPair, ...]:
    """The same for text at hand; ``source`` is the name that problems are reported under."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]  # JSON strings may hold other separators
    header = [] if jsonl else lines[0].split("\t")
    if missing := [name for name in _REQUIRED if not jsonl and name not in header]:
        problem = f"the header lacks {', '.join(missing)}: name the columns in the first line"
        raise InputError(source, 1, problem)
    line_of: dict[Pair, int] = {}
    pairs: list[LabelledPair] = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or (header and number == 1):
            continue
        try:
            row = _tsv_row(header, line) if header else _json_row(line)
            if row.get("label") == UNDECIDED:
                continue
            pair = pair_of(row)
        except ValueError as error:
            raise InputError(source, number, str(error)) from error
        if (first := line_of.setdefault(pair.pair, number)) != number:
            problem = f"the pair {pair.left!r}, {pair.right!r} stands in line {first} already"
            raise InputError(source, number, problem)
        pairs.append(pair)
    return tuple(pairs)


def digest(labels: Iterable[LabelledPair]) -> str:
    """SHA-256 (hexadecimal) of the labels, whatever their order and the format they were read from."""
    rows = sorted((each.left, each.right, str(each.label), str(each.relation or "")) for each in labels)
    return hashlib.sha256(json.dumps(rows, ensure_ascii=True).encode()).hexdigest()


def pair_of(row: Mapping[str, Any]) -> LabelledPair:
    """The pair of a row of a file of labels.

    Raises:
        ValueError: it is none.
    """
    missing = [name for name in _REQUIRED if row.get(name) in (None, "")]
    if missing:
        raise ValueError(f"no {', '.join(missing)}")
    label = _LABELS.get(str(row["label"]).strip().lower())
    if label is None:
        raise ValueError(f"label {row['label']!r} is none of {', '.join(_LABELS)}")
    return labelled(str(row["id_a"]), str(row["id_b"]), label, _relation(row.get("relation")))


def _relation(value: object) -> Relation | None:
    if value is None or value == "":
        return None
    try:
        return Relation(str(value).strip().lower())
    except ValueError:
        raise ValueError(f"relation {value!r} is none of {', '.join(Relation)}") from None


def _tsv_row(header: Sequence[str], line: str) -> dict[str, Any]:
    cells = line.split("\t")
    if len(cells) != len(header):
        raise ValueError(f"{len(cells)} columns, the header has {len(header)}")
    return dict(zip(header, cells, strict=True))


def _json_row(line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except RecursionError:
        raise ValueError("JSON nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"no JSON: {error.msg} at character {error.pos + 1}") from None
    if not isinstance(row, dict):
        raise ValueError("no JSON object")  # noqa: TRY004 - a wrong line
    return row
