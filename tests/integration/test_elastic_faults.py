"""What the adapter does when server, network or index fail: each fault is provoked on a real server."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from elasticsearch import AuthorizationException, Elasticsearch

from es_dedup import Deduplicator, Page
from es_dedup.errors import (
    IndexInterrupted,
    IndexLocked,
    IndexReadOnly,
    IndexRefused,
    IndexUnavailable,
    NotAnIndex,
)
from es_dedup.index.elastic.adapter import ElasticIndex
from es_dedup.index.elastic.address import parse_address
from es_dedup.index.elastic.connecting import Options
from es_dedup.index.elastic.locking import WriterLock
from es_dedup.index.elastic.server import watch
from es_dedup.model import Outcome
from es_dedup.settings import load_settings
from es_dedup.testing.builders import assignment, candidate_query, copies, edge, random_records, record
from scripts.serversupport.nodes import WORKER
from tests.proxy import Proxy
from tests.servers import fresh_name, needs_elasticsearch, our_urls, remove, server_of, url_of

FEATURES = {"ccdet.window": 10}
IMPATIENT = Options(request_seconds=2.0, retry_seconds=1.0, lock_seconds=0.3)
TEXT = "第一句话在这里说完了。第二句话说的是另外的事情。第三句话很短也算一句。第四句话写在最后面。"


def lock_of(index: ElasticIndex, lease: float, touch: float) -> WriterLock:
    """A lock with times of its own, in seconds."""
    lock = WriterLock(index._meta)
    lock.lease, lock.touch = lease, touch
    return lock


@pytest.fixture
def address() -> Iterator[str]:
    url = f"{url_of('es8')}/{fresh_name()}"
    yield url
    remove(url)


def opened(address: str, options: Options = IMPATIENT, **more: Any) -> ElasticIndex:
    return ElasticIndex(parse_address(address), features=FEATURES, options=options, **more)


@pytest.fixture
def proxy(address: str) -> Iterator[Proxy]:
    parts = urlsplit(address)
    with Proxy(parts.hostname or "", parts.port or 9200) as proxy:
        yield proxy


@pytest.fixture
def through(proxy: Proxy, address: str) -> Iterator[ElasticIndex]:
    """An index behind the proxy."""
    with opened(f"{proxy.url}/{urlsplit(address).path.strip('/')}") as index:
        yield index


class TestNetwork:
    def test_a_server_that_is_gone_is_no_empty_index(self, through: ElasticIndex, proxy: Proxy) -> None:
        through.put_many([record("a", [1])])
        proxy.refusing = True
        for read in (
            lambda: through.candidates_many([candidate_query(1)]),
            lambda: through.get_many(["a"]),
            through.count,
            lambda: list(through.scan()),
            lambda: copies(through, 1),
            lambda: through.edges_of(["a"]),
            lambda: through.assignments(["a"]),
            lambda: through.note("x"),
        ):
            with pytest.raises(IndexUnavailable, match="what was stored before is intact"):
                read()

    def test_a_short_outage_is_not_noticed(self, through: ElasticIndex, proxy: Proxy) -> None:
        through.put_many([record("a", [1])])
        proxy.refusing = True
        back = threading.Timer(0.3, setattr, (proxy, "refusing", False))
        back.start()
        assert through.put_many([record("b", [1])]) == {}
        back.join()
        assert through.count() == 2

    def test_a_write_without_answer_says_that_it_may_be_kept_and_can_be_repeated(
        self, through: ElasticIndex, proxy: Proxy, address: str
    ) -> None:
        records = random_records(50, seed=1)
        proxy.cut_after = 0  # the server gets the request, its answer is lost
        with pytest.raises(IndexInterrupted, match="repeat the call"):
            through.put_many(records)
        proxy.cut_after = None
        assert through.put_many(records) == {}
        with opened(address) as other:
            other.refresh()
            assert other.count() == 50

    def test_a_server_that_does_not_answer_is_not_waited_for_without_end(
        self, through: ElasticIndex, proxy: Proxy
    ) -> None:
        proxy.stalled = True
        begun = time.monotonic()
        with pytest.raises(IndexUnavailable):
            through.note("x")
        assert time.monotonic() - begun < 3 * (IMPATIENT.request_seconds + IMPATIENT.retry_seconds)


class TestParts:
    def test_a_shard_that_does_not_answer_makes_no_page_unique(
        self, address: str, client: Elasticsearch
    ) -> None:
        needs_elasticsearch("reads by an alias of two indices")
        name = urlsplit(address).path.strip("/")
        settings = load_settings(
            overrides={"elastic.retry_seconds": 0.5, "elastic.shards": 1, "elastic.replicas": "0"}, environ={}
        )
        with Deduplicator.open(address, settings=settings) as dedup:
            dedup.add_many([Page(id="a", text=TEXT), Page(id="b", text="别的内容" * 30)])
            assert dedup.check(Page(id="new", text=TEXT)).outcome is Outcome.DUPLICATE
            # A second index behind the same alias, of which no node may hold a shard.
            lost = f"{name}-dedup-features-v2-000002"
            body = client.indices.get_mapping(index=f"{name}-dedup-features")
            client.indices.create(
                index=lost,
                mappings=dict(next(iter(body.values()))["mappings"]),
                settings={"index.hidden": True, "index.routing.allocation.require._name": "nobody",
                          "number_of_replicas": 0},
                aliases={f"{name}-dedup-features": {"is_hidden": True}},
                wait_for_active_shards="0",
            )  # fmt: skip
            with pytest.raises(IndexUnavailable):
                dedup._index.candidates_many([candidate_query(1, 2)])
            with pytest.raises(IndexUnavailable):
                dedup.check(Page(id="new", text=TEXT))
            with pytest.raises(IndexUnavailable):
                dedup._index.count()
            client.indices.delete(index=lost)
            assert dedup.check(Page(id="new", text=TEXT)).outcome is Outcome.DUPLICATE

    def test_a_shard_that_starts_is_waited_for(self, address: str, client: Elasticsearch) -> None:
        with opened(address, Options(retry_seconds=20.0)) as index:
            index.put_many([record("a", [1])])
            index.refresh()
            for _ in range(5):
                client.indices.close(index=index._pages.name, expand_wildcards="all")
                client.indices.open(
                    index=index._pages.name, expand_wildcards="all", wait_for_active_shards="0"
                )
                assert index.candidates_many([candidate_query(1)])[0].candidates == ("a",)

    def test_one_lost_shard_of_two_is_waited_for(self, address: str, client: Elasticsearch) -> None:
        with opened(address, IMPATIENT.model_copy(update={"shards": 2})) as index:
            name = f"{index._pages.name}-v2-000001"
            made = client.indices.get(index=name)[name]
            client.indices.delete(index=name)
            limit = "index.routing.allocation.total_shards_per_node"
            client.indices.create(
                index=name,
                mappings=made["mappings"],
                aliases=made["aliases"],
                settings={"number_of_shards": 2, "number_of_replicas": 0, "index.hidden": True, limit: 1},
                wait_for_active_shards="0",
            )
            index._searcher.one_shard = False
            told: list[tuple[str, int]] = []
            unwatch = watch(lambda *answer: told.append(answer))
            begun = time.monotonic()
            with pytest.raises(IndexUnavailable, match="shards"):
                index.candidates_many([candidate_query(1)])
            unwatch()
            assert time.monotonic() - begun < 2 * IMPATIENT.retry_seconds
            assert told.count(("item", 503)) == told.count(("request", 503)) > 1
            lift = {"index": name, "settings": {limit: None}}
            back = threading.Timer(0.3, client.indices.put_settings, kwargs=lift)
            back.start()
            assert index.candidates_many([candidate_query(1)])[0].candidates == ()
            back.join()

    def test_one_bad_page_does_not_stop_the_others(self, address: str) -> None:
        with opened(address) as index:
            pages = index._pages
            written = pages.attempt(
                [
                    pages.put("good", {"page_id": "good", "length": 1}),
                    pages.put("bad", {"page_id": "bad", "unknown": 1}),
                    pages.put("fine", {"page_id": "fine", "length": 1}),
                ]
            )
            assert [one.done for one in written] == [True, False, True]
            assert "strict_dynamic_mapping" in written[1].reason

    def test_a_closed_index_is_no_empty_one(self, address: str, client: Elasticsearch) -> None:
        with opened(address, Options(retry_seconds=20.0)) as index:
            index.put_many([record("a", [1])])
            index.refresh()
            client.indices.close(index=index._pages.name, expand_wildcards="all")
            name = urlsplit(address).path.strip("/")
            with pytest.raises((IndexUnavailable, IndexRefused)):
                index.count()
            needs_elasticsearch("answer for each read of a closed index; it refuses them all")
            begun = time.monotonic()
            for read in (
                lambda: index.candidates_many([candidate_query(1)]),
                lambda: index.get_many(["b"]),
                lambda: index._pages.answers(["{}"]),
            ):
                with pytest.raises(IndexRefused, match=f"closed.*{name}.*open the index"):
                    read()
            assert time.monotonic() - begun < 10
            client.indices.open(index=index._pages.name, expand_wildcards="all")
            client.cluster.health(wait_for_status="yellow", timeout="10s")
            assert index.count() == 1

    def test_a_lost_alias_is_not_replaced_by_a_wild_index(self, address: str, client: Elasticsearch) -> None:
        name = urlsplit(address).path.strip("/")
        with opened(address) as index:
            client.indices.delete(index=f"{name}-dedup-features-v2-000001")
            with pytest.raises(IndexUnavailable, match="index_not_found"):
                index.put_many([record("a", [1])])
            assert not client.indices.exists(index=f"{name}-dedup-features")


COUNTED = candidate_query(1, 2, max_df=1)
"""Of its terms one is common, and what is common is counted."""


class TestPressure:
    @pytest.fixture
    def tripped(self, client: Elasticsearch) -> Iterator[Callable[[str | None], None]]:
        """Sets the limit of the breaker that counting terms needs; the server's other requests go on."""

        def limit(value: str | None) -> None:
            client.cluster.put_settings(persistent={"indices.breaker.request.limit": value})

        yield limit
        limit(None)

    @pytest.mark.slow  # in that tier tests on servers run one after the other; elsewhere they would meet the limit
    def test_a_breaker_that_trips_for_a_moment_is_waited_out(
        self, address: str, tripped: Callable[[str | None], None]
    ) -> None:
        with opened(address) as index:
            index.put_many([record("a", [1, 2]), record("b", [1])])
            index.refresh()
            tripped("1b")
            back = threading.Timer(0.05, tripped, (None,))
            back.start()
            (answer,) = index.candidates_many([COUNTED])
            back.join()
            assert list(answer.candidates) == ["a"]

    def test_a_request_that_is_too_large_is_halved(self, address: str) -> None:
        if address.rpartition("/")[0] not in our_urls():
            pytest.skip("only a server of scripts/servers is known to take 20 MB at once")
        with opened(address, Options(chunk_bytes=80_000_000, retry_seconds=5.0)) as index:
            big = [record(f"p{number:02}", [number], payload=bytes(1_000_000)) for number in range(30)]
            assert index.put_many(big) == {}
            assert index.count() == 30
            failed = index.put_many([record("small", [1]), record("huge", [1], payload=bytes(16_000_000))])
            assert list(failed) == ["huge"]
            assert "http.max_content_length" in failed["huge"]

    def test_a_full_disk_is_said_once_and_not_retried(self, address: str, client: Elasticsearch) -> None:
        with opened(address, Options(retry_seconds=20.0)) as index:
            index.put_many([record("a", [1])])
            block = {"index.blocks.read_only_allow_delete": True}
            client.indices.put_settings(index=index._pages.name, settings=block, expand_wildcards="all")
            begun = time.monotonic()
            with pytest.raises(IndexReadOnly, match="free disk space"):
                index.put_many([record("b", [1])])
            assert time.monotonic() - begun < 10
            assert list(index.get_many(["a"])) == ["a"]
            block = {"index.blocks.read_only_allow_delete": False}
            client.indices.put_settings(index=index._pages.name, settings=block, expand_wildcards="all")
            assert index.put_many([record("b", [1])]) == {}


