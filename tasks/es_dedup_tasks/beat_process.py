"""The program of the beat process, which a worker starts: ``python -m es_dedup_tasks.beat_process LOG_LEVEL``."""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import Final

from es_dedup_tasks.main import app

SCHEDULER: Final = "celery.beat:Scheduler"  # without a file: what must outlive it is stored in Elasticsearch
POLL_SECONDS: Final = 0.5


def _end_with(parent: int) -> None:
    """End this process when its worker has died without stopping it."""
    while os.getppid() == parent:
        time.sleep(POLL_SECONDS)
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    app.Beat(scheduler_cls=SCHEDULER, loglevel=sys.argv[1]).run()
