"""What ``doctor`` looks at."""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from es_dedup.cli.checking import UNCLUSTERED
from es_dedup.errors import DedupError, QueueUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from es_dedup.cli.session import Session
    from es_dedup.maintenance.context import MaintenanceContext
    from es_dedup.settings import Settings

MIN_PYTHON: Final = (3, 11)
MIN_FREE_BYTES: Final = 500 * 2**20
_NEEDED: Final = {
    "numpy": "numpy",
    "jieba": "jieba",
    "opencc": "OpenCC",
    "xxhash": "xxhash",
    "zstandard": "zstandard",
}
_OPTIONAL: Final = {"pyarrow": "parquet", "fastwarc": "warc", "elasticsearch": "elastic", "celery": "celery"}
MAX_CLOCK_SECONDS: Final = 5.0
"""By which this clock and the server's may differ."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One line of the doctor's answer."""

    name: str
    state: Literal["ok", "note", "fault"]
    found: str


def all_checks(session: Session) -> list[CheckResult]:
    """Every check, in order; none of them writes anything."""
    return [
        *_python(),
        *_packages(),
        *_sqlite(),
        *_settings(session),
        *_disk(session),
        *_index(session),
        *_attached(session),
    ]


def _checked(
    name: str, fine: object, found: object, advice: str = "", state: Literal["note", "fault"] = "note"
) -> CheckResult:
    """What was found; where that is not ``fine``, with advice and as ``state``."""
    return CheckResult(name, "ok" if fine else state, f"{found}{'' if fine or not advice else f'; {advice}'}")


def _python() -> Iterator[CheckResult]:
    fine = sys.version_info >= MIN_PYTHON
    yield _checked("Python", fine, sys.version.split()[0], "3.11 is needed", "fault")


def _packages() -> Iterator[CheckResult]:
    slower = "es-dedup falls back to slower code or will refuse"
    for module, package in _NEEDED.items():
        there = _importable(module)
        yield _checked(f"package {package}", there, _version(package) if there else "not there", slower)
    for module, extra in _OPTIONAL.items():
        there = _importable(module)
        found = _version(module) if there else "not installed"
        yield _checked(f"optional package {module}", there, found, f"the extra {extra} brings it")
    there = find_spec("rjieba") is not None
    native = f"rjieba {_version('rjieba')}" if there else "none"
    yield _checked("jieba in native code", there, native, "the extra fast brings rjieba")
    yield _kernels()


def _kernels() -> CheckResult:
    if find_spec("numba") is None:
        return CheckResult("compiled kernels", "note", "none; the extra fast brings what compiles them")
    from es_dedup.kernels.dispatch import is_compiled

    there = is_compiled()
    return _checked("compiled kernels", there, "there" if there else "not compiled", "run `es-dedup compile`")


def _sqlite() -> Iterator[CheckResult]:
    with sqlite3.connect(":memory:") as connection:
        options = {row[0] for row in connection.execute("PRAGMA compile_options")}
    fine = "ENABLE_FTS5" in options
    yield _checked("SQLite", fine, sqlite3.sqlite_version, "without FTS5 there is no search", "fault")


def _settings(session: Session) -> Iterator[CheckResult]:
    try:
        from es_dedup.settings.loading import describe

        count = sum(line.origin != "default" for line in describe(session.settings))
        yield CheckResult("settings", "ok", f"{count} differ from the defaults")
    except DedupError as error:
        yield CheckResult("settings", "fault", str(error))


def _methods(settings: Settings, *, remote: bool) -> CheckResult:
    """Names the enabled methods, the further ones whose features Elasticsearch also stores, and the preset by which pairs are decided."""
    also = [name for name in settings.elastic.also_stored if remote and name not in settings.detectors]
    stored = f"; also stored, not used for decisions: {', '.join(also)}" if also else ""
    preset = f"; preset {settings.decision.summary}"
    return CheckResult("methods", "ok", f"{', '.join(settings.detectors)}{stored}{preset}")


def _disk(session: Session) -> Iterator[CheckResult]:
    if session.remote:
        return
    folder = Path(session.db).absolute().parent
    if not folder.is_dir():
        yield CheckResult("folder of the index", "fault", f"{folder} does not exist")
        return
    writable = os.access(folder, os.W_OK)
    yield _checked("folder of the index", writable, f"{'' if writable else 'not '}writable", state="fault")
    free = shutil.disk_usage(folder).free
    yield _checked("free space", free >= MIN_FREE_BYTES, f"{free / 2**20:,.0f} MB", state="fault")


