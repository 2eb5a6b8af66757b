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
    from es_dedup.settings.loading import SettingLine

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


def _python() -> Iterator[CheckResult]:
    fine = sys.version_info >= MIN_PYTHON
    yield CheckResult(
        "Python", "ok" if fine else "fault", sys.version.split()[0] + ("" if fine else "; 3.11 is needed")
    )


def _packages() -> Iterator[CheckResult]:
    for module, package in _NEEDED.items():
        state: Literal["ok", "note"] = "ok" if _importable(module) else "note"
        found = (
            _version(package)
            if state == "ok"
            else "not there; es-dedup falls back to slower code or will refuse"
        )
        yield CheckResult(f"package {package}", state, found)
    for module, extra in _OPTIONAL.items():
        there = _importable(module)
        found = _version(module) if there else f"not installed; the extra {extra} brings it"
        yield CheckResult(f"optional package {module}", "ok" if there else "note", found)
    yield _segmenter()
    yield _kernels()


def _segmenter() -> CheckResult:
    if find_spec("rjieba") is None:
        return CheckResult("jieba in native code", "note", "none; the extra fast brings rjieba")
    return CheckResult("jieba in native code", "ok", f"rjieba {_version('rjieba')}")


def _kernels() -> CheckResult:
    if find_spec("numba") is None:
        return CheckResult("compiled kernels", "note", "none; the extra fast brings what compiles them")
    from es_dedup.kernels.dispatch import is_compiled

    there = is_compiled()
    return CheckResult(
        "compiled kernels",
        "ok" if there else "note",
        "there" if there else "not compiled; run `es-dedup compile`",
    )


def _sqlite() -> Iterator[CheckResult]:
    with sqlite3.connect(":memory:") as connection:
        options = {row[0] for row in connection.execute("PRAGMA compile_options")}
    fine = "ENABLE_FTS5" in options
    note = "" if fine else "; without FTS5 there is no search"
    yield CheckResult("SQLite", "ok" if fine else "fault", sqlite3.sqlite_version + note)


def _settings(session: Session) -> Iterator[CheckResult]:
    try:
        count = sum(line.origin != "default" for line in _describe(session))
        yield CheckResult("settings", "ok", f"{count} differ from the defaults")
    except DedupError as error:
        yield CheckResult("settings", "fault", str(error))


def _methods(settings: Settings, *, remote: bool) -> CheckResult:
    """The enabled methods, those that an index on Elasticsearch stores beside them, and who decides."""
    also = [name for name in settings.elastic.also_stored if remote and name not in settings.detectors]
    stored = f"; also stored, not used for decisions: {', '.join(also)}" if also else ""
    preset = f"; preset {settings.decision.summary}"
    return CheckResult("methods", "ok", f"{', '.join(settings.detectors)}{stored}{preset}")


def _describe(session: Session) -> list[SettingLine]:
    from es_dedup.settings.loading import describe

    return describe(session.settings)


def _disk(session: Session) -> Iterator[CheckResult]:
    if session.remote:
        return
    folder = Path(session.db).absolute().parent
    if not folder.is_dir():
        yield CheckResult("folder of the index", "fault", f"{folder} does not exist")
        return
    writable = os.access(folder, os.W_OK)
    yield CheckResult(
        "folder of the index", "ok" if writable else "fault", "writable" if writable else "not writable"
    )
    free = shutil.disk_usage(folder).free
    yield CheckResult("free space", "ok" if free >= MIN_FREE_BYTES else "fault", f"{free / 2**20:,.0f} MB")


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
        yield CheckResult("settings of the index", "note" if differ else "ok", str(differ or "all in force"))
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
            state: Literal["ok", "note"] = "ok" if late <= MAX_CLOCK_SECONDS else "note"
            advice = "" if state == "ok" else "; set it by NTP, or a part may be worked on twice"
            yield CheckResult("clock", state, f"{late:.1f} s from the server's{advice}")
            if not site.attachments:
                yield CheckResult(
                    "attached indices", "note", "none; `es-dedup elastic attach INDEX` attaches one"
                )
                return
            indices = site.indices()
            without = [index for index in indices if not site.source_index.prepared(index)]
            yield CheckResult(
                "mapping of dedup",
                "fault" if without else "ok",
                f"missing in {', '.join(without)}; `es-dedup elastic audit --repair` puts it there"
                if without
                else f"in {len(indices)} indices",
            )
            template = site.source_index.installed()
            yield CheckResult(
                "template for indices to come",
                "ok" if template else "fault",
                "there" if template else "missing; attach again",
            )
            waiting = sum(site.source_index.count_waiting(index) for index in indices)
            yield CheckResult(
                "documents that wait for a decision",
                "note" if waiting else "ok",
                f"{waiting}{'; workers look for them, or run `es-dedup elastic recluster --inline`' if waiting else ''}",
            )
            yield from _periodic(site, waiting)
            yield from _jobs(site)
            dead = site.jobs.count_dead()
            yield CheckResult(
                "dead letters",
                "note" if dead else "ok",
                f"{dead}{'; see `es-dedup elastic dead list`' if dead else ''}",
            )
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
        state: Literal["ok", "note", "fault"] = "ok"
        if what in late:
            state = "fault" if what == BEAT and waiting else "note"
        yield CheckResult(
            f"last {what}", state, "; ".join([moment(at), *([late[what]] if what in late else [])])
        )


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
    state: Literal["ok", "fault"] = "ok" if found == "ok" else "fault"
    yield CheckResult(
        "index file", state, "undamaged" if state == "ok" else f"damaged: {found}; restore a copy"
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