class TestMarks:
    def test_where_nothing_is_the_advice_is_for_a_server(self, address: str) -> None:
        with pytest.raises(NotAnIndex, match=r"there is no .*: name another index") as caught:
            Deduplicator.open(address, read_only=True)
        assert "file" not in str(caught.value)

    def test_another_applications_index_is_refused(self, address: str, client: Elasticsearch) -> None:
        name = urlsplit(address).path.strip("/")
        client.indices.create(index=f"{name}-dedup-texts")
        with pytest.raises(NotAnIndex, match="another application"):
            opened(address)

    def test_many_may_make_the_same_index_at_once(self, address: str) -> None:
        made: list[ElasticIndex] = []
        threads = [threading.Thread(target=lambda: made.append(opened(address, Options()))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(made) == 4
        for index in made:
            index.close()

    def test_a_reader_never_writes(self, address: str) -> None:
        opened(address).close()
        with opened(address, read_only=True) as reader:
            for write in (
                lambda: reader.put_many([record("a")]),
                lambda: reader.set_note("a", "b"),
                lambda: reader.replace_all([], []),
                lambda: reader.assign_many([assignment("a")]),
                lambda: reader.writing().__enter__(),
            ):
                with pytest.raises(IndexUnavailable, match="for reading only"):
                    write()


class TestReplacing:
    def test_others_see_the_old_clusters_or_the_new_ones(self, address: str) -> None:
        with opened(address) as index, opened(address, read_only=True) as reader:
            old = [assignment(f"p{number:03}") for number in range(300)]
            new = [assignment("p000"), *(assignment(f"p{number:03}", "p000") for number in range(1, 300))]
            index.replace_all([edge("p000", "p001")], old)
            seen = set()
            stop = threading.Event()

            def look() -> None:
                while not stop.is_set():
                    seen.add(len(list(reader.clusters())))

            watcher = threading.Thread(target=look)
            watcher.start()
            index.replace_all([], new)
            time.sleep(0.2)
            stop.set()
            watcher.join()
            assert seen <= {300, 1}
            assert index.edges_of(["p000"]) == []
            assert len(index.members(["p000"])["p000"]) == 300

    def test_a_failed_replacement_leaves_the_old_and_nothing_else(
        self, address: str, client: Elasticsearch
    ) -> None:
        name = urlsplit(address).path.strip("/")
        with opened(address) as index:
            index.replace_all([], [assignment("a")])

            def breaks() -> Iterator[Any]:
                yield assignment("b")
                message = "the input broke"
                raise ValueError(message)

            with pytest.raises(ValueError, match="broke"):
                index.replace_all([], breaks())
            assert [group[0].page_id for group in index.clusters()] == ["a"]
            found = client.indices.get(index=f"{name}-dedup-clusters-*", expand_wildcards="all")
            assert len(found) == 1


class TestLock:
    @pytest.fixture
    def index(self, address: str) -> Iterator[ElasticIndex]:
        with opened(address) as index:
            yield index

    def test_a_second_writer_waits_and_then_is_told(self, index: ElasticIndex, address: str) -> None:
        with opened(address) as other, index.writing():
            with pytest.raises(IndexLocked, match="another process"), other.writing():
                pass
            assert other.count() == 0
        with opened(address) as other, other.writing():
            pass

    def test_a_dead_holder_is_taken_over_from(self, index: ElasticIndex) -> None:
        dead = lock_of(index, 0.5, 60)
        dead._take(1)
        alive = lock_of(index, 0.5, 0.1)
        begun = time.monotonic()
        with alive.held(5):
            assert time.monotonic() - begun >= 0.5

    def test_a_holder_that_lives_is_not_taken_over_from(self, index: ElasticIndex) -> None:
        first = lock_of(index, 1.0, 0.1)
        second = lock_of(index, 1.0, 0.1)
        with first.held(1), pytest.raises(IndexLocked), second.held(2.5):
            pass

    @pytest.mark.slow
    def test_a_server_that_stood_still_makes_no_holder_dead(self, address: str, proxy: Proxy) -> None:
        """The holder's touches wait like all else, so for a moment after it the document looks long untouched."""
        index = opened(f"{proxy.url}/{urlsplit(address).path.strip('/')}", Options())
        first = lock_of(index, 2.0, 0.5)
        second = lock_of(index, 2.0, 0.5)

        def stand_still() -> None:
            time.sleep(0.3)
            proxy.stalled = True
            time.sleep(3)
            proxy.stalled = False

        thread = threading.Thread(target=stand_still)
        with index, first.held(1):
            thread.start()
            with pytest.raises(IndexLocked), second.held(6):
                pass
            thread.join()
            first.check()

    def test_a_holder_that_was_taken_over_from_is_stopped(self, index: ElasticIndex) -> None:
        slow = lock_of(index, 0.2, 0.5)
        other = lock_of(index, 0.2, 0.05)
        with slow.held(1), other.held(3):
            time.sleep(1)
            with pytest.raises(IndexLocked):
                slow.check()
            other.check()


@pytest.mark.other_servers
class TestSecured:
    @pytest.fixture
    def secured(self) -> Iterator[tuple[str, Options]]:
        server = server_of("secured")
        options = Options(user=server.user, password=server.password, ca_certs=server.ca, retry_seconds=1.0)
        name = fresh_name()
        yield f"{server.url}/{name}", options
        with Elasticsearch(
            server.url, basic_auth=(server.user, server.password), ca_certs=server.ca
        ) as client:
            client.indices.delete(index=f"{name}-dedup-*", expand_wildcards="all", ignore_unavailable=True)

    def test_the_documented_role_is_enough_and_no_more(self, secured: tuple[str, Options]) -> None:
        address, options = secured
        worker = options.model_copy(update={"user": WORKER})
        with opened(address, worker) as index, index.writing():
            index.put_many([record("a", [1], text="words"), record("b", [1])])
            index.replace_all([edge("a", "b")], [assignment("a"), assignment("b", "a")])
            index.save_statistics(b"snapshot")
            assert index.erase([]) is not None  # merges segments
            assert index.delete_many(["b"]) == 1
            assert index.candidates_many([candidate_query(1)])[0].candidates
            assert index.sizes()["total"] > 0
            client = index._server.client
            with pytest.raises(AuthorizationException):
                client.index(index="somebody-elses", document={"a": 1})

    def test_a_wrong_password_is_refused_at_once_and_not_repeated(self, secured: tuple[str, Options]) -> None:
        address, options = secured
        wrong = Options(user=options.user, password="wrong-one", ca_certs=options.ca_certs)  # noqa: S106
        with pytest.raises(IndexRefused) as caught:
            opened(address, wrong)
        assert "wrong-one" not in str(caught.value)
        assert not caught.value.retryable

    def test_an_unknown_authority_is_named_with_advice(
        self, secured: tuple[str, Options], tmp_path: Path
    ) -> None:
        address, options = secured
        with pytest.raises(IndexRefused, match="ca_certs"):
            opened(address, Options(user=options.user, password=options.password))
