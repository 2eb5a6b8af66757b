"""``index remove``, ``index copy``, ``index stats``, ``index doctor`` and ``config``: looking after an index."""

from __future__ import annotations

import re
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from es_dedup.cli.group import ExitCode
from es_dedup.cli.inputs import PAGE_IDS, given_ids
from es_dedup.cli.output import readable
from es_dedup.cli.session import Session
from es_dedup.model import fitted_id

if TYPE_CHECKING:
    from collections.abc import Iterable

    from es_dedup.errors import Difference
    from es_dedup.model import RemoveReport
    from es_dedup.settings.decision import DecisionConfig
    from es_dedup.settings.loading import SettingLine


def remove(
    session: Session,
    ids: Annotated[list[str] | None, PAGE_IDS] = None,
    *,
    older_than: Annotated[str | None, typer.Option(metavar="AGE")] = None,
    expired: bool = False,
    erase: bool = False,
    document: bool = False,
    yes: Annotated[bool, typer.Option("-y")] = False,
    dry_run: bool = False,
) -> ExitCode:
    """Remove pages and repair their clusters. With --erase nothing of them is left.

    Ends with code 3 when some ids were unknown; the others are removed. Erasing writes a file anew, without deleted data, and ends with
    code 1 when something is left; `index doctor --forgotten ID` shows later that nothing is.

    Args:
        older_than: Remove pages published longer ago: 90d, 12w or 2y. Pages without a time stay.
        expired: Remove pages published longer ago than maintenance.keep_days.
        erase: Also erase labels, dead letters, lines of restore files, and deleted data in the storage.
        document: With --erase: also delete the documents from their source index.
        yes: Do not ask whether to erase.
        dry_run: Report what would be removed or, with --erase, where it is stored; write nothing.
    """
    aged = older_than is not None or expired
    if not ids and (erase or not aged):
        raise typer.BadParameter("name pages, or an age with --older-than or --expired", param_hint="ID…")
    if erase and aged:
        raise typer.BadParameter("pages to erase are named", param_hint="--erase")
    if erase and document and not session.remote:
        raise typer.BadParameter("an index in a file has no source documents", param_hint="--document")
    first_day = _first_day_kept(session, older_than, expired=expired) if aged else None
    with session.read() as dedup:
        page_ids = given_ids(dedup, ids or ())
    if erase:
        return _erase(session, page_ids, document=document, yes=yes, dry_run=dry_run)
    if dry_run:
        with session.read() as dedup:
            report = dedup.would_remove([*page_ids, *(dedup.pages_before(first_day) if first_day else ())])
    else:
        report = _removed(session, page_ids, first_day)
    output, unknown = session.output, report.unknown
    output.emit({**asdict(report), "dry_run": dry_run})
    for page_id in unknown:
        output.warn(f"unknown: {page_id}")
    name = "would be removed" if dry_run else "removed"
    output.facts(
        {name: report.removed, "unknown": len(unknown), "repaired clusters": report.repaired_clusters}
    )
    return ExitCode.LEFT_OUT if unknown else ExitCode.OK


def _removed(session: Session, ids: list[str], first_day: str | None) -> RemoveReport:
    """Remove pages, and those that are older than a day; where source indices are attached, their documents are updated, too."""
    if session.remote:
        from es_dedup.maintenance.dedup_field_writes import remove_pages, write_dedup_fields

        with session.site() as site:
            if site.attachments:
                report, _ = remove_pages(site, ids)
                write_dedup_fields(site, dict.fromkeys(name for name in ids if name not in report.unknown))
                return report
    with session.write() as dedup:
        report = dedup.remove(ids)
        for more in dedup.remove_before(first_day) if first_day else ():
            repaired = report.repaired_clusters + more.repaired_clusters
            report = replace(report, removed=report.removed + more.removed, repaired_clusters=repaired)
        return report


def _first_day_kept(session: Session, age: str | None, *, expired: bool) -> str:
    """The day before which pages are too old (``2026-08-26``).

    Raises:
        typer.BadParameter: no age, two of them, or the pages are those of attached indices, which would be stored again.
    """
    from es_dedup.maintenance.expiry import first_day_kept

    def wrong(problem: str) -> typer.BadParameter:
        return typer.BadParameter(problem, param_hint="--expired" if age is None else "--older-than")

    days = session.settings.maintenance.keep_days
    if age is not None:
        given = re.fullmatch(r"(\d{1,5})([dwy])", age.strip())
        if expired or given is None:
            raise wrong("give this or --expired" if expired else f"{age!r} is no age such as 90d, 12w or 2y")
        days = int(given[1]) * {"d": 1, "w": 7, "y": 365}[given[2]]
    elif not days:
        raise wrong("set maintenance.keep_days, or give an age with --older-than")
    if session.remote:
        with session.site(read_only=True) as site:
            if site.attachments:
                advice = "delete these, then run `es-dedup elastic audit --repair`"
                raise wrong(f"pages of attached indices follow their documents: {advice}")
    try:
        return first_day_kept(days)
    except OverflowError as error:
        raise wrong(f"{age} is before all times") from error


def _erase(session: Session, ids: list[str], *, document: bool, yes: bool, dry_run: bool) -> ExitCode:
    """Ask for confirmation unless ``yes`` is set, erase the pages, and list the places where something of them is left."""
    if not (dry_run or yes):
        if not sys.stdin.isatty():
            raise typer.BadParameter("erased pages cannot be brought back: add --yes", param_hint="--erase")
        typer.confirm(f"Erase {len(ids):,} pages for good?", abort=True, err=True)
    facts, problem = ({}, "") if dry_run else _erased(session, ids, document=document)
    left = traces_of(session, ids)
    session.output.result(
        facts, {"dry_run": dry_run, **facts, "traces": left, "problems": [problem] if problem else []}
    )
    for name, places in left.items():
        session.output.warn(f"{name}: {'there is' if dry_run else 'left'}: {', '.join(places)}")
    if problem:
        session.output.warn(problem)
    return ExitCode.ERROR if not dry_run and (left or problem) else ExitCode.OK


