"""``index remove``, ``index stats``, ``index doctor`` and ``config``: looking after an index."""

from __future__ import annotations

import re
import sys
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from es_dedup.cli.group import ExitCode
from es_dedup.cli.inputs import PAGE_IDS, given_ids
from es_dedup.cli.output import readable
from es_dedup.cli.session import Session, session_of
from es_dedup.cli.sites import site_of
from es_dedup.model import fitted_id

if TYPE_CHECKING:
    from collections.abc import Iterable

    from es_dedup.errors import Difference
    from es_dedup.model import RemoveReport
    from es_dedup.settings.decision import DecisionConfig
    from es_dedup.settings.loading import SettingLine


def remove(
    context: typer.Context,
    ids: Annotated[list[str] | None, PAGE_IDS] = None,
    older_than: Annotated[
        str | None,
        typer.Option(
            help="Remove pages published longer ago: 90d, 12w or 2y. Pages without a time stay.",
            metavar="AGE",
        ),
    ] = None,
    expired: Annotated[
        bool, typer.Option("--expired", help="Remove pages published longer ago than maintenance.keep_days.")
    ] = False,
    erase: Annotated[
        bool,
        typer.Option(
            "--erase",
            help="Also erase labels, dead letters, lines of restore files, and deleted data in the storage.",
        ),
    ] = False,
    document: Annotated[
        bool,
        typer.Option("--document", help="With --erase: also delete the documents from their source index."),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask whether to erase.")] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Report what would be removed or, with --erase, where it is stored; write nothing.",
        ),
    ] = False,
) -> None:
    """Remove pages and repair their clusters. With --erase nothing of them is left.

    Ends with code 3 when some ids were unknown; the others are removed. Erasing writes a file anew, without deleted data, and ends with
    code 1 when something is left; `index doctor --forgotten ID` shows later that nothing is.
    """
    session = session_of(context)
    aged = older_than is not None or expired
    if not ids and (erase or not aged):
        raise typer.BadParameter("name pages, or an age with --older-than or --expired", param_hint="ID…")
    if erase:
        if aged:
            raise typer.BadParameter("pages to erase are named", param_hint="--erase")
        _erase(session, ids or [], document=document, yes=yes, dry_run=dry_run)
        return
    first_day = _first_day_kept(session, older_than, expired=expired)
    with session.read() as dedup:
        ids = given_ids(dedup, ids or ())
    report = (_would_remove if dry_run else _removed)(session, ids, first_day)
    unknown = list(report.unknown)
    output = session.output
    output.emit(asdict(report) | {"unknown": unknown, "dry_run": dry_run})
    for page_id in unknown:
        output.warn(f"unknown: {page_id}")
    name = "would be removed" if dry_run else "removed"
    output.facts(
        {name: report.removed, "unknown": len(unknown), "repaired clusters": report.repaired_clusters}
    )
    if unknown:
        raise typer.Exit(ExitCode.LEFT_OUT)


def _erase(session: Session, ids: list[str], *, document: bool, yes: bool, dry_run: bool) -> None:
    """Ask for confirmation unless ``yes`` is set, erase the pages, and list the places where something of them is left."""
    if document and not session.remote:
        raise typer.BadParameter("an index in a file has no source documents", param_hint="--document")
    with session.read() as dedup:
        ids = given_ids(dedup, ids)
    if not (dry_run or yes):
        if not sys.stdin.isatty():
            raise typer.BadParameter("erased pages cannot be brought back: add --yes", param_hint="--erase")
        typer.confirm(f"Erase {len(ids):,} pages for good?", abort=True, err=True)
    problems: list[str] = []
    facts: dict[str, Any] = {}
    if not dry_run:
        facts, problems = _forgotten(session, ids, document=document)
    found = traces_of(session, ids)
    session.output.result(facts, {"dry_run": dry_run, **facts, "traces": found, "problems": problems})
    for name, places in found.items():
        session.output.warn(f"{name}: {'there is' if dry_run else 'left'}: {', '.join(places)}")
    for problem in filter(None, problems):
        session.output.warn(problem)
    if not dry_run and (any(found.values()) or any(problems)):
        raise typer.Exit(ExitCode.ERROR)


def _forgotten(session: Session, ids: list[str], *, document: bool) -> tuple[dict[str, Any], list[str]]:
    """Forget pages; what was done, and what may be left."""
    if session.remote:
        from es_dedup.maintenance.forget import forget_pages

        with site_of(session) as site:
            done = forget_pages(site, ids, document=document)
        facts = {
            "removed": done.removed,
            "labels removed": done.index.annotations,
            "dead letters removed": done.dead_letters,
            "documents deleted": len(done.documents) if document else 0,
            "taken out of restore files": done.restored_from,
        }
        return facts | {"overrides that name them": list(done.index.overrides)}, [done.index.problem]
    with session.write() as dedup:
        erased = dedup.forget(ids)
    facts = {"removed": erased.removed, "labels removed": erased.annotations}
    return facts | {"overrides that name them": list(erased.overrides)}, [erased.problem]


