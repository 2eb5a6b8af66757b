"""``purge``: a source index without its copies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from es_dedup.cli.group import ExitCode
from es_dedup.cli.maintaining import Force, Rate  # noqa: TC001 - as above
from es_dedup.cli.progress import ProgressDisplay
from es_dedup.cli.session import Session, session_of
from es_dedup.cli.sites import site_of
from es_dedup.cli.targets import output_target

if TYPE_CHECKING:
    from es_dedup.maintenance.purge import PurgeReport


def purge(
    context: typer.Context,
    target: Annotated[
        str | None, typer.Argument(help="An attached target.", metavar="INDEX", show_default=False)
    ] = None,
    apply: Annotated[bool, typer.Option("--apply", help="Delete; without it nothing is changed.")] = False,
    backup: Annotated[
        Path | None,
        typer.Option(help="File that gets the deleted documents, as a body of _bulk.", dir_okay=False),
    ] = None,
    no_backup: Annotated[bool, typer.Option("--no-backup", help="Delete without a restore file.")] = False,
    restore: Annotated[
        Path | None,
        typer.Option(help="Write the documents of such a file back.", dir_okay=False, exists=True),
    ] = None,
    rate: Rate = None,
    force: Force = False,
) -> None:
    """Delete marked copies from an attached index; without --apply only say how many.

    A copy stays where its `dedup` field is not the current decision, its canonical document is not there, one of
    the two was changed since it was decided on, or it was written meanwhile.
    The command may be repeated when it was interrupted. Ends with code 3 when some copies stay.
    """
    session = session_of(context)
    if (restore is None) == (target is None) or (restore is not None and (apply or backup or no_backup)):
        raise typer.BadParameter("name an INDEX, or a file with --restore alone", param_hint="INDEX")
    if restore is not None or target is None:
        _restore(session, restore or Path(), rate)
        return
    if apply and (backup is None) == (not no_backup):
        raise typer.BadParameter("--apply needs either --backup FILE or --no-backup", param_hint="--apply")
    from es_dedup.maintenance.purge import purge as purge_

    if backup is not None:
        output_target(backup, session, "--backup", rb'\{"(create|index)":\{"_index":')

    with site_of(session) as site, ProgressDisplay(quiet=session.output.quiet) as progress:
        done = purge_(
            site,
            target,
            backup,
            dry_run=not apply,
            rate=rate,
            force=force,
            progress=lambda seen, total: progress.count("purge", seen, total),
        )
    _show(session, done, applied=apply)


def _show(session: Session, done: PurgeReport, *, applied: bool) -> None:
    output = session.output
    facts = {"deleted": done.deleted, "gone": done.gone, "kept": dict(done.kept), "preset": done.preset}
    shown = {"deleted" if applied else "would be deleted": done.deleted, "not there any more": done.gone}
    kept = {f"kept: {reason}": count for reason, count in done.kept.items()}
    output.result({**shown, **kept, "preset": done.preset}, {"dry_run": not applied, **facts})
    if not applied:
        output.note("nothing was deleted; --apply --backup FILE deletes")
    elif done.kept:
        output.warn(
            "`es-dedup elastic audit --repair` brings dedup fields up to date; then repeat the command"
        )
        raise typer.Exit(ExitCode.LEFT_OUT)


def _restore(session: Session, path: Path, rate: float | None) -> None:
    from es_dedup.maintenance.purge import restore

    with site_of(session) as site, ProgressDisplay(quiet=session.output.quiet) as progress:
        done = restore(
            site, path, rate=rate, progress=lambda seen, total: progress.count("restore", seen, total)
        )
    session.output.result(
        {"restored": done.restored, "there already": done.there, "failed": len(done.failed)},
        {"restored": done.restored, "there": done.there, "failed": dict(done.failed)},
    )
    for name, reason in list(done.failed.items())[:20]:
        session.output.warn(f"not restored: {name}: {reason}")
    if done.failed:
        raise typer.Exit(ExitCode.LEFT_OUT)