def _index(session: Session) -> Iterator[CheckResult]:
    if not session.exists:
        yield CheckResult("index", "note", f"{session.db} is not there yet; `es-dedup scan PATH` makes it")
        yield _methods(session.settings, remote=session.remote)
        return
    try:
        with session.read(quiet=True) as dedup:
            facts, differ = dedup.stats(), dedup.settings_differ
            loose, in_force = dedup.loose_clusters(), dedup.settings_with({})
        yield CheckResult("index", "ok", f"{facts.get('pages', 0)} pages")
        yield _methods(in_force, remote=session.remote)
        yield _checked("settings of the index", not differ, differ or "all in force")
        if facts.get("clusters_pending"):
            yield CheckResult("clusters", "note", UNCLUSTERED)
        yield from (CheckResult("clusters", "note", note) for note in loose)
    except DedupError as error:
        yield CheckResult("index", "fault", str(error))
        return
    if not session.remote:
        yield from _integrity(session)


def _attached(session: Session) -> Iterator[CheckResult]:
    """The server, the attached indices and the queues, where the index is on a server."""
    if not session.remote:
        return
    from es_dedup.cli.sites import site_of

    try:
        with site_of(session, read_only=True) as site:
            found = site.source_index.server()
            yield CheckResult("Elasticsearch", "ok", found.version)
            late = abs(found.clock_seconds)
            advice = "set it by NTP, or a part may be worked on twice"
            yield _checked("clock", late <= MAX_CLOCK_SECONDS, f"{late:.1f} s from the server's", advice)
            if not site.attachments:
                advice = "`es-dedup elastic attach INDEX` attaches one"
                yield CheckResult("attached indices", "note", f"none; {advice}")
                return
            indices = site.indices()
            without = [index for index in indices if not site.source_index.prepared(index)]
            placed = f"missing in {', '.join(without)}" if without else f"in {len(indices)} indices"
            advice = "`es-dedup elastic audit --repair` puts it there"
            yield _checked("mapping of dedup", not without, placed, advice, "fault")
            template = site.source_index.installed()
            there = "there" if template else "missing"
            yield _checked("template for indices to come", template, there, "attach again", "fault")
            waiting = sum(site.source_index.count_waiting(index) for index in indices)
            advice = "workers look for them, or run `es-dedup elastic recluster --inline`"
            yield _checked("documents that wait for a decision", not waiting, waiting, advice)
            yield from _periodic(site, waiting)
            yield from _jobs(site)
            dead = site.jobs.count_dead()
            yield _checked("dead letters", not dead, dead, "see `es-dedup elastic dead list`")
    except DedupError as error:
        yield CheckResult("attached indices", "fault", str(error))
        return
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
        yield _checked(f"last {what}", what not in late, moment(at), late.get(what, ""), state)


def _jobs(site: MaintenanceContext) -> Iterator[CheckResult]:
    """Jobs that nobody works on."""
    from es_dedup.index.jobs import JobState
    from es_dedup.maintenance.status import unfinished_jobs

    unfinished = unfinished_jobs(site)
    abandoned = [job for job in unfinished if job.state == JobState.ABANDONED]
    for job in abandoned:
        again = {"refill": "reindex", "update": f"jobs {job.id} --resume"}.get(job.what, job.what)
        advice = (
            f"run `es-dedup elastic {again}`, which goes on, or `es-dedup elastic jobs {job.id} --cancel`"
        )
        yield CheckResult(
            "jobs", "fault", f"{job.what} {job.id} is abandoned, its process has ended: {advice}"
        )
    if not abandoned:
        yield CheckResult("jobs", "ok", f"{len(unfinished)} unfinished")


def _queues(session: Session) -> Iterator[CheckResult]:
    from es_dedup.cli.sites import dispatcher_of

    try:
        with dispatcher_of(session) as dispatcher:
            depths, workers = dispatcher.depths(), dispatcher.workers()
    except QueueUnavailable as error:
        advice = "start Redis or set maintenance.broker"
        yield CheckResult("queues", "note", str(QueueUnavailable(error.queue, error.problem, advice)))
        return
    except DedupError as error:
        yield CheckResult("queues", "note", str(error))
        return
    yield CheckResult("queues", "ok", ", ".join(f"{name} {depth}" for name, depth in depths.items()))
    if workers:
        yield CheckResult("workers", "ok", f"{workers} answer")
    else:
        late = "; messages wait for one" if any(depths.values()) else ""
        yield CheckResult("workers", "note", f"none answers{late}: start `es-dedup elastic worker --beat`")


def _integrity(session: Session) -> Iterator[CheckResult]:
    try:
        connection = sqlite3.connect(f"{Path(session.db).absolute().as_uri()}?mode=ro", uri=True)
        try:
            found = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
        finally:
            connection.close()
    except sqlite3.Error as error:
        found = str(error)
    fine = found == "ok"
    yield _checked(
        "index file", fine, "undamaged" if fine else f"damaged: {found}", "restore a copy", "fault"
    )


def _importable(module: str) -> bool:
    try:
        import_module(module)
    except ImportError:
        return False
    return True


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "version unknown"