def _erased(session: Session, ids: list[str], *, document: bool) -> tuple[dict[str, Any], str]:
    """Forget pages; what was done, and what may be left."""
    if not session.remote:
        with session.write() as dedup:
            erased = dedup.forget(ids)
        facts: dict[str, Any] = {"removed": erased.removed, "labels removed": erased.annotations}
    else:
        from es_dedup.maintenance.forget import forget_pages

        with session.site() as site:
            done = forget_pages(site, ids, document=document)
        erased = done.index
        facts = {
            "removed": done.removed,
            "labels removed": erased.annotations,
            "dead letters removed": done.dead_letters,
            "documents deleted": len(done.documents) if document else 0,
            "taken out of restore files": done.restored_from,
        }
    return {**facts, "overrides that name them": list(erased.overrides)}, erased.problem


def traces_of(session: Session, ids: Iterable[str]) -> dict[str, list[str]]:
    """Where something of pages is stored, by id; ids of which nothing is are absent."""
    if session.remote:
        from es_dedup.maintenance.forget import traces

        with session.site(read_only=True) as site:
            found = {name: traces(site, fitted_id(name)) for name in ids}
    else:
        with session.read() as dedup:
            pages = dedup.ids_of(ids)
            found = {name: [place for page in pages[name] for place in dedup.traces(page)] for name in ids}
    return {name: places for name, places in found.items() if places}


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
        target: The copy, which is made; only an earlier copy is replaced. File, or http://host:9200/name.
        from_config: Settings file for FROM alone, such as credentials of another cluster; the environment then holds for TO only.
    """
    from es_dedup.errors import NotAnIndex
    from es_dedup.index.factory import must_be_place
    from es_dedup.maintenance.index_copy import copy_index
    from es_dedup.settings import load_settings

    settings = session.settings
    origin_settings = load_settings(from_config, environ={}) if from_config else settings
    read = Session(origin, None, session.output, _settings=origin_settings)
    written = Session(target, None, session.output, _settings=settings)
    for each in (read, written):
        must_be_place(each.db)
    if not read.exists:
        raise NotAnIndex(origin, "there is no such file")
    try:
        for each in (read, written):
            each.reach()
        session.writing = True
        with session.progress() as progress:
            done = copy_index(
                origin, target, settings, origin_settings=origin_settings, report_progress=progress
            )
    finally:
        read.close()
        written.close()
    session.output.result({"from": read.place, "to": written.place, **done.as_dict()})
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
    session.output.facts({"index": session.place, **facts})


def doctor(
    session: Session, *, forgotten: Annotated[list[str] | None, typer.Option(metavar="ID")] = None
) -> ExitCode:
    """Check the installation, the settings and the index, and say what to do about each fault.

    Ends with code 1 when something is wrong.

    Args:
        forgotten: Check only that nothing of this page is stored; may be repeated.
    """
    from es_dedup.cli.checks import all_checks, checked

    if forgotten:
        left = traces_of(session, forgotten)
        found = {
            name: f"left: {', '.join(left[name])}" if name in left else "nothing is stored"
            for name in forgotten
        }
        results = [
            checked(f"forgotten {name}", name not in left, found[name], state="fault") for name in forgotten
        ]
    else:
        results = all_checks(session)
    faults = sum(result.state == "fault" for result in results)
    session.output.emit({"faults": faults, "checks": results})
    session.output.table(("state", "what", "found"), ((r.state, r.name, r.found) for r in results))
    for result in results:
        if result.name == "clusters":
            session.output.warn(result.found)
    return ExitCode.ERROR if faults else ExitCode.OK


def config(session: Session) -> None:
    """Show every setting with its value and where it comes from, and which ones differ from those of the index."""
    from es_dedup.settings.loading import describe

    output = session.output
    lines = [_of_the_preset(line, session.settings.decision) for line in describe(session.settings)]
    differences, problem = _differences(session)
    output.emit({"settings": lines, "differences": differences, "problem": problem})
    output.table(("setting", "value", "values", "from", "shapes features", "meaning"), map(_row, lines))
    for each in (*differences, *filter(None, [problem])):
        output.line(f"{session.place}: {each}")


def _row(line: SettingLine) -> tuple[str, ...]:
    values = line.bounds or ", ".join(filter(None, line.choices))
    return line.key, _shown(line.value), values, line.origin, "yes" if line.shapes else "", line.description


def _of_the_preset(line: SettingLine, decision: DecisionConfig) -> SettingLine:
    """A threshold that is not set has the value of the preset."""
    from es_dedup.decision.thresholds import thresholds_of

    section, _, name = line.key.rpartition(".")
    if section != "decision.thresholds" or line.value is not None:
        return line
    value = getattr(thresholds_of(decision), name)
    return replace(line, value=value, origin=f"preset {decision.preset}")


def _shown(value: object) -> str:
    """A setting as it is written: numbers without separators, lists without brackets."""
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_shown, value))
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else readable(value)


def _differences(session: Session) -> tuple[list[Difference], str]:
    """The settings that differ from those of the index, and why they are not known."""
    from es_dedup.errors import IndexError_, SettingsMismatch

    if not session.exists:
        return [], ""
    try:
        with session.read(quiet=True) as dedup:
            differ = dedup.settings_differ
    except SettingsMismatch as mismatch:
        return list(mismatch.differences), ""
    except IndexError_ as error:
        return [], str(error)
    return ([], "") if differ is None else ([*differ.features, *differ.decisions], "")
