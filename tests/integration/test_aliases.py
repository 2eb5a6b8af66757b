"""Aliases that give documents a routing or show a part of an index, and indices that require a routing."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from elasticsearch import Elasticsearch
from elasticsearch.helpers import bulk

from es_dedup.collapse import DedupSearch
from es_dedup.errors import ConfigError, IndexRefused
from es_dedup.hook import DedupHook, SourceFields, dedup_bulk
from es_dedup.maintenance.attach import attach, detach
from es_dedup.maintenance.audit import audit
from es_dedup.maintenance.context import MaintenanceContext, open_context
from es_dedup.maintenance.purge import purge
from es_dedup.maintenance.runner import Runner, run_follow, start_follow
from tests.hooked import FIELDS, Inline, action_of, clusters, dedup_fields, five
from tests.hooked import STORIES as STORIES_OF_FIVE
from tests.samples import story
from tests.source_indices import count_with_dedup_field, settings
from tests.traffic import run

STORIES = 4
SHARDS = {"number_of_shards": 3}


@pytest.fixture
def alias(client: Elasticsearch, name: str) -> Iterator[str]:
    yield f"{name}-write"
    client.indices.delete(index=f"{name}-0*", ignore_unavailable=True)


@pytest.mark.parametrize("own", [None, "r"], ids=["by the alias", "given too"])
def test_documents_have_the_routing_of_their_alias(
    hook: DedupHook, client: Elasticsearch, address: str, name: str, alias: str, own: str | None
) -> None:
    """Before and after a rollover to an index whose alias has another routing, or none."""
    routing = {"routing": own} if own else {}
    head: dict[str, Any] = {"is_write_index": True}
    client.indices.create(
        index=f"{name}-000001", settings=SHARDS, aliases={alias: {**head, "index_routing": "r"}}
    )
    given = [action_of(story(number), alias, **routing) for number in range(STORIES)]
    copies = [
        action_of(story(number, f"copy-{number}", day=2), alias, **routing) for number in range(STORIES)
    ]
    dedup_bulk(client, given, hook=hook)
    dedup_bulk(client, copies[:2], hook=hook)
    for index_routing in ({"index_routing": own or "s"}, {}):
        after = f"{name}-00000{3 - len(index_routing)}"
        client.indices.create(index=after, settings=SHARDS)
        client.indices.update_aliases(
            actions=[
                {
                    "add": {
                        "index": f"{name}-00000{2 - len(index_routing)}",
                        "alias": alias,
                        "is_write_index": False,
                    }
                },
                {"add": {"index": after, "alias": alias, **head, **index_routing}},
            ]
        )
        dedup_bulk(client, copies[3 - len(index_routing) :][:1], hook=hook)
    changes: list[dict[str, Any]] = [
        {"_op_type": "update", "_index": alias, "_id": "copy-3", "doc": {"seen": 1}, **routing},
        {"_op_type": "index", **action_of(story(5, "copy-3"), alias, **routing)},
        {"_op_type": "delete", "_index": alias, "_id": "copy-3", **routing},
    ]
    result = dedup_bulk(client, changes, hook=hook)
    assert (result.report.not_repaired, result.report.gone) == ({}, [])
    groups = {frozenset({f"story-{n}", f"copy-{n}"}) for n in range(3)} | {frozenset({"story-3"})}
    assert clusters(client, alias) == groups
    hits = client.search(index=alias, size=100)["hits"]["hits"]
    ids = {f"{hit['_index']}?{hit['_routing']}/{hit['_id']}" for hit in hits if "_routing" in hit}
    ids |= {f"{hit['_index']}/{hit['_id']}" for hit in hits if "_routing" not in hit}
    named = {each["duplicate_of"] for each in dedup_fields(client, alias).values() if "duplicate_of" in each}
    assert named
    assert named <= ids
    with open_context(address, settings()) as site:
        attach(site, alias, FIELDS)
        assert audit(site).as_dict()["found"] == {}


@pytest.mark.parametrize("policy", ["skip", "overwrite"])
def test_policies_by_the_routing_of_an_alias(
    hook: DedupHook, client: Elasticsearch, name: str, alias: str, policy: str
) -> None:
    client.indices.create(index=f"{name}-000001", settings=SHARDS, aliases={alias: {"routing": "r"}})
    numbers = range(STORIES)
    dedup_bulk(client, [action_of(story(number), alias) for number in numbers], hook=hook, policy=policy)
    copies = [action_of(story(number, f"copy-{number}", day=2), alias) for number in numbers]
    dedup_bulk(client, copies, hook=hook, policy=policy)
    kept = "story" if policy == "skip" else "copy"
    assert clusters(client, alias) == {frozenset({f"{kept}-{number}"}) for number in numbers}


def test_an_index_that_requires_a_routing(
    hook: DedupHook, client: Elasticsearch, address: str, name: str, alias: str
) -> None:
    """What has none the server refuses; nothing of it is kept."""
    client.indices.create(
        index=f"{name}-000001",
        settings=SHARDS,
        mappings={"_routing": {"required": True}},
        aliases={alias: {}},
    )
    actions: list[dict[str, Any]] = [
        action_of(story(0), alias, routing="a"),
        action_of(story(0, "without"), alias),
        action_of(story(0, "copy", day=2), alias, routing="b"),
        {"_op_type": "delete", "_index": alias, "_id": "unknown"},
    ]
    done, errors = result = dedup_bulk(client, actions, hook=hook, raise_on_error=False)
    assert (done, len(errors), result.report.not_repaired) == (2, 2, {})
    assert clusters(client, alias) == {frozenset({"story-0", "copy"})}
    with open_context(address, settings()) as site:
        attach(site, alias, FIELDS)
        assert audit(site).clean


def test_a_filtered_alias_takes_no_writes(
    hook: DedupHook, client: Elasticsearch, name: str, alias: str
) -> None:
    """Its searches would miss what is found canonical elsewhere in the index; also where the filter comes between two calls."""
    client.indices.create(index=f"{name}-000001", settings=SHARDS, aliases={alias: {}})
    dedup_bulk(client, [action_of(story(0), alias)], hook=hook)
    add = {"index": f"{name}-000001", "alias": alias, "filter": {"term": {"site": "a"}}, "index_routing": "a"}
    client.indices.update_aliases(actions=[{"add": add}])
    copy = action_of(story(0, "copy", day=2), alias)
    for action in (copy, {"_op_type": "delete", "_index": alias, "_id": "story-0"}):
        for policy in ("mark", "overwrite"):
            with pytest.raises(IndexRefused, match=f"{alias}: .*filter.*write to the index behind it"):
                dedup_bulk(client, [action], hook=hook, policy=policy)
    dedup_bulk(client, [copy | {"_index": f"{name}-000001"}], hook=hook)
    assert clusters(client, name + "-0*") == {frozenset({"story-0", "copy"})}


@pytest.mark.parametrize(
    "part", [{"filter": {"term": {"site": "a"}}}, {"search_routing": "a"}, {"routing": "a"}], ids=str
)
def test_an_alias_that_shows_a_part_of_an_index_is_not_attached(
    hook: DedupHook, client: Elasticsearch, address: str, name: str, alias: str, part: dict[str, Any]
) -> None:
    client.indices.create(index=f"{name}-000001", settings=SHARDS, aliases={alias: part})
    dedup_bulk(client, [action_of(story(0), f"{name}-000001")], hook=hook)
    with open_context(address, settings()) as site:
        with pytest.raises(ConfigError, match=f"shows a part of {name}-000001"):
            attach(site, alias, FIELDS, force=True)
        assert site.attachments == []


def test_documents_that_are_decided_later_are_known_by_their_index_alone(
    hook: DedupHook, client: Elasticsearch, address: str, name: str, alias: str
) -> None:
    """Those that were there before another hook meets the alias for the first time."""
    client.indices.create(index=f"{name}-000001", settings=SHARDS, aliases={alias: {}})
    actions = [action_of(story(0), alias), action_of(story(0, "copy", day=2), alias)]
    dedup_bulk(client, actions, hook=hook)
    with DedupHook.open(address, FIELDS) as later:
        later.dispatcher = Inline(later)
        dedup_bulk(client, actions, hook=later)
    assert clusters(client, alias) == {frozenset({"story-0", "copy"})}
    with open_context(address, settings()) as site:
        attach(site, alias, FIELDS)
        assert audit(site).clean


def followed(site: MaintenanceContext) -> None:
    run_follow(Runner(site), start_follow(site, once=True)[0].id)


@contextmanager
def backfilled(client: Elasticsearch, address: str, index: str, alias: str) -> Iterator[MaintenanceContext]:
    """Five documents in an index behind an attached alias, decided on."""
    client.indices.create(index=index, aliases={alias: {}})
    bulk(client, five(index), refresh=True)
    with open_context(address, settings()) as site:
        attach(site, alias, FIELDS)
        run(site, "backfill")
        yield site


MENDS: dict[str, Callable[[MaintenanceContext], object]] = {
    "follow": followed,
    "backfill": lambda site: run(site, "backfill"),
    "audit": lambda site: audit(site, repair=True),
}


@pytest.mark.parametrize("mend", MENDS)
def test_an_alias_that_is_moved_to_a_copy_of_its_index(
    client: Elasticsearch, address: str, name: str, alias: str, mend: str
) -> None:
    """The index that it has left stays as it is, and its pages do not stand for those of the copy, which a search would then not find."""
    old, new = f"{name}-000001", f"{name}-000002"
    with backfilled(client, address, old, alias) as site:
        before = dedup_fields(client, old)
        client.indices.create(index=new, mappings={"properties": site.source_index.mapping})
        bulk(client, ({**action, "_index": new} for action in five(old)), refresh=True)
        actions = [{"remove": {"index": old, "alias": alias}}, {"add": {"index": new, "alias": alias}}]
        client.indices.update_aliases(actions=actions)
        with open_context(address, settings(), read_only=True) as reader:
            assert audit(reader).found["orphans"]
        MENDS[mend](site)
        assert clusters(client, alias) == STORIES_OF_FIVE
        assert len(DedupSearch(client, alias).search({}).groups) == len(STORIES_OF_FIVE)
        assert dedup_fields(client, old) == before
        assert audit(site).clean
        back = [{"remove": {"index": new, "alias": alias}}, {"add": {"index": old, "alias": alias}}]
        client.indices.update_aliases(actions=back)
        MENDS[mend](site)
        assert clusters(client, alias) == STORIES_OF_FIVE
        assert audit(site).clean
        client.indices.update_aliases(actions=actions)
        assert detach(site, alias, force=True).removed == len(five(old))
        assert count_with_dedup_field(client, old) == 0


def test_a_purge_keeps_copies_of_what_the_alias_has_left(
    hook: DedupHook, client: Elasticsearch, address: str, name: str, alias: str
) -> None:
    """Before anything else was done about the move."""
    old, new = f"{name}-000001", f"{name}-000002"
    with backfilled(client, address, old, alias) as site:
        client.indices.create(index=new)
        actions = [{"remove": {"index": old, "alias": alias}}, {"add": {"index": new, "alias": alias}}]
        client.indices.update_aliases(actions=actions)
        dedup_bulk(client, five(alias), hook=hook)
        assert purge(site, alias, None, dry_run=True, force=True).deleted == 0


CROSSING = MENDS | {"recluster": lambda site: run(site, "recluster")}


@pytest.mark.parametrize("between", [*CROSSING, "detach"])
def test_an_alias_that_is_moved_back_before_following_has_looked(
    client: Elasticsearch, address: str, name: str, alias: str, between: str
) -> None:
    """Pages that others removed meanwhile are read again, although their documents have not changed since they were followed."""
    old, new = f"{name}-000001", f"{name}-000002"
    with backfilled(client, address, old, alias) as site:
        followed(site)
        client.indices.create(index=new)
        away = [{"remove": {"index": old, "alias": alias}}, {"add": {"index": new, "alias": alias}}]
        back = [{"remove": {"index": new, "alias": alias}}, {"add": {"index": old, "alias": alias}}]
        if between == "detach":
            detach(site, alias, keep_fields=True)
            attach(site, alias, FIELDS)
        else:
            client.indices.update_aliases(actions=away)
            CROSSING[between](site)
            client.indices.update_aliases(actions=back)
        assert not site.index.count()
        followed(site)
        assert clusters(client, alias) == STORIES_OF_FIVE
        assert audit(site).clean
        job, _ = start_follow(site, once=True)
        assert not run_follow(Runner(site), job.id).counts.get("unchanged"), "they are read once"


@pytest.mark.parametrize("work", [*CROSSING, "hook"])
def test_what_comes_across_pages_of_a_closed_index_goes_on_without_them(
    hook: DedupHook, client: Elasticsearch, address: str, name: str, alias: str, work: str
) -> None:
    """No search finds their documents: others stand for their copies until the index is open again."""
    closed, other = f"{name}-000001", f"{name}-000002"
    for index in (closed, other):
        client.indices.create(index=index, aliases={alias: {}})
    bulk(client, [action_of(story(number), closed) for number in range(2)], refresh=True)
    with open_context(address, settings()) as site:
        attach(site, alias, FIELDS)
        followed(site)
        client.indices.close(index=closed)
        copies = [action_of(story(number, f"copy-{number}", day=2), other) for number in range(2)]
        if work == "hook":
            assert dedup_bulk(client, copies, hook=hook, policy="skip").report.written == 2
        else:
            bulk(client, copies, refresh=True)
            CROSSING[work](site)
        followed(site)
        assert audit(site).clean
        assert clusters(client, other) == {frozenset({"copy-0"}), frozenset({"copy-1"})}
        client.indices.open(index=closed)
        client.cluster.health(index=closed, wait_for_status="yellow")
        followed(site)
        assert audit(site).clean
        assert clusters(client, alias) == {frozenset({f"story-{n}", f"copy-{n}"}) for n in range(2)}


@pytest.mark.parametrize("exact", [True, False], ids=["name", "alias"])
def test_an_index_of_two_targets_is_read_by_the_fields_of_one(
    client: Elasticsearch, address: str, name: str, alias: str, exact: bool
) -> None:
    """Of the last one in the order of their names, whatever reads it."""
    index, other = f"{name}-000001", f"{name}-000002"
    client.indices.create(index=index, aliases={alias: {}})
    sources = {each["_id"]: each["_source"] for each in five(index)}
    for key, source in sources.items():
        client.index(index=index, id=key, document={"text": "the same for all", "article": source["text"]})
        client.index(index=other, id=key, document=source)
    with open_context(address, settings()) as site:
        fields = {f"{name}-0*": FIELDS, index if exact else alias: SourceFields("article")}
        for target, each in fields.items():
            attach(site, target, each, force=True)
        read = {index: SourceFields("article"), other: FIELDS}
        ids = [f"{each}/story-0" for each in read]
        assert site.indices() == site.indices(f"{name}-0*") == read
        assert [*site.fields_of(ids).values()] == [*read.values()]
        run(site, "backfill")
        site.ingest([f"{index}/{key}" for key in sources], again=True)
        assert audit(site).clean
        client.indices.close(index=index)
        assert detach(site, index if exact else alias, force=True).removed == 0, "it is of the pattern, too"
