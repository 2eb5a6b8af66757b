"""Documents that were deleted past the hook: copies that come later are found by searches, whatever the policy."""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from typing import Any, Self, cast

import pytest
from elasticsearch import Elasticsearch
from elasticsearch.helpers import bulk

from es_dedup import Deduplicator
from es_dedup.collapse import DedupSearch, Mode, SearchOptions
from es_dedup.errors import DuplicatePage
from es_dedup.hook import DedupHook, HookReport, dedup_bulk
from es_dedup.maintenance.context import open_context
from tests.hooked import FIELDS, action_of, clusters, dedup_fields
from tests.samples import story
from tests.source_indices import settings

STORIES = 6


def delete(client: Elasticsearch, name: str, ids: Sequence[str], **more: Any) -> None:
    """As delete-by-query does."""
    actions = ({"_op_type": "delete", "_index": name, "_id": each, **more} for each in ids)
    bulk(client, actions, refresh=True)


def shown(client: Elasticsearch, name: str) -> set[int]:
    """Numbers of the stories that a search without copies finds."""
    client.indices.refresh(index=name)
    found = DedupSearch(client, name, options=SearchOptions(mode=Mode.CANONICAL)).search({"size": 100})
    return {int(group.hit["_id"].split("-")[-1]) for group in found.groups}


@pytest.mark.parametrize("policy", ["mark", "skip", "overwrite", "fail"])
@pytest.mark.parametrize("routing", [{}, {"routing": "r"}], ids=["plain", "routed"])
def test_copies_of_deleted_documents_stand_for_their_stories(
    hook: DedupHook, client: Elasticsearch, address: str, name: str, policy: str, routing: dict[str, Any]
) -> None:
    """Of the first two stories another copy is there, too; of the last two nothing was deleted."""
    first = [action_of(story(number, day=1), name, **routing) for number in range(STORIES)]
    more = [action_of(story(number, f"copy-{number}", day=2), name, **routing) for number in range(2)]
    dedup_bulk(client, [*first, *more], hook=hook)
    delete(client, name, [f"story-{number}" for number in range(4)], **routing)
    new = [action_of(story(number, f"new-{number}", day=3), name, **routing) for number in range(2, 4)]
    result = dedup_bulk(client, new, hook=hook, policy=policy)
    head = f"{name}?r" if routing else name
    gone = {f"{head}/story-{number}" for number in (2, 3)}
    assert set(result.report.gone) == gone
    assert not result.report.left_out
    assert result.report.outcomes == {"unique": 2}
    assert {each.outcome for each in result.report.decisions.values()} == set()
    dedup_bulk(client, [action_of(story(n, f"new-{n}", day=3), name, **routing) for n in range(2)], hook=hook)
    assert shown(client, name) == set(range(STORIES))
    clusters(client, name)
    for dedup_field in dedup_fields(client, name).values():
        assert dedup_field.get("duplicate_of") not in {f"{head}/story-{number}" for number in range(4)}
    with open_context(address, settings()) as site:
        assert site.index.assignments(gone) == {}


@pytest.mark.parametrize("create", [False, True])
def test_skip_leaves_out_one_of_two_new_copies_only(
    hook: DedupHook, client: Elasticsearch, name: str, create: bool
) -> None:
    operation = {"_op_type": "create"} if create else {}
    dedup_bulk(client, [action_of(story(0), name)], hook=hook)
    delete(client, name, ["story-0"])
    new = [action_of(story(0, f"new-{number}", day=2), name, **operation) for number in range(2)]
    report = dedup_bulk(client, new, hook=hook, policy="skip").report
    assert (list(report.left_out), report.gone) == ([f"{name}/new-1"], [f"{name}/story-0"])
    assert report.left_out[f"{name}/new-1"].duplicate_of == f"{name}/new-0"
    assert clusters(client, name) == {frozenset({"new-0"})}


