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

from es_dedup.cli.group import ExitCode, fail
from es_dedup.cli.session import UNCLUSTERED, Session
from es_dedup.cli.targets import OutputFile, Target, output_target
from es_dedup.model import Member, Relation
from es_dedup.model.batches import chunked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from es_dedup.deduplicator.deduplicator import Deduplicator
    from es_dedup.model import Cluster

SHARES: Final = ("shared_of_canonical", "shared_of_page")
COLUMNS: Final[dict[str, tuple[str, ...]]] = {
    "clusters": ("cluster_id", "page_id", "canonical", "relation", "score", *SHARES, "size", "title", "url"),
    "keep": ("page_id", "cluster_id", "size"),
    "drop": ("page_id", "cluster_id", "reason", "because_of", "score", *SHARES),
}
EXPORTED: Final = rb'\{"(cluster|page)_id": |(cluster|page)_id,|PAR1.*es-dedup.*export'
"""How the files of ``export`` begin; see ``_write_parquet``."""
RECORD: Final = ("title", "url", "site", "published", "language", "text")
"""Columns that ``--records`` adds."""
_ROWS: Final = 1_000
"""Rows that are read and written at a time."""


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
    target = output_target(output, session, "--output", EXPORTED) if output else None
    suffix = Path(output or "").suffix.lower().removeprefix(".")
    form = format_ or (suffix if suffix in ("csv", "parquet") else "jsonl")
    if form == "parquet" and target is None:
        raise typer.BadParameter("Parquet needs --output FILE", param_hint="--format")
    with session.read() as dedup:
        preset = dedup.preset
        if dedup.clusters_pending:
            fail(UNCLUSTERED, ExitCode.ERROR)
        columns = tuple(dict.fromkeys((*COLUMNS[what], *(RECORD if records else ()))))
        rows = _rows(dedup, what, min_size=min_size, drop_contained=drop_contained)
        rows = _with_records(dedup, rows, columns)
        if form == "parquet" and target is not None:
            count = _write_parquet(rows, columns, target)
        else:
            with _text_stream(target) as stream:
                count = _write_lines(rows, columns, form, stream)
    session.output.note(f"{count:,} rows{f' in {target}' if target else ''}; preset {preset}")


def _rows(dedup: Deduplicator, what: str, *, min_size: int, drop_contained: bool) -> Iterator[dict[str, Any]]:
    clusters = dedup.clusters(min_size=min_size if what == "clusters" else 1)
    for some in chunked(clusters, _ROWS):
        inner = [each.canonical for each in some if drop_contained and each.contained_in]
        dropped = dedup.redundant(inner, contained=True)[1] if inner else ()
        for cluster in some:
            if what == "clusters":
                yield from _pages(cluster)
            elif what == "keep" and cluster.canonical not in dropped:
                yield {"page_id": cluster.canonical, "cluster_id": cluster.id, "size": cluster.size}
            elif what == "drop":
                if cluster.canonical in dropped:
                    yield _dropped(cluster, cluster.canonical, "contained", cluster.contained_in[0])
                for each in cluster.members:
                    yield _dropped(cluster, each.page_id, each.relation, cluster.canonical) | _measured(each)


def _pages(cluster: Cluster) -> Iterator[dict[str, Any]]:
    own = Member(cluster.canonical, Relation.EXACT, 1.0, {"left_cover": 1.0, "right_cover": 1.0})
    for member in (own, *cluster.members):
        page = {"cluster_id": cluster.id, "page_id": member.page_id, "canonical": member is own}
        yield {**page, "relation": str(member.relation), **_measured(member), "size": cluster.size}


def _dropped(cluster: Cluster, page_id: str, reason: str, because_of: str) -> dict[str, Any]:
    page = {"page_id": page_id, "cluster_id": cluster.id, "reason": str(reason), "because_of": because_of}
    return {**page, "score": None, **dict.fromkeys(SHARES)}


def _measured(member: Member) -> dict[str, float | None]:
    """How much a member shares with the canonical document."""
    return {"score": round(member.score, 4), **dict(zip(SHARES, member.shares or (None, None), strict=True))}


def _with_records(
    dedup: Deduplicator, rows: Iterator[dict[str, Any]], columns: tuple[str, ...]
) -> Iterator[dict[str, Any]]:
    """Rows with the columns of their pages' records."""
    wanted = [name for name in columns if name in RECORD]
    if not wanted:
        yield from rows
        return
    for batch in chunked(rows, _ROWS):
        pages = [row["page_id"] for row in batch]
        found = dedup.records_of(pages)
        texts = dedup.texts_of(pages) if "text" in wanted else {}
        for row in batch:
            record = {name: getattr(found.get(row["page_id"]), name, "") for name in wanted}
            if "text" in wanted:
                record["text"] = texts.get(row["page_id"], "")
            yield row | record


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
    except ImportError as error:
        raise MissingExtra("pyarrow", "parquet", "export to Parquet") from error
    kinds = {"canonical": pa.bool_(), "size": pa.int64()} | dict.fromkeys(("score", *SHARES), pa.float64())
    schema = pa.schema([(name, kinds.get(name, pa.string())) for name in columns], {"es-dedup": "export"})
    count = 0
    with target.open() as stream, pq.ParquetWriter(stream, schema) as writer:
        for batch in chunked(rows, _ROWS):
            writer.write_table(pa.Table.from_pylist(batch, schema))
            count += len(batch)
    return count