def traces_of(session: Session, ids: Iterable[str]) -> dict[str, list[str]]:
    """Where something of pages is stored, by id; ids of which nothing is are absent."""
    if session.remote:
        from es_dedup.maintenance.forget import traces

        with site_of(session, read_only=True) as site:
            found = {name: traces(site, fitted_id(name)) for name in ids}
    else:
        with session.read() as dedup:
            pages = dedup.ids_of(ids)
            found = {name: [place for page in pages[name] for place in dedup.traces(page)] for name in ids}
    return {name: places for name, places in found.items() if places}


def stats(context: typer.Context) -> None:
    """Show how much the index holds, with which settings it was made and, on Elasticsearch, attached indices and jobs."""
    session = session_of(context)
    with session.read(quiet=session.remote) as dedup:
        facts = dedup.stats()
    if session.remote:
        from es_dedup.maintenance.status import site_status

        with site_of(session, read_only=True) as site:
            facts |= site_status(site)
    session.output.emit({"db": session.place, **facts})
    session.output.facts({"index": session.place, **facts})


def doctor(
    context: typer.Context,
    forgotten: Annotated[
        list[str] | None,
        typer.Option(help="Check only that nothing of this page is stored; may be repeated.", metavar="ID"),
    ] = None,
) -> None:
    """Check the installation, the settings and the index, and say what to do about each fault.

    Ends with code 1 when something is wrong.
    """
    from es_dedup.cli.checks import CheckResult, all_checks

    session = session_of(context)
    if forgotten:
        left = traces_of(session, forgotten)
        results = [
            CheckResult(
                f"forgotten {name}",
                "fault" if name in left else "ok",
                f"left: {', '.join(left[name])}" if name in left else "nothing is stored",
            )
            for name in forgotten
        ]
    else:
        results = all_checks(session)
    faults = sum(result.state == "fault" for result in results)
    session.output.emit({"faults": faults, "checks": results})
    session.output.table(("state", "what", "found"), ((r.state, r.name, r.found) for r in results))
    for result in results:
        if result.name == "clusters":
            session.output.warn(result.found)
    if faults:
        raise typer.Exit(ExitCode.ERROR)


def config(context: typer.Context) -> None:
    """Show every setting with its value and where it comes from, and which ones differ from those of the index."""
    from es_dedup.settings.loading import describe

    session = session_of(context)
    lines = [_of_the_preset(line, session.settings.decision) for line in describe(session.settings)]
    differences, problem = _differences(session)
    session.output.emit({"settings": lines, "differences": differences, "problem": problem})
    rows: list[tuple[Any, ...]] = [
        (
            line.key,
            _shown(line.value),
            line.bounds or ", ".join(filter(None, line.choices)),
            line.origin,
            "yes" if line.shapes else "",
            line.description,
        )
        for line in lines
    ]
    session.output.table(("setting", "value", "values", "from", "shapes features", "meaning"), rows)
    for difference in differences:
        session.output.line(f"{session.place}: {difference}")
    if problem:
        session.output.line(f"{session.place}: {problem}")


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


def _first_day_kept(session: Session, age: str | None, *, expired: bool) -> str | None:
    """The day before which pages are too old (``2026-08-26``); None where no age is asked for.

    Raises:
        typer.BadParameter: no age, two of them, or the pages are those of attached indices, which would be stored again.
    """
    from es_dedup.maintenance.expiry import first_day_kept

    if age is None and not expired:
        return None
    option = "--expired" if age is None else "--older-than"
    days = session.settings.maintenance.keep_days
    if age is not None:
        if expired:
            raise typer.BadParameter("give this or --expired", param_hint=option)
        given = re.fullmatch(r"(\d{1,5})([dwy])", age.strip())
        if given is None:
            raise typer.BadParameter(f"{age!r} is no age such as 90d, 12w or 2y", param_hint=option)
        days = int(given[1]) * {"d": 1, "w": 7, "y": 365}[given[2]]
    elif not days:
        raise typer.BadParameter(
            "set maintenance.keep_days, or give an age with --older-than", param_hint=option
        )
    if session.remote:
        with site_of(session, read_only=True) as site:
            if site.attachments:
                problem = "pages of attached indices follow their documents: delete these, then run `es-dedup elastic audit --repair`"
                raise typer.BadParameter(problem, param_hint=option)
    try:
        return first_day_kept(days)
    except OverflowError as error:
        raise typer.BadParameter(f"{age} is before all times", param_hint=option) from error


def _removed(session: Session, ids: list[str], first_day: str | None) -> RemoveReport:
    """Remove pages, and those that are older than a day; where source indices are attached, their documents are updated, too."""
    if session.remote:
        from es_dedup.maintenance.dedup_field_writes import remove_pages, write_dedup_fields

        with site_of(session) as site:
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


def _would_remove(session: Session, ids: list[str], first_day: str | None) -> RemoveReport:
    with session.read() as dedup:
        return dedup.would_remove([*ids, *(dedup.pages_before(first_day) if first_day else ())])