def test_a_page_that_a_deleted_document_contained(hook: DedupHook, client: Elasticsearch, name: str) -> None:
    whole = action_of(story(0), name)
    whole["_source"]["text"] = f"{story(0).text}\n{story(1).text}"
    dedup_bulk(client, [whole], hook=hook)
    delete(client, name, ["story-0"])
    report = dedup_bulk(client, [action_of(story(1), name)], hook=hook, policy="skip").report
    assert (list(report.left_out), report.gone) == ([], [f"{name}/story-0"])
    assert "contained_in" not in dedup_fields(client, name)["story-1"]


def test_overwrite_deletes_nothing_for_a_document_that_is_gone(
    hook: DedupHook, client: Elasticsearch, name: str
) -> None:
    """A writer of one's own says that a document was written, and it is not there."""
    dedup_bulk(client, [action_of(story(0), name)], hook=hook)
    report = HookReport()
    batch = hook.process([action_of(story(0, "new", day=2), name)], policy="overwrite", report=report)
    hook.written(batch, report=report)
    assert (report.gone, report.removed) == ([f"{name}/new"], [])
    assert clusters(client, name) == {frozenset({"story-0"})}


@pytest.mark.parametrize("policy", ["mark", "skip", "overwrite"])
def test_of_copies_at_once_one_stays(
    hook: DedupHook, client: Elasticsearch, address: str, name: str, policy: str
) -> None:
    """Each of four hooks meets pages of the others whose documents are not written yet."""
    numbers = range(24)
    waiting = [action_of(story(number, f"{copy}-{number}"), name) for number in numbers for copy in "abc"]

    def write(_: int) -> None:
        with DedupHook.open(address, FIELDS) as own:
            while waiting:
                with suppress(IndexError):  # another thread has taken the last one
                    dedup_bulk(client, [waiting.pop(0)], hook=own, policy=policy)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    found = clusters(client, name)
    assert {int(each.split("-")[1]) for group in found for each in group} == set(numbers)
    assert len(found) == len(numbers)


@pytest.mark.parametrize("policy", ["skip", "fail"])
def test_a_document_that_another_process_is_about_to_write_counts(
    hook: DedupHook, client: Elasticsearch, address: str, name: str, policy: str
) -> None:
    with DedupHook.open(address, FIELDS) as other:
        coming = other.process([action_of(story(0), name)])
        writing = threading.Timer(
            0.4, lambda: client.index(index=name, id="story-0", document=coming.items[0].document)
        )
        writing.start()
        copies = [action_of(story(0, "z-copy", day=2), name)]
        if policy == "fail":
            with pytest.raises(DuplicatePage):
                dedup_bulk(client, copies, hook=hook, policy=policy)
        else:
            assert list(dedup_bulk(client, copies, hook=hook, policy=policy).report.left_out) == [
                f"{name}/z-copy"
            ]
        writing.join()
        other.written(coming)
    assert clusters(client, name) == {frozenset({"story-0"})}


def test_a_copy_stays_whose_cluster_is_deleted_while_a_batch_is_written(
    hook: DedupHook, client: Elasticsearch, address: str, name: str
) -> None:
    """The write of the batch finds its own document gone, and repairs the cluster after it has read the fields of the others."""
    dedup_bulk(client, [action_of(story(0), name)], hook=hook)
    batch = hook.process([action_of(story(0, "second", day=2), name)])
    client.index(index=name, id="second", document=batch.items[0].document)
    with DedupHook.open(address, FIELDS) as other:
        dedup_bulk(client, [action_of(story(0, "third", day=3), name)], hook=other)
    delete(client, name, ["story-0", "second"])
    hook.written(batch)
    assert clusters(client, name) == {frozenset({"third"})}


