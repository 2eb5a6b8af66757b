"""A writer lock that is kept from one session to the next, and let go of when somebody else waits or it is not taken."""

import os
import threading
import time
from collections.abc import Iterator

import pytest

from es_dedup.index.elastic import locking
from es_dedup.index.elastic.adapter import ElasticIndex
from es_dedup.index.elastic.address import parse_address
from es_dedup.index.elastic.locking import WriterLock
from tests.servers import fresh_name, remove, url_of


@pytest.fixture
def address() -> Iterator[str]:
    address = f"{url_of('es8')}/{fresh_name()}"
    yield address
    remove(address)


@pytest.fixture
def index(address: str) -> Iterator[ElasticIndex]:
    with ElasticIndex(parse_address(address), features={}) as index:
        yield index


def lock_of(index: ElasticIndex) -> WriterLock:
    lock = WriterLock(index._meta)
    lock.lease, lock.touch = 2.0, 0.2
    return lock


def seen(lock: WriterLock) -> object:
    return lock._read()[0]


def test_sessions_in_a_row_ask_for_it_once(index: ElasticIndex) -> None:
    lock = lock_of(index)
    with lock.keep_writer_lock():
        with lock.held(1):
            pass
        before = seen(lock)
        with lock.held(1):
            assert lock.alone
        assert lock.untouched()
        assert seen(lock) == before
    assert seen(lock) != before
    with lock_of(index).held(0.1):
        pass


def test_who_waits_is_let_in_when_the_holder_looks(index: ElasticIndex, address: str) -> None:
    taken = threading.Event()

    def wait() -> None:
        with ElasticIndex(parse_address(address), features={}) as other, other.writing():
            taken.set()

    with index.keep_writer_lock():
        with index.writing():
            pass
        thread = threading.Thread(target=wait)
        thread.start()
        assert not taken.wait(1.5)
        index.pages_and_assignments(["a"])
        assert taken.wait(5)
        thread.join()
        with index.writing() as alone:
            assert not alone
        with index.writing():  # others have waited lately: not kept
            pass
        with lock_of(index).held(0.1):
            pass


def test_it_is_not_kept_for_long_without_a_session(
    index: ElasticIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locking, "IDLE_SECONDS", 0.3)
    lock = lock_of(index)
    with lock.keep_writer_lock():
        with lock.held(1):
            pass
        time.sleep(1)
        assert not lock.kept
        with lock_of(index).held(0.1):
            pass
        with lock.held(1):
            assert not lock.alone


def test_one_that_is_kept_is_touched(index: ElasticIndex) -> None:
    lock = lock_of(index)
    with lock.keep_writer_lock():
        with lock.held(1):
            pass
        time.sleep(1)
        with lock.held(1):
            assert lock.alone


def test_one_that_was_taken_over_while_it_was_kept_is_taken_anew(index: ElasticIndex) -> None:
    lock, other = lock_of(index), lock_of(index)
    with lock.keep_writer_lock():
        with lock.held(1):
            pass
        assert other._put(seen(other), free=True)  # type: ignore[arg-type]
        time.sleep(1.2)
        assert not lock.kept
        with lock.held(1):
            assert not lock.alone


def test_a_forked_process_does_not_keep_it(index: ElasticIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = lock_of(index)
    with lock.keep_writer_lock():
        with lock.held(1):
            pass
        with monkeypatch.context() as forked:
            forked.setattr(os, "getpid", lambda: 1)
            assert not lock.kept
            assert not lock.untouched()
        assert lock.kept
