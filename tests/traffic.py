"""Writers that go on while servers fail: documents through a hook, sent again until they are taken, as their owner would."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, Self

from elasticsearch import ApiError, Elasticsearch, TransportError
from elasticsearch.helpers import BulkIndexError, scan

from es_dedup.errors import IndexError_
from es_dedup.hook import DedupHook, Dispatcher, HookReport, dedup_bulk
from es_dedup.index.jobs import JobState
from es_dedup.maintenance.audit import audit
from es_dedup.maintenance.context import MaintenanceContext
from es_dedup.maintenance.runner import Runner
from es_dedup.settings import Settings
from tests.source_indices import FIELDS, canonical_counts, count_with_dedup_field, documents

PAUSE: Final = 0.2  # seconds before a batch is sent again
FAILURES: Final = (ApiError, TransportError, BulkIndexError, IndexError_)


class Traffic:
    """New, changed and deleted documents through a hook, one small batch after another.

    Attributes:
        batches: that were taken.
        failures: errors that a batch ended with before it was sent again.
        expected: what each document is to hold now.
        report: of the hook.
    """

    def __init__(
        self, place: str, given: Settings, *, seed: int = 7, dispatcher: Dispatcher | None = None
    ) -> None:
        self._place, self._settings, self._seed = place, given, seed
        self._dispatcher = dispatcher
        self._sources = list(documents(made_up=90, seed=seed).values())
        self._stop = threading.Event()
        self.report = HookReport()
        self.batches = 0
        self.failures: list[BaseException] = []
        self.expected: dict[str, dict[str, Any]] = {}
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    @contextmanager
    def running(self) -> Iterator[Self]:
        """Send batches until the end of the block."""
        self._thread.start()
        try:
            yield self
        finally:
            self._stop.set()
            self._thread.join(120)
            assert self._error is None, repr(self._error)
            assert not self._thread.is_alive()

    def _run(self) -> None:
        urls, _, name = self._place.rpartition("/")
        try:
            with (
                Elasticsearch(urls.split(","), request_timeout=30) as client,
                DedupHook.open(
                    self._place, FIELDS, settings=self._settings, dispatcher=self._dispatcher
                ) as hook,
            ):
                while not self._stop.is_set():
                    self._send(client, hook, list(self._actions(name)))
        except BaseException as error:  # noqa: BLE001 - asserted by who started it
            self._error = error

    def _send(self, client: Elasticsearch, hook: DedupHook, actions: list[dict[str, Any]]) -> None:
        try:
            _, errors = dedup_bulk(client, actions, hook=hook, report=self.report, raise_on_error=False)
        except FAILURES as error:
            self.failures.append(error)
            time.sleep(PAUSE)
            return
        if any(next(iter(each.values()))["status"] != 404 for each in errors):  # deleted by the try before
            self.failures.append(BulkIndexError("refused", errors))
            time.sleep(PAUSE)
            return
        self.batches += 1
        for action in actions:
            if action.get("_op_type") == "delete":
                self.expected.pop(action["_id"], None)
            else:
                self.expected[action["_id"]] = action["_source"]

    def _actions(self, name: str) -> Iterator[dict[str, Any]]:
        """One new document, one that is written again and again, one that is deleted by the next batch."""
        number, many = self.batches, len(self._sources)
        keys = (f"new-{number:04}", f"again-{number % 5}", f"brief-{number:04}")
        for at, key in enumerate(keys):
            source = self._sources[(3 * number + at) % many]
            yield {"_index": name, "_id": f"{key}-{self._seed}", "_source": source}
        if number:
            yield {"_op_type": "delete", "_index": name, "_id": f"brief-{number - 1:04}-{self._seed}"}


def run(site: MaintenanceContext, what: str) -> None:
    """A job over everything that is attached, in this process."""
    runner = Runner(site)
    assert runner.run(runner.start(what, {"target": None}).id).state is JobState.DONE


def all_is_well(
    site: MaintenanceContext, client: Elasticsearch, name: str, expected: dict[str, dict[str, Any]]
) -> None:
    """No page lost, one canonical page per cluster, and nothing for an audit to find."""
    client.indices.refresh(index=name)
    found = {hit["_id"]: hit["_source"] for hit in scan(client, index=name)}
    for source in found.values():
        source.pop("dedup", None)
    lost, kept = expected.keys() - found.keys(), found.keys() - expected.keys()
    assert not lost, lost
    assert not kept, kept
    assert found == expected
    disagreeing = audit(site).as_dict()["found"]
    groups = {each[0].cluster_id: each for each in site.index.clusters()}
    assert disagreeing == {}, (
        disagreeing,
        [groups.get(x) for x in disagreeing.get("without_canonical", {}).get("examples", ())],
    )
    assert count_with_dedup_field(client, name) == len(expected)
    heads = canonical_counts(client, name)
    assert set(heads.values()) == {1}, {cluster for cluster, count in heads.items() if count != 1}
