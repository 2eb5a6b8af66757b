"""The commands of the how-to remove everything that an index has made, and nothing else."""

import re
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
import redis
from elasticsearch import Elasticsearch
from es_dedup_tasks.dispatch import CeleryDispatcher

from es_dedup.hook import DedupHook, dedup_bulk
from es_dedup.index.jobs import DeadLetter
from es_dedup.maintenance.attach import detach
from es_dedup.maintenance.audit import audit
from es_dedup.maintenance.context import open_context
from es_dedup.maintenance.reindex import reindex
from es_dedup.settings import load_settings
from es_dedup.settings.sections import CcdetConfig
from tests.servers import url_of
from tests.source_indices import FIELDS, attached, documents, ids_of, settings, source_index
from tests.traffic import run
from tests.workers import broker, environment

HOW_TO = Path(__file__).parents[2] / "docs" / "how-to" / "use-elasticsearch.md"
DATABASE = 7
FEW = {key: each for key, each in documents(made_up=9).items() if key.startswith("made-")}
OLD = settings()


class Stopped(Exception):
    """Ends a reindex before it is finished."""


def everything(client: Elasticsearch, name: str) -> None:
    """Generations in use, before and unfinished; jobs, dead letters, times, statistics, queues."""
    with attached(name, OLD) as site:
        place = site.place
        with DedupHook.open(place, FIELDS, settings=OLD) as hook:
            dedup_bulk(client, [{"_index": name, "_id": key, **each} for key, each in FEW.items()], hook=hook)
        run(site, "backfill")
        audit(site)
        site.jobs.put_dead_letters([DeadLetter(f"{name}/a", "ingest", "it failed", 3, 1)])
    new = OLD.model_copy(update={"ccdet": CcdetConfig(window=8)})
    reindex(place, new)

    def stop(moment: str) -> None:
        if moment == "stage cluster":
            raise Stopped

    with suppress(Stopped):
        reindex(place, OLD, report_progress=stop)
    dispatcher = CeleryDispatcher(place, load_settings(environ=environment(broker=broker(DATABASE))))
    dispatcher.ingest(ids_of(FEW, name))
    dispatcher.work("a-job", 1)
    dispatcher.close()
    with open_context(place, new) as site:
        detach(site, name, force=True)


def indices(client: Elasticsearch, name: str) -> set[str]:
    return set(client.indices.get(index=f"{name}*", expand_wildcards="all"))


@pytest.mark.slow
def test_the_documented_clean_up_removes_all_of_an_index_and_nothing_else() -> None:
    (commands,) = re.findall(r"```sh\n(URL=.*?)```", HOW_TO.read_text(), re.DOTALL)
    with source_index({}) as (client, name), redis.Redis.from_url(broker(DATABASE)) as queue:
        queue.flushdb()
        other = f"{name}x"
        client.indices.create(index=other)
        everything(client, name)
        before = indices(client, name)
        assert len(before) > 13  # two source indices, three generations of four, jobs
        everything(client, other)
        of_other = {each for each in indices(client, name) if each.startswith(other)}
        keys = {key.decode() for key in queue.scan_iter()}
        mine = {key for key in keys if re.search(rf"\b{name}\b", key)}
        assert len(mine) > 3
        written = commands.replace("http://127.0.0.1:9200", url_of("es8")).replace("pages", name)
        written = written.replace("redis-cli", f"redis-cli -u {broker(DATABASE)}")
        subprocess.run(["bash", "-euo", "pipefail", "-c", written], check=True, timeout=60)
        assert indices(client, name) == of_other | {name}
        assert {key.decode() for key in queue.scan_iter()} == keys - mine
        queue.flushdb()
