"""Jobs that a command works on itself: progress on a terminal, and Ctrl-C."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import pytest

from es_dedup.index.jobs import JobState
from tests.servers import url_of
from tests.source_indices import attached, documents, settings, source_index
from tests.terminal import CTRL_C, Terminal

if TYPE_CHECKING:
    from pathlib import Path

SMALL_BATCHES: Final = {
    "ES_DEDUP_MAINTENANCE__BATCH": "16",
    "ES_DEDUP_MAINTENANCE__PART_DOCUMENTS": "1000",
}


@pytest.mark.slow
def test_an_interrupted_backfill_is_paused_and_goes_on(tmp_path: Path) -> None:
    with source_index(documents(made_up=100), shards=1) as (_, name), attached(name, settings()) as site:
        place = f"{url_of('es8')}/{name}"
        with Terminal(
            "--db", place, "backfill", "--inline", "--rate", "60", folder=tmp_path, environment=SMALL_BATCHES
        ) as terminal:
            terminal.until(r"[1-9]\d* of [\d,]+ \([\d,]+/s, [\d,]+ s left\)")
            terminal.press(CTRL_C)
            assert terminal.finish() == 130
        (line,) = [line for line in terminal.text.splitlines() if "interrupted" in line]
        said = re.search(r"job (\S+) is paused and keeps what it has done. To go on: es-dedup (.+)", line)
        assert said, line
        (job,) = site.jobs.jobs()
        assert (job.id, job.state) == (said[1], JobState.PAUSED)
        done = sum(part.done for part, _ in site.jobs.parts(job.id, job.plans[-1], range(job.parts[-1])))
        assert 0 < done < 300
        # without the pace of the first run; the part is free at once, its lease of a minute notwithstanding
        with Terminal(*said[2].split(), folder=tmp_path, environment=SMALL_BATCHES) as terminal:
            assert terminal.finish(200) == 0, terminal.text
        assert site.jobs.jobs()[0].state is JobState.DONE
