"""What ``doctor`` looks at."""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from es_dedup import native
from es_dedup.cli.session import UNCLUSTERED, Session
from es_dedup.errors import DedupError
from es_dedup.index.jobs import JobState

if TYPE_CHECKING:
    from es_dedup.maintenance.context import MaintenanceContext
    from es_dedup.settings import Settings

MIN_FREE_BYTES: Final = 500 * 2**20
MAX_CLOCK_SECONDS: Final = 5.0
"""By which this clock and the server's may differ."""
_OPTIONAL: Final = {"pyarrow": "parquet", "brotli": "warc", "elasticsearch": "elastic", "celery": "celery"}


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One line of the doctor's answer."""

    name: str
    state: Literal["ok", "note", "fault"]
    found: str


def checked(
    name: str, fine: object, found: object, advice: str = "", state: Literal["note", "fault"] = "note"
) -> CheckResult:
    """What was found; where that is not ``fine``, with advice and as ``state``."""
    return CheckResult(name, "ok" if fine else state, f"{found}{'' if fine or not advice else f'; {advice}'}")


def all_checks(session: Session) -> list[CheckResult]:
    """Every check, in order; none of them writes anything.

    A check that cannot be made is a fault of what it looks at.
    """
    parts: dict[str, Callable[[Session], Iterator[CheckResult]]] = {
        "installation": _installation,
        "settings": _settings,
        "folder of the index": _folder,
        "index": _index,
        "index file": _integrity,
        "attached indices": _attached,
    }
    results: list[CheckResult] = []
    for name, check in parts.items():
        try:
            results += check(session)
        except DedupError as error:
            results.append(CheckResult(name, "fault", str(error)))
    return results


def _installation(_session: Session) -> Iterator[CheckResult]:
    yield checked("Python", sys.version_info >= (3, 11), sys.version.split()[0], "3.11 is needed", "fault")
    for module, extra in _OPTIONAL.items():
        found = _version(module)
        yield checked(
            f"optional package {module}", found, found or "not installed", f"the extra {extra} brings it"
        )
    core = native.core is not None
    yield checked("native core", core, "in use" if core else "none", native.HOW_TO_GET_IT)
    with closing(sqlite3.connect(":memory:")) as connection:
        fine = ("ENABLE_FTS5",) in connection.execute("PRAGMA compile_options").fetchall()
    yield checked("SQLite", fine, sqlite3.sqlite_version, "without FTS5 there is no search", "fault")


def _settings(session: Session) -> Iterator[CheckResult]:
    from es_dedup.settings.loading import describe

    count = sum(line.origin != "default" for line in describe(session.settings))
    yield CheckResult("settings", "ok", f"{count} differ from the defaults")


def _folder(session: Session) -> Iterator[CheckResult]:
    if session.remote:
        return
    folder = Path(session.db).absolute().parent
    if not folder.is_dir():
        yield CheckResult("folder of the index", "fault", f"{folder} does not exist")
        return
    writable = os.access(folder, os.W_OK)
    yield checked("folder of the index", writable, f"{'' if writable else 'not '}writable", state="fault")
    free = shutil.disk_usage(folder).free
    yield checked("free space", free >= MIN_FREE_BYTES, f"{free / 2**20:,.0f} MB", state="fault")


def _index(session: Session) -> Iterator[CheckResult]:
    if not session.exists:
        yield CheckResult("index", "note", f"{session.db} is not there yet; `es-dedup scan PATH` makes it")
        yield _methods(session.settings, remote=session.remote)
        return
    with session.read(quiet=True) as dedup:
        facts, differ = dedup.stats(), dedup.settings_differ
        loose, in_force = dedup.loose_clusters(), dedup.settings_with({})
    yield CheckResult("index", "ok", f"{facts.get('pages', 0)} pages")
    yield _methods(in_force, remote=session.remote)
    yield checked("settings of the index", not differ, differ or "all in force")
    pending = [UNCLUSTERED] if facts.get("clusters_pending") else []
    yield from (CheckResult("clusters", "note", note) for note in (*pending, *loose))


def _methods(settings: Settings, *, remote: bool) -> CheckResult:
    """Names the enabled methods, the further ones whose features Elasticsearch also stores, and the preset by which pairs are decided."""
    also = [name for name in settings.elastic.also_stored if remote and name not in settings.detectors]
    stored = f"; also stored, not used for decisions: {', '.join(also)}" if also else ""
    preset = f"; preset {settings.decision.summary}"
    return CheckResult("methods", "ok", f"{', '.join(settings.detectors)}{stored}{preset}")


