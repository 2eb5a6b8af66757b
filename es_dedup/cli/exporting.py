"""``index export``: clusters, and the lists of pages to keep and to drop."""

from __future__ import annotations

import csv
import io
import json
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from es_dedup.cli.group import CommandFailed
from es_dedup.cli.session import UNCLUSTERED, Session
from es_dedup.cli.targets import OutputFile, Target, output_target
from es_dedup.model.batches import chunked

if TYPE_CHECKING:
    from collections.abc import Iterator
EXPORTED: Final = rb'\{"(cluster|page)_id": |(cluster|page)_id,|PAR1.*es-dedup.*export'
"""How the files of ``export`` begin; see ``_write_parquet``."""
_ROWS: Final = 1_000
"""Rows that are written at a time."""


def export(
    session: Session,
    *,
    what: Literal["clusters", "keep", "drop"] = "clusters",
    format_: Literal["jsonl", "csv", "parquet"] | None = None,
    output: OutputFile = None,
    min_size: Annotated[int, typer.Option(min=1)] = 2,
    drop_contained: bool = False,
    records: bool = False,
) -> None:
    """Write clusters, or the list of pages to keep or to drop.

    Every stored page is in exactly one of the two lists: each cluster's canonical document is kept, its members dropped.

    Args:
        what: All pages of clusters; the pages to keep; the pages to drop.
        format_: Format of the rows (default: by the suffix of --output, or jsonl).
        min_size: Minimum number of pages in a cluster, for --what clusters.
        drop_contained: Also drop pages that are contained in a longer page.
        records: Add what is stored of each page: title, URL, site, time, language, text.
    """
    from es_dedup.report.rows import columns_of, page_rows

    target = output_target(output, session, "--output", EXPORTED) if output else None
    suffix = Path(output or "").suffix.lower().removeprefix(".")
    form = format_ or (suffix if suffix in ("csv", "parquet") else "jsonl")
    if form == "parquet" and target is None:
        raise typer.BadParameter("Parquet needs --output FILE", param_hint="--format")
    with session.read() as dedup:
        preset = dedup.preset
        if dedup.clusters_pending:
            raise CommandFailed(UNCLUSTERED)
        columns = columns_of(what, records=records)
        rows = page_rows(dedup, what, columns, min_size=min_size, contained=drop_contained)
        if form == "parquet" and target is not None:
            count = _write_parquet(rows, columns, target)
        else:
            with _text_stream(target) as stream:
                count = _write_lines(rows, columns, form, stream)
    session.output.note(f"{count:,} rows{f' in {target}' if target else ''}; preset {preset}")


@contextmanager
def _text_stream(target: Target | None) -> Iterator[IO[str]]:
    """Standard output, or an output as text."""
    if target is None:
        yield sys.stdout
        return
    with target.open() as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
        yield text
        text.flush()
        text.detach()


def _write_lines(rows: Iterator[dict[str, Any]], columns: tuple[str, ...], form: str, stream: IO[str]) -> int:
    count = 0
    table = csv.DictWriter(stream, columns, lineterminator="\n")
    if form == "csv":
        table.writeheader()
    for row in rows:
        if form == "csv":
            table.writerow(row)
        else:
            stream.write(json.dumps(row, ensure_ascii=False) + "\n")
        count += 1
    return count


def _write_parquet(rows: Iterator[dict[str, Any]], columns: tuple[str, ...], target: Target) -> int:
    from es_dedup.errors import MissingExtra

    try:
        import pyarrow as pa
        import pyarrow.parquet as pq

        from es_dedup.report.rows import FIGURES
    except ImportError as error:
        raise MissingExtra("pyarrow", "parquet", "export to Parquet") from error
    kinds = {"canonical": pa.bool_(), "size": pa.int64()} | dict.fromkeys(FIGURES, pa.float64())
    schema = pa.schema([(name, kinds.get(name, pa.string())) for name in columns], {"es-dedup": "export"})
    count = 0
    with target.open() as stream, pq.ParquetWriter(stream, schema) as writer:
        for batch in chunked(rows, _ROWS):
            writer.write_table(pa.Table.from_pylist(batch, schema))
            count += len(batch)
    return count
