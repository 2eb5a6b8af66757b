"""A reindex while others write: through a hook with the old settings, and without any thought of us."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from elasticsearch import Elasticsearch

from es_dedup.config import CcdetConfig
from es_dedup.errors import SettingsMismatch
from es_dedup.hook import DedupHook, HookReport, dedup_bulk
from es_dedup.index.jobs import JobState
from es_dedup.maintenance.audit import audit
from es_dedup.maintenance.reindex import reindex, roll_back, verify
from es_dedup.maintenance.runner import Runner
from es_dedup.maintenance.site import open_site
from tests.hosts import FIELDS, attached, canonical_counts, documents, host_index, marked, put, settings
from tests.workers import until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from es_dedup.config import Settings
    from es_dedup.maintenance.site import Site

OLD = settings()
NEW = OLD.model_copy(update={"ccdet": CcdetConfig(window=8)})


def run(site: Site, what: str) -> None:
    runner = Runner(site)
    assert runner.run(runner.start(what, {"target": None}).id).state is JobState.DONE


class Traffic:
    """New, changed and deleted documents through a hook, one small batch after another."""

    def __init__(self, place: str, given: Settings, sources: list[dict[str, Any]]) -> None:
        self._place, self._settings, self._sources = place, given, sources
        self._stop = threading.Event()
        self.report = HookReport()
        self.batches = 0
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    @contextmanager
    def running(self) -> Iterator[Traffic]:
        self._thread.start()
        try:
            yield self
        finally:
            self._stop.set()
            self._thread.join(60)
            assert self.error is None, repr(self.error)
            assert not self._thread.is_alive()

    def _run(self) -> None:
        url, _, name = self._place.rpartition("/")
        try:
            with (
                Elasticsearch(url, request_timeout=30) as client,
                DedupHook.open(self._place, FIELDS, settings=self._settings) as hook,
            ):
                while not self._stop.is_set():
                    dedup_bulk(
                        client, self._actions(name), hook=hook, report=self.report, raise_on_error=False
                    )
                    self.batches += 1
        except BaseException as error:  # noqa: BLE001 - asserted by who started it
            self.error = error

    def _actions(self, name: str) -> Iterator[dict[str, Any]]:
        number, many = self.batches, len(self._sources)
        for at in range(3):  # one is new, one is written again and again, one is deleted after a while
            key = (f"new-{number:04}", f"again-{number % 5}", f"brief-{number:04}")[at]
            source = self._sources[(3 * number + at) % many]
            yield {"_index": name, "_id": key, "_source": source}
        if number:
            yield {"_op_type": "delete", "_index": name, "_id": f"brief-{number - 1:04}"}


def all_is_well(site: Site, client: Elasticsearch, name: str) -> None:
    """Every document has a cluster with one canonical page, and nothing is left for an audit to find."""
    client.indices.refresh(index=name)
    assert marked(client, name) == client.count(index=name)["count"]
    assert set(canonical_counts(client, name).values()) == {1}
    found = audit(site).found
    if any(found.values()):
        for n in [x for v in found.values() for x in v]:
            print("DOC", n, client.get(index=name, id=n.partition("/")[2])["_source"]["dedup"], site.index.assignments([n]), [r.skipped for r in site.index.get_many([n]).values()], site.index.edges_of([n]))
        for j in site.jobs.jobs(): print(j)
        run(site, "sweep")
        print("AGAIN", audit(site).found)
    assert audit(site).as_dict()["found"] == {}


@pytest.mark.slow
def test_what_is_written_during_a_reindex_is_lost_neither_by_it_nor_by_its_roll_back() -> None:
    given = documents(made_up=240)
    sources = list(documents(made_up=90, seed=7).values())
    with host_index(given) as (client, name):
        with attached(name, OLD) as site:
            place = site.place
            run(site, "backfill")
        traffic = Traffic(place, OLD, sources)
        with traffic.running():
            until(lambda: traffic.batches >= 2)
            put(client, name, {"unaware": given["made-00000"]})
            before = traffic.batches
            done = reindex(place, NEW)
            assert traffic.batches > before + 2  # it went on all the while
            assert done.pages >= done.documents > len(given)
            with pytest.raises(SettingsMismatch), open_site(place, OLD):
                pass
            after = traffic.batches
            until(lambda: traffic.batches >= after + 2)
        late = [reason for reason in traffic.report.inconclusive.values() if "settings" in reason]
        assert late  # the hook with the old settings was refused, and says so
        with open_site(place, NEW) as site:
            run(site, "sweep")
            all_is_well(site, client, name)
            assert verify(site)[3] > 100  # features of the new settings only
        traffic = Traffic(place, NEW, sources)
        with traffic.running():
            until(lambda: traffic.batches >= 2)
            roll_back(place, OLD)
            after = traffic.batches
            until(lambda: traffic.batches >= after + 2)
        with open_site(place, OLD) as site:
            run(site, "sweep")
            all_is_well(site, client, name)
            assert verify(site)[3] > 100