def _integrity(session: Session) -> Iterator[CheckResult]:
    if session.remote or not session.exists:
        return
    try:
        address = f"{Path(session.db).absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(address, uri=True)) as connection:
            found = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
    except sqlite3.Error as error:
        found = str(error)
    fine = found == "ok"
    yield checked("index file", fine, "undamaged" if fine else f"damaged: {found}", "restore a copy", "fault")


def _attached(session: Session) -> Iterator[CheckResult]:
    """The server, the attached indices and the queues, where the index is on a server."""
    if not session.remote:
        return
    with session.site(read_only=True) as site:
        oldest, ahead = site.source_index.server()
        yield CheckResult("Elasticsearch", "ok", oldest)
        late = abs(ahead)
        advice = "set it by NTP, or a part may be worked on twice"
        yield checked("clock", late <= MAX_CLOCK_SECONDS, f"{late:.1f} s from the server's", advice)
        if not site.attachments:
            advice = "`es-dedup elastic attach INDEX` attaches one"
            yield CheckResult("attached indices", "note", f"none; {advice}")
            return
        indices = site.indices()
        without = [index for index in indices if not site.source_index.prepared(index)]
        placed = f"missing in {', '.join(without)}" if without else f"in {len(indices)} indices"
        advice = "`es-dedup elastic audit --repair` puts it there"
        yield checked("mapping of dedup", not without, placed, advice, "fault")
        waiting = sum(site.source_index.count_waiting(index) for index in indices)
        advice = "workers look for them, or run `es-dedup elastic recluster --inline`"
        yield checked("documents that wait for a decision", not waiting, waiting, advice)
        yield from _periodic(site, waiting)
        yield from _jobs(site)
        dead = site.jobs.count_dead()
        yield checked("dead letters", not dead, dead, "see `es-dedup elastic dead list`")
    yield from _queues(session)


def _periodic(site: MaintenanceContext, waiting: int) -> Iterator[CheckResult]:
    """When beat, reclustering and audit were last seen; a late beat is a fault while documents wait for it."""
    from es_dedup.maintenance.status import ADVICE, BEAT, last_times, moment, overdue

    late = overdue(site)
    times = last_times(site)
    if waiting and times[BEAT] is None:
        late[BEAT] = ADVICE[BEAT]
    for what, at in times.items():
        state: Literal["note", "fault"] = "fault" if what == BEAT and waiting else "note"
        yield checked(f"last {what}", what not in late, moment(at), late.get(what, ""), state)


def _jobs(site: MaintenanceContext) -> Iterator[CheckResult]:
    """Jobs that nobody works on."""
    from es_dedup.maintenance.status import unfinished_jobs

    unfinished = unfinished_jobs(site)
    abandoned = [job for job in unfinished if job.state == JobState.ABANDONED]
    for job in abandoned:
        again = {"refill": "reindex", "update": f"jobs {job.id} --resume"}.get(job.what, job.what)
        advice = (
            f"run `es-dedup elastic {again}`, which goes on, or `es-dedup elastic jobs {job.id} --cancel`"
        )
        found = f"{job.what} {job.id} is abandoned, its process has ended: {advice}"
        yield CheckResult("jobs", "fault", found)
    if not abandoned:
        yield CheckResult("jobs", "ok", f"{len(unfinished)} unfinished")


def _queues(session: Session) -> Iterator[CheckResult]:
    try:
        with session.dispatcher() as dispatcher:
            depths, workers = dispatcher.depths(), dispatcher.workers()
    except DedupError as error:
        yield CheckResult("queues", "note", str(error))
        return
    yield CheckResult("queues", "ok", ", ".join(f"{name} {depth}" for name, depth in depths.items()))
    late = "; messages wait for one" if any(depths.values()) else ""
    found = f"{workers} answer" if workers else f"none answers{late}: start `es-dedup elastic worker --beat`"
    yield checked("workers", workers, found)


def _version(module: str) -> str:
    """The version of a package that can be imported; empty where it cannot."""
    try:
        import_module(module)
        return version(module)
    except PackageNotFoundError:
        return "version unknown"
    except ImportError:
        return ""