@pytest.mark.parametrize("page_id", ["plain", "https://a.example/1"])
@pytest.mark.parametrize("policy", ["mark", "skip", "overwrite", "fail"])
def test_a_page_that_was_added_without_a_document_is_not_taken_for_a_deleted_one(
    hook: DedupHook, client: Elasticsearch, address: str, name: str, policy: str, page_id: str
) -> None:
    with Deduplicator.open(address) as dedup:
        dedup.add(story(0, page_id))
    report, copy = HookReport(), action_of(story(0, "copy", day=3), name)
    given: dict[str, Any] = {"hook": hook, "policy": policy, "report": report}
    with pytest.raises(DuplicatePage) if policy == "fail" else nullcontext():
        dedup_bulk(client, [action_of(story(1), name), copy], **given)
    assert (report.gone, report.not_repaired, report.removed) == ([], {}, [])
    assert not report.inconclusive
    with Deduplicator.open(address) as dedup:
        assert dedup.text(page_id)
    if policy in ("mark", "overwrite"):
        assert dedup_fields(client, name)["copy"]["duplicate_of"] == page_id


class Rerouting:
    """A client after whose every third bulk request an alias has another routing.

    The change is never between the check of a batch and its write: the answer to a write does not name the routing.
    """

    def __init__(self, client: Elasticsearch, name: str, alias: str) -> None:
        self._client, self._name, self._alias, self.requests = client, name, alias, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def options(self, **_: Any) -> Self:
        return self

    def bulk(self, *given: Any, **more: Any) -> Any:
        answer = self._client.bulk(*given, **more)
        self.requests += 1
        if self.requests % 3 == 0:
            routed = {"index": self._name, "alias": self._alias, "index_routing": f"r{self.requests}"}
            self._client.indices.update_aliases(actions=[{"add": routed}])
        return answer


def test_pages_under_the_old_routing_of_an_alias_are_none_that_are_gone(
    hook: DedupHook, client: Elasticsearch, name: str
) -> None:
    """The routing changes within a call, while batches are under way whose pages never become documents as they were called."""
    alias = f"{name}-alias"
    client.indices.create(
        index=name, settings={"number_of_shards": 3}, aliases={alias: {"index_routing": "r0"}}
    )

    rerouting = Rerouting(client, name, alias)
    actions = [action_of(story(number % 4, f"copy-{number}", day=1 + number), alias) for number in range(24)]
    result = dedup_bulk(cast("Elasticsearch", rerouting), actions, hook=hook, chunk_size=2)
    assert rerouting.requests >= 12
    assert (result.report.gone, result.report.not_repaired) == ([], {})
    assert len(clusters(client, name)) == 4


@pytest.mark.parametrize("policy", ["skip", "fail", "overwrite"])
def test_a_copy_of_a_text_that_was_replaced_past_the_hook_is_kept(
    hook: DedupHook, client: Elasticsearch, name: str, policy: str
) -> None:
    dedup_bulk(client, [action_of(story(number), name) for number in range(2)], hook=hook)
    bulk(client, [action_of(story(5, "story-0"), name)], refresh=True)
    new = [action_of(story(number, f"new-{number}", day=2), name) for number in (0, 5)]
    with pytest.raises(DuplicatePage) if policy == "fail" else nullcontext():
        dedup_bulk(client, new, hook=hook, policy=policy, chunk_size=1, refresh=True)
    kept = "new-5" if policy == "overwrite" else "story-0"
    assert clusters(client, name) == {frozenset({each}) for each in (kept, "new-0", "story-1")}


@pytest.mark.parametrize("policy", ["skip", "fail", "overwrite"])
def test_a_copy_of_a_text_that_was_emptied_past_the_hook_is_kept(
    hook: DedupHook, client: Elasticsearch, name: str, policy: str
) -> None:
    dedup_bulk(client, [action_of(story(0), name)], hook=hook)
    bulk(client, [{"_index": name, "_id": "story-0", "title": "Withdrawn"}], refresh=True)
    copy = action_of(story(0, "new-0", day=2), name)
    report = dedup_bulk(client, [copy], hook=hook, policy=policy, refresh=True).report
    assert (dict(report.left_out), report.removed, report.not_repaired) == ({}, [], {})
    assert clusters(client, name) == {frozenset({"story-0"}), frozenset({"new-0"})}
