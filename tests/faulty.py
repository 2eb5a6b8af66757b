"""Celery's application with faults that a test asks for by environment variables; for worker processes of tests only."""

import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from celery.signals import task_postrun
from es_dedup_tasks import main

from es_dedup.maintenance.context import MaintenanceContext

if CLOCK := float(os.environ.get("FAULTY_CLOCK", "0")):  # seconds by which this machine's clock is wrong
    _right = time.time
    time.time = lambda: _right() + CLOCK
app = main.app
KILLS = os.environ.get("FAULTY_KILLS", "")  # a folder: each file in it is one death
POISON = os.environ.get("FAULTY_POISON", "")  # a word: the page that has it kills who reads it


@task_postrun.connect  # type: ignore[untyped-decorator]
def die_before_acknowledging(task: Any = None, **_: Any) -> None:
    """All that the task writes is written; the message is not acknowledged yet."""
    if not KILLS or getattr(task, "name", "") != "es_dedup.work":
        return
    for file in Path(KILLS).iterdir():
        try:
            file.unlink()
        except FileNotFoundError:
            continue
        os.kill(os.getpid(), signal.SIGKILL)


def _deadly(documents: Sequence[Any]) -> None:
    if POISON and any(POISON in str(document.source) for document in documents):
        os.kill(os.getpid(), signal.SIGKILL)


_store, _decide = MaintenanceContext.store_features, MaintenanceContext.ingest_documents


def _store_features(context: Any, fields: Any, documents: Sequence[Any]) -> Any:
    _deadly(documents)
    return _store(context, fields, documents)


def _ingest_documents(context: Any, fields: Any, documents: Sequence[Any], *, again: bool = False) -> Any:
    _deadly(documents)
    return _decide(context, fields, documents, again=again)


setattr(MaintenanceContext, "store_features", _store_features)  # noqa: B010 - a method
setattr(MaintenanceContext, "ingest_documents", _ingest_documents)  # noqa: B010
