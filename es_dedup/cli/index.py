"""``index``: what an index holds, exports and copies of it, pages that are removed, and faults."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from es_dedup.cli.checks import all_checks
from es_dedup.cli.group import ExitCode
from es_dedup.cli.inputs import PAGE_IDS, given_ids
from es_dedup.cli.session import MEMORY, Session
from es_dedup.cli.targets import OutputFile, open_target, output_target
from es_dedup.errors import NotAnIndex, needs_extra
from es_dedup.model import RemoveReport
from es_dedup.model.batches import chunked
from es_dedup.readers.port import JSON_LINES

if TYPE_CHECKING:
    from es_dedup.deduplicator.deduplicator import Deduplicator
    from es_dedup.maintenance.context import MaintenanceContext

LONG_FACTS: Final = ("settings", "also_stored")
"""Of the statistics, what is for machines."""
_ROWS: Final = 1_000
"""Rows that are written at a time."""


def remove(
    session: Session,
    ids: Annotated[list[str] | None, PAGE_IDS] = None,
    *,
    older_than: Annotated[str | None, typer.Option(metavar="AGE")] = None,
    erase: bool = False,
    document: bool = False,
    yes: Annotated[bool, typer.Option("-y")] = False,
    dry_run: bool = False,
) -> ExitCode:
    """Remove pages and repair their clusters. With --erase nothing of them is left.

    Ends with code 3 when some ids were unknown; the others are removed. Erasing writes a file anew, without deleted data, and ends with
    code 1 when something is left; the same command with --dry-run shows later that nothing is.

    Args:
        older_than: Remove pages published longer ago: 90d, 12w or 2y. Pages without a time stay.
        erase: Also erase labels, dead letters, and deleted data in the storage.
        document: With --erase: also delete the documents from their source index.
        yes: Do not ask whether to erase.
        dry_run: Report what would be removed or, with --erase, where it is stored; write nothing.
    """
    if not ids and (erase or older_than is None):
        raise typer.BadParameter("name pages, or an age with --older-than", param_hint="ID…")
    if erase and older_than is not None:
        raise typer.BadParameter("pages to erase are named", param_hint="--erase")
    if erase and document and not session.remote:
        raise typer.BadParameter("an index in a file has no source documents", param_hint="--document")
    first_day = "" if older_than is None else _first_day_kept(older_than)
    with session.index_and_site(read_only=dry_run) as (dedup, site):
        page_ids = given_ids(dedup, ids or ())
        if erase:
            return _erase(session, dedup, site, page_ids, document=document, yes=yes, dry_run=dry_run)
        report = _removed(dedup, site, page_ids, first_day, dry_run=dry_run)
    output, unknown = session.output, report.unknown
    output.emit({**asdict(report), "dry_run": dry_run})
    for page_id in unknown:
        output.warn(f"unknown: {page_id}")
    name = "would be removed" if dry_run else "removed"
    output.facts(
        {name: report.removed, "unknown": len(unknown), "repaired clusters": report.repaired_clusters}
    )
    return ExitCode.LEFT_OUT if unknown else ExitCode.OK


def _removed(
    dedup: Deduplicator, site: MaintenanceContext | None, ids: list[str], first_day: str, *, dry_run: bool
) -> RemoveReport:
    """Remove pages, and those that are older than a day; where source indices are attached, their documents follow."""
    attached = site if site is not None and site.attachments else None
    if attached and first_day:
        advice = "delete these, then run `es-dedup elastic audit --repair`"
        problem = f"pages of attached indices follow their documents: {advice}"
        raise typer.BadParameter(problem, param_hint="--older-than")
    if dry_run:
        return dedup.would_remove([*ids, *(dedup.pages_before(first_day) if first_day else ())])
    if attached:
        report, _ = attached.remove_pages(ids)
        removed = attached.documents_of(name for name in ids if name not in report.unknown)
        refused = attached.source_index.write_dedup_fields(dict.fromkeys(removed)).failed
        attached.put_dead_letters(refused, "update")
        return report
    report = dedup.remove(ids)
    for more in dedup.remove_before(first_day) if first_day else ():
        repaired = report.repaired_clusters + more.repaired_clusters
        report = replace(report, removed=report.removed + more.removed, repaired_clusters=repaired)
    return report


def _first_day_kept(age: str) -> str:
    """The day before which pages are too old (``2026-08-26``), in UTC.

    Raises:
        typer.BadParameter: it is no age.
    """
    given = re.fullmatch(r"(\d{1,5})([dwy])", age.strip())
    if given is None:
        raise typer.BadParameter(f"{age!r} is no age such as 90d, 12w or 2y", param_hint="--older-than")
    days = int(given[1]) * {"d": 1, "w": 7, "y": 365}[given[2]]
    try:
        return (datetime.now(UTC) - timedelta(days=days)).date().isoformat()
    except OverflowError as error:
        raise typer.BadParameter(f"{age} is before all times", param_hint="--older-than") from error


def _erase(
    session: Session,
    dedup: Deduplicator,
    site: MaintenanceContext | None,
    ids: list[str],
    *,
    document: bool,
    yes: bool,
    dry_run: bool,
) -> ExitCode:
    """Ask for confirmation unless ``yes`` is set, erase the pages, and list the places where something of them is left."""
    from es_dedup.maintenance.forget import traces

    if not (dry_run or yes):
        if not sys.stdin.isatty():
            raise typer.BadParameter("erased pages cannot be brought back: add --yes", param_hint="--erase")
        typer.confirm(f"Erase {len(ids):,} pages for good?", abort=True, err=True)
    facts, problem = ({}, "") if dry_run else _erased(dedup, site, ids, document=document)
    of_page = dedup.traces if site is None else partial(traces, site)
    left = {name: places for name in ids if (places := of_page(name))}
    session.output.result(
        facts, {"dry_run": dry_run, **facts, "traces": left, "problems": [problem] if problem else []}
    )
    for name, places in left.items():
        session.output.warn(f"{name}: {'there is' if dry_run else 'left'}: {', '.join(places)}")
    if dry_run and not left:
        session.output.note("nothing of these pages is stored")
    if problem:
        session.output.warn(problem)
    return ExitCode.ERROR if not dry_run and (left or problem) else ExitCode.OK


def _erased(
    dedup: Deduplicator, site: MaintenanceContext | None, ids: list[str], *, document: bool
) -> tuple[dict[str, Any], str]:
    """Forget pages; what was done, and what may be left."""
    of_site: dict[str, Any] = {}
    if site is None:
        erased = dedup.forget(ids)
    else:
        from es_dedup.maintenance.forget import forget_pages

        done = forget_pages(site, ids, document=document)
        erased = done.index
        of_site = {
            "dead letters removed": done.dead_letters,
            "documents deleted": len(done.documents) if document else 0,
        }
    facts = {"removed": erased.removed, "labels removed": erased.annotations, **of_site}
    return {**facts, "overrides that name them": list(erased.overrides)}, erased.problem


def copy(
    session: Session,
    origin: Annotated[str, typer.Argument(metavar="FROM")],
    target: Annotated[str, typer.Argument(metavar="TO")],
    *,
    from_config: Annotated[Path | None, typer.Option(metavar="PATH")] = None,
) -> None:
    """Copy an index with all that it holds, between files and servers, and compare both at the end.

    FROM may be read and written meanwhile. A file is copied to a file in one step; with a server, an interrupted copy goes on by the same
    command.

    Args:
        origin: The index. File, or http://host:9200/name.
        target: The copy, which is made; a file must not be there yet. File, or http://host:9200/name.
        from_config: Settings file for FROM alone, such as credentials of another cluster; the environment then holds for TO only.
    """
    from es_dedup.index.factory import must_be_place
    from es_dedup.maintenance.index_copy import copy_index
    from es_dedup.settings import load_settings

    settings = session.settings
    origin_settings = load_settings(from_config, environ={}) if from_config else settings
    read = Session(origin, None, session.output, _settings=origin_settings)
    written = Session(target, None, session.output, _settings=settings)
    for each in (read, written):
        must_be_place(each.db)
        if each.db == MEMORY:
            raise typer.BadParameter("an index in memory ends with its process: name a file or a server")
    if not read.exists:
        raise NotAnIndex(origin, "there is no such file")
    for each in (read, written):
        each.reach()
    session.writing = True
    with session.progress() as progress:
        done = copy_index(origin, target, settings, origin_settings=origin_settings, report_progress=progress)
    session.output.result({"from": read.place, "to": written.place, **asdict(done)})
    session.output.note("copied and compared")


def stats(session: Session) -> None:
    """Show how much the index holds, with which settings it was made and, on Elasticsearch, attached indices and jobs."""
    with session.read(quiet=session.remote) as dedup:
        facts = dedup.stats()
    if session.remote:
        from es_dedup.maintenance.status import site_status

        with session.site(read_only=True) as site:
            facts |= site_status(site)
    session.output.emit({"db": session.place, **facts})
    shown = {
        name: value for name, value in facts.items() if name not in LONG_FACTS and value not in ({}, [], ())
    }
    session.output.facts({"index": session.place, **shown})
    session.output.note("--json shows all, with what it was made with")


def doctor(session: Session) -> ExitCode:
    """Check the installation, the settings and the index, and say what to do about each fault.

    Ends with code 1 when something is wrong.
    """
    results = all_checks(session)
    faults = sum(result.state == "fault" for result in results)
    session.output.emit({"faults": faults, "checks": results})
    session.output.table(("state", "what", "found"), ((r.state, r.name, r.found) for r in results))
    for result in results:
        if result.name == "clusters":
            session.output.warn(result.found)
    return ExitCode.ERROR if faults else ExitCode.OK


def export(
    session: Session,
    *,
    what: Literal["clusters", "keep", "drop"] = "clusters",
    format_: Literal["jsonl", "csv", "parquet"] | None = None,
    output: OutputFile = None,
    drop_contained: bool = False,
    records: bool = False,
) -> None:
    """Write clusters, or the list of pages to keep or to drop.

    Every stored page is in exactly one of the two lists: each cluster's canonical document is kept, its members dropped.

    Args:
        what: All pages of clusters; the pages to keep; the pages to drop.
        format_: Format of the rows (default: by the suffix of --output; without one, jsonl).
        drop_contained: Also drop pages that are contained in a longer page.
        records: Add what is stored of each page: title, URL, site, time, language, text.
    """
    from es_dedup.views.rows import columns_of, page_rows

    target = output_target(output, session, "--output") if output else None
    suffix = Path(output or "").suffix.lower()
    form = format_ or ("jsonl" if suffix in ("", *JSON_LINES) else suffix[1:])
    if form not in ("jsonl", "csv", "parquet"):
        problem = f"{suffix} names none of the formats jsonl, csv and parquet; choose one by --format"
        raise typer.BadParameter(problem, param_hint="--output")
    if form == "parquet" and target is None:
        raise typer.BadParameter("Parquet needs --output FILE", param_hint="--format")
    with session.read_clustered() as dedup:
        preset = dedup.preset
        columns = columns_of(what, records=records)
        rows = page_rows(dedup, what, columns, contained=drop_contained)
        with nullcontext(sys.stdout.buffer) if target is None else open_target(target) as stream:
            if form == "parquet":
                count = _write_parquet(rows, columns, stream)
            else:
                count = _write_lines(rows, columns if form == "csv" else None, stream)
    session.output.note(f"{count:,} rows{f' in {target}' if target else ''}; preset {preset}")


def _write_lines(rows: Iterator[dict[str, Any]], columns: tuple[str, ...] | None, stream: IO[bytes]) -> int:
    """Write CSV with these columns, or else JSON lines; how many rows there were."""
    count, text = 0, io.TextIOWrapper(stream, encoding="utf-8", newline="", write_through=True)
    table = csv.DictWriter(text, columns or (), lineterminator="\n")
    try:
        if columns:
            table.writeheader()
        for row in rows:
            count += 1
            if columns:
                table.writerow(row)
            else:
                text.write(json.dumps(row, ensure_ascii=False) + "\n")
    finally:
        text.detach()  # or it would close the stream
    return count


def _write_parquet(rows: Iterator[dict[str, Any]], columns: tuple[str, ...], stream: IO[bytes]) -> int:
    with needs_extra("parquet", "export to Parquet"):
        import pyarrow as pa
        import pyarrow.parquet as pq
    from es_dedup.views.rows import FIGURES

    kinds = {"canonical": pa.bool_(), "size": pa.int64()} | dict.fromkeys(FIGURES, pa.float64())
    schema = pa.schema([(name, kinds.get(name, pa.string())) for name in columns])
    count = 0
    with pq.ParquetWriter(stream, schema) as writer:
        for batch in chunked(rows, _ROWS):
            writer.write_table(pa.Table.from_pylist(batch, schema))
            count += len(batch)
    return count


def changes(
    session: Session,
    *,
    since: Annotated[str | None, typer.Option(metavar="CURSOR")] = None,
    follow: bool = False,
    poll_seconds: Annotated[float, typer.Option(min=0.05)] = 1.0,
    cursor: bool = False,
) -> None:
    """Print the pages whose cluster has changed, as JSON lines, for keeping a copy of the clusters elsewhere.

    Each line is the present cluster of a page, and the cursor that goes on after it. A line may come again; to apply it again changes nothing.

    Args:
        since: Cursor of the last change that was applied (else all clusters).
        follow: Go on and wait for further changes, until interrupted.
        poll_seconds: With --follow: seconds between two looks.
        cursor: Print the cursor of now, and no changes: take it before an export.
    """
    if cursor and (since is not None or follow):
        raise typer.BadParameter("it stands alone, without --since and --follow", param_hint="--cursor")
    with session.read() as dedup:
        if cursor:
            sys.stdout.write(json.dumps({"cursor": dedup.changes_cursor()}) + "\n")
            return
        try:
            found = dedup.changes(since, poll_seconds=poll_seconds if follow else None)
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint="--since") from error
        for change in found:
            sys.stdout.write(json.dumps(change.as_dict(), ensure_ascii=False) + "\n")
            if follow:
                sys.stdout.flush()
