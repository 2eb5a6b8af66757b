"""Writers at once: a page is replaced while another writer stores what is related to it; two store equal pages in the same moment."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

import pytest

from es_dedup import Deduplicator, Page, Settings
from es_dedup.hook import DedupHook, HookReport, dedup_bulk
from es_dedup.hook.documents import item_of
from es_dedup.index.source_index import DocumentKey
from es_dedup.model import WritePolicy
from tests.hooked import FIELDS, action_of, clusters, dedup_fields
from tests.servers import client_of
from tests.texts import article

if TYPE_CHECKING:
    from elasticsearch import Elasticsearch

FIRST, SECOND, OTHER, BEFORE = (article(seed, sentences=14) for seed in range(4))
WHOLE: Final = f"{FIRST}\n{SECOND}"
NEW, BESIDE = "new", "beside"


def page(name: str, text: str, day: int) -> Page:
    return Page(name, text=text, title=text[:12], published=f"2024-05-{day:02}")


def by_hook(address: str, client: Elasticsearch, given: Page) -> None:
    with DedupHook.open(address, FIELDS) as other:
        dedup_bulk(client, [action_of(given, address.rpartition("/")[2])], hook=other)


def by_add_many(address: str, client: Elasticsearch, given: Page) -> None:
    """As a worker does, which reads the document when it has been written."""
    name = address.rpartition("/")[2]
    client.index(index=name, id=given.id, document=action_of(given, name)["_source"])
    with Deduplicator.open(address) as dedup:
        dedup.add_many([FIELDS.page(DocumentKey(name, given.id).page_id, action_of(given, name)["_source"])])


class Replacement:
    """The page ``new``, or another, gets the text ``WHOLE``; what happens between ``begin`` and ``end`` is not compared with it."""

    def __init__(self, hook: DedupHook, client: Elasticsearch, name: str, page_id: str = NEW) -> None:
        self._hook, self._client, self._name, self._id = hook, client, name, page_id

    def begin(self) -> None:
        action = action_of(page(self._id, WHOLE, 3), self._name)
        head: dict[str, Any] = {"index": {"_index": self._name, "_id": self._id}}
        self._items = [item_of(head, action["_source"], {})]
        self._seen = self._hook.compare(self._hook.prefetch(self._items))

    def end(self, policy: WritePolicy = WritePolicy.MARK) -> HookReport:
        report = HookReport()
        batch = self._hook.prepare(self._items, policy, report, prefetched=self._seen)
        for item in batch:
            if item.kept:
                self._client.index(index=self._name, id=self._id, document=item.document)
        self._hook.finish(batch, (), report)
        return report


@pytest.fixture
def replacement(hook: DedupHook, client: Elasticsearch, name: str, before: str) -> Replacement:
    """``before``: what the page beside it holds when the two are compared."""
    stored = (page(NEW, OTHER, 1), page(BESIDE, before, 2))
    dedup_bulk(client, [action_of(each, name) for each in stored], hook=hook)
    return Replacement(hook, client, name)


@pytest.mark.parametrize("store", [by_hook, by_add_many])
@pytest.mark.parametrize("before", [BEFORE, SECOND], ids=["unrelated", "related"])
def test_a_containment_that_another_stored_meanwhile_stays(
    replacement: Replacement, address: str, client: Elasticsearch, name: str, store: Any
) -> None:
    replacement.begin()
    store(address, client, page(BESIDE, FIRST, 4))
    replacement.end()
    assert dedup_fields(client, name)[BESIDE]["contained_in"] == [f"{name}/{NEW}"]


@pytest.mark.parametrize("before", [BEFORE])
def test_what_no_longer_holds_goes(
    replacement: Replacement, address: str, client: Elasticsearch, name: str
) -> None:
    by_hook(address, client, page(BESIDE, OTHER, 2))
    assert clusters(client, name) == {frozenset({NEW, BESIDE})}
    replacement.begin()
    by_hook(address, client, page("third", BEFORE, 4))
    replacement.end()
    assert clusters(client, name) == {frozenset({each}) for each in (NEW, BESIDE, "third")}


@pytest.mark.parametrize("before", [BEFORE])
@pytest.mark.parametrize("policy", WritePolicy)
def test_of_two_copies_at_once_one_gives_way_at_most(
    replacement: Replacement, address: str, client: Elasticsearch, name: str, policy: WritePolicy
) -> None:
    """The search of the later one has found the other: whatever becomes of it then, the other stays."""
    replacement.begin()
    by_hook(address, client, page(BESIDE, WHOLE, 1))
    replacement.end(policy)
    assert clusters(client, name) == {frozenset({NEW, BESIDE})}
    assert dedup_fields(client, name)[NEW]["duplicate_of"] == f"{name}/{BESIDE}"


@pytest.mark.parametrize("before", [WHOLE])
def test_a_decision_of_people_made_meanwhile_counts(
    replacement: Replacement, address: str, client: Elasticsearch, name: str
) -> None:
    replacement.begin()
    with Deduplicator.open(address) as dedup:
        dedup.override_different(f"{name}/{NEW}", f"{name}/{BESIDE}", reason="two printings", author="Ada")
    replacement.end()
    assert clusters(client, name) == {frozenset({NEW}), frozenset({BESIDE})}


@pytest.mark.parametrize("begun_last_ends_first", [False, True])
def test_equal_pages_meet_that_are_both_stored_before_either_is_searched_for(
    own_address: str, monkeypatch: pytest.MonkeyPatch, *, begun_last_ends_first: bool
) -> None:
    """Searches see nothing that no writer has asked the server to show."""
    host, _, name = own_address.rpartition("/")
    settings = Settings.model_validate({"elastic": {"refresh": "-1"}})
    stored, both_stored = threading.Event(), threading.Event()
    with (
        client_of(host) as client,
        DedupHook.open(own_address, FIELDS, settings=settings) as second,
        DedupHook.open(own_address, FIELDS, settings=settings) as first,
        ThreadPoolExecutor(1) as pool,
    ):
        for number, hook in enumerate((second, first)):  # the first write of a writer is always refreshed
            dedup_bulk(client, [action_of(page(f"p{number}", article(10 + number), 1), name)], hook=hook)
        search = first._index.candidates_with_copies

        def search_later(*arguments: Any, **more: Any) -> Any:
            stored.set()
            assert both_stored.wait(20)
            return search(*arguments, **more)

        monkeypatch.setattr(first._index, "candidates_with_copies", search_later)
        one, two = Replacement(first, client, name, "one"), Replacement(second, client, name, "two")
        begun = pool.submit(one.begin)
        try:
            assert stored.wait(20)
            two.begin()
        finally:
            both_stored.set()
        begun.result()
        for each in (two, one) if begun_last_ends_first else (one, two):
            each.end()
        found = clusters(client, name)
        client.indices.delete(index=name)
    assert found == {frozenset({"p0"}), frozenset({"p1"}), frozenset({"one", "two"})}
