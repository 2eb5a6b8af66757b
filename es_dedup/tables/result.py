"""What ``deduplicate`` returns: rows that are kept, rows that are duplicates, and the evidence."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final
from weakref import finalize

from es_dedup.errors import UnknownPage
from es_dedup.model import AddReport, Cluster, Member, Outcome, PairDecision, Relation
from es_dedup.model.batches import by_key

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from es_dedup.deduplicator.deduplicator import Deduplicator
    from es_dedup.tables.kinds import Rows

COLUMNS: Final = {
    "page_id": None,
    "cluster_id": None,
    "canonical": None,
    "relation": "string",
    "score": "double",
    "duplicate_of": None,
    "cover": "double",
    "canonical_cover": "double",
}
"""Columns of the table of all rows, as those of ``es_dedup.spark``; None: the type of ids."""
SAME: Final = {"left_cover": 1.0, "right_cover": 1.0}
"""Evidence of rows with equal content and metadata."""
PANDAS: Final = {"int64": "Int64", "uint64": "UInt64", "string": "string", "double": "Float64"}
"""Nullable types of pandas."""


class DeduplicationResult:
    """Rows with their clusters; ``len`` is the number of rows.

    Attributes:
        report: counts and times of the scan.
    """

    def __init__(
        self,
        rows: Rows,
        names: Sequence[Any],
        page_ids: Sequence[str],
        dedup: Deduplicator,
        report: AddReport,
        note: str,
    ) -> None:
        self._rows, self._names, self._dedup = rows, names, dedup
        self._page_ids = page_ids
        self._row_of = {str(name): row for row, name in enumerate(names)}
        self._equal_rows = by_key((page_id, row) for row, page_id in enumerate(page_ids))
        self._copies = len(page_ids) - len(self._equal_rows)
        duplicates = report.outcomes.get(Outcome.DUPLICATE, 0) + self._copies
        self.report = replace(
            report,
            read=report.read + self._copies,
            stored=report.stored + self._copies,
            outcomes={**report.outcomes, **({Outcome.DUPLICATE: duplicates} if self._copies else {})},
            decisions={},
            failed=self._by_row(report.failed),
            skipped_pages=self._by_row(report.skipped_pages),
            notes=(*filter(None, (note,)), *report.notes),
        )
        finalize(self, dedup.close)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self._summary}>"

    @property
    def _summary(self) -> str:
        duplicates = len(self._duplicates)
        counted = f"{_counted(len(self), 'row')}, {len(self) - duplicates:,} kept, {_counted(duplicates, 'duplicate')}"
        return f"{counted} in {_counted(len(self.clusters), 'cluster')}; preset {self.report.preset}"

    @cached_property
    def clusters(self) -> list[Cluster]:
        """Clusters of at least two rows, in the order of rows, each member with its evidence against the canonical document; ids are strings."""
        stored = self._dedup.clusters(min_size=1 if self._copies else 2)
        of_rows = [each for each in map(self._of_rows, stored) if each.members]
        return sorted(of_rows, key=lambda each: self._row_of[each.canonical])

    @cached_property
    def _duplicates(self) -> dict[int, tuple[int, Member]]:
        """Of each duplicate, by row, the row of its canonical document and the evidence."""
        return {
            self._row_of[member.page_id]: (self._row_of[cluster.canonical], member)
            for cluster in self.clusters
            for member in cluster.members
        }

    @property
    def canonical(self) -> Any:
        """The rows that are kept: canonical documents and rows without duplicates, in their order, of the kind that was given."""
        return self._rows.take([row for row in range(len(self)) if row not in self._duplicates])

    @property
    def duplicates(self) -> Any:
        """The other rows, in their order, of the kind that was given."""
        return self._rows.take(sorted(self._duplicates))

    @property
    def skipped(self) -> dict[Any, str]:
        """Why rows have nothing to compare, by id; they are unique. The first 1,000."""
        return {self._names[self._row_of[name]]: why for name, why in self.report.skipped_pages.items()}

    def explain(self, left: Any, right: Any) -> PairDecision:
        """The relation of two rows, by id, with all evidence and the result of each rule; ``.explanation`` has it in three lines.

        Raises:
            UnknownPage: an id that no row has.
        """
        sides = str(left), str(right)
        if unknown := [name for name in sides if name not in self._row_of]:
            raise UnknownPage(unknown[0])
        decision = self._dedup.explain(*(self._page_ids[self._row_of[name]] for name in sides))
        clusters = tuple(str(self._names[self._equal_rows[page_id][0]]) for page_id in decision.clusters)
        return replace(decision, left=sides[0], right=sides[1], clusters=clusters)

    def to_dict(self) -> dict[str, list[Any]]:
        """The columns ``page_id``, ``cluster_id``, ``canonical``, ``relation``, ``score``, ``duplicate_of``, ``cover`` and ``canonical_cover``.

        One entry a row. ``relation`` (exact or duplicate), ``score`` and the shares of each page that the other has, in [0, 1], are those
        between a duplicate and its canonical document, else None.
        """
        rows: list[tuple[Any, ...]] = []
        for row, own in enumerate(self._names):
            if row not in self._duplicates:
                rows.append((own, own, own, None, None, None, None, None))
                continue
            canonical_row, member = self._duplicates[row]
            canonical, kind = self._names[canonical_row], str(member.relation)
            canonical_cover, cover = member.shares or (None, None)
            rows.append((own, canonical, canonical, kind, member.score, canonical, cover, canonical_cover))
        values = zip(*rows, strict=True) if rows else ((),) * len(COLUMNS)
        return {name: list(column) for name, column in zip(COLUMNS, values, strict=True)}

    def to_arrow(self) -> Any:
        """``to_dict`` as a ``pyarrow.Table``; ids are numbers where all are and fit into 64 bits, else texts."""
        arrow = import_module("pyarrow")
        return arrow.table({name: arrow.array(values, kind) for name, kind, values in self._typed_columns()})

    def to_pandas(self) -> Any:
        """``to_dict`` as a ``pandas.DataFrame`` with nullable types, which are those of ``to_arrow``."""
        pandas = import_module("pandas")
        return pandas.DataFrame(
            {name: pandas.array(values, dtype=PANDAS[kind]) for name, kind, values in self._typed_columns()}
        )

    def _typed_columns(self) -> Iterator[tuple[str, str, list[Any]]]:
        """Columns of ``to_dict`` with their types."""
        ids = _type_of_ids(self._names)
        for name, values in self.to_dict().items():
            kind = COLUMNS[name]
            if kind is None and ids == "string":
                yield name, ids, [None if value is None else str(value) for value in values]
            else:
                yield name, kind or ids, values

    def _of_rows(self, cluster: Cluster) -> Cluster:
        """A cluster of pages as one of all rows with their content, under the ids of the rows."""
        canonical, *copies = self._equal_rows[cluster.canonical]
        members = dict.fromkeys(copies, Member("", Relation.EXACT, 1.0, SAME))
        for member in cluster.members:
            members |= dict.fromkeys(self._equal_rows[member.page_id], member)
        name = str(self._names[canonical])
        return replace(
            cluster,
            id=name,
            canonical=name,
            members=tuple(replace(members[row], page_id=str(self._names[row])) for row in sorted(members)),
            contained_in=tuple(self._by_row(dict.fromkeys(cluster.contained_in, ""))),
        )

    def _by_row(self, pages: Mapping[str, str]) -> dict[str, str]:
        """Texts about pages, by the id of the first row of each, in the order of rows."""
        rows = sorted((self._equal_rows[page_id][0], text) for page_id, text in pages.items())
        return {str(self._names[row]): text for row, text in rows}


def _type_of_ids(ids: Collection[Any]) -> str:
    numbers = [int(each) for each in ids if not isinstance(each, str)]
    if not numbers or len(numbers) < len(ids):
        return "string"
    if min(numbers) >= -(2**63) and max(numbers) < 2**63:
        return "int64"
    return "uint64" if min(numbers) >= 0 and max(numbers) < 2**64 else "string"


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
