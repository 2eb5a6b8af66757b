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
from es_dedup.settings.loading import read_regular

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

MAX_LABEL_BYTES: Final = 256 * 2**20
"""Bytes of a file of labels."""
NAMED_PROBLEMS: Final = 20
"""Different problems of a file that are named."""
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


class LabelsError(InputError):
    """A file of labels that cannot be used; all its problems are named at once.

    Attributes:
        problems: pairs of line number (from 1) and problem.
    """

    def __init__(self, source: str, problems: tuple[tuple[int, str], ...]) -> None:
        super().__init__(
            source, None, f"{len(problems)} problem(s), correct these lines:\n{_listed(source, problems)}"
        )
        self.args = (source, problems)
        self.problems = problems


def _listed(source: str, problems: Sequence[tuple[int, str]]) -> str:
    """Each problem once, with the first line that has it and how many others do."""
    lines: dict[str, list[int]] = {}
    for line, problem in problems:
        lines.setdefault(problem, []).append(line)
    messages = [
        f"  - {source}:{places[0]}: {problem}"
        + (f" (and {len(places) - 1:,} more lines)" if places[1:] else "")
        for problem, places in lines.items()
    ]
    more = len(messages) - NAMED_PROBLEMS
    return "\n".join(messages[:NAMED_PROBLEMS] + ([f"  - and {more:,} other problems"] if more > 0 else []))


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
        InputError: the file cannot be read, is not UTF-8, or has no usable header.
        LabelsError: lines are wrong, or a pair occurs twice; all are named.
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
    rows = _json_rows(text) if jsonl else _tsv_rows(text, source)
    pairs: list[LabelledPair] = []
    problems: list[tuple[int, str]] = []
    line_of: dict[Pair, int] = {}
    for line, row in rows:
        if not isinstance(row, str) and row.get("label") == UNDECIDED:
            continue
        try:
            pair = pair_of(row)
        except ValueError as error:
            problems.append((line, str(error)))
            continue
        if (first := line_of.setdefault(pair.pair, line)) != line:
            problems.append((line, f"the pair {pair.left!r}, {pair.right!r} stands in line {first} already"))
        pairs.append(pair)
    if problems:
        raise LabelsError(source, tuple(problems))
    return tuple(pairs)


def digest(labels: Iterable[LabelledPair]) -> str:
    """SHA-256 (hexadecimal) of the labels, whatever their order and the format they were read from."""
    rows = sorted((each.left, each.right, str(each.label), str(each.relation or "")) for each in labels)
    return hashlib.sha256(json.dumps(rows, ensure_ascii=True).encode()).hexdigest()


def pair_of(row: Mapping[str, Any] | str) -> LabelledPair:
    """The pair of a row of a file of labels.

    Raises:
        ValueError: it is none; a text is the problem itself.
    """
    if isinstance(row, str):
        raise ValueError(row)  # noqa: TRY004 - a row that is a text is the problem itself
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


def _tsv_rows(text: str, source: str) -> Iterator[tuple[int, Mapping[str, Any] | str]]:
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    header = lines[0].split("\t")
    missing = [name for name in _REQUIRED if name not in header]
    if missing:
        raise InputError(
            source, 1, f"the header lacks {', '.join(missing)}: name the columns in the first line"
        )
    for number, line in enumerate(lines[1:], 2):
        cells = line.split("\t")
        if not line.strip():
            continue
        if len(cells) != len(header):
            yield number, f"{len(cells)} columns, the header has {len(header)}"
        else:
            yield number, dict(zip(header, cells, strict=True))


def _json_rows(text: str) -> Iterator[tuple[int, Mapping[str, Any] | str]]:
    # Only newlines end a line: JSON strings may hold other separators.
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except RecursionError:
            yield number, "JSON nested too deeply"
            continue
        except ValueError as error:
            yield number, f"no JSON: {error}"
            continue
        yield number, row if isinstance(row, dict) else "no JSON object"
