"""The feed of cluster changes: whatever changes clusters, who follows the feed has exactly the clusters of the index."""

import json
import random
import subprocess
from typing import Any

import pytest
from elasticsearch import Elasticsearch

from es_dedup import Deduplicator, Page
from es_dedup.errors import DedupError
from es_dedup.hook import DedupHook, dedup_bulk
from es_dedup.index.factory import open_index
from es_dedup.settings import Settings
from tests.hooked import action_of, five
from tests.processes import PROGRAM, ended
from tests.samples import story

Clusters = dict[str, tuple[str, str]]
STEPS = 12


class Copy:
    """What a program that follows the feed keeps."""

    def __init__(self) -> None:
        self.clusters: Clusters = {}
        self.cursor: str | None = None
        self.resets = 0

    def follow(self, dedup: Deduplicator, source: random.Random | None = None) -> None:
        """Apply all changes; with ``source`` in parts, some of them twice, as after a crash."""
        while True:
            changes = list(dedup.changes(self.cursor))
            part = changes if source is None else changes[: source.randint(0, len(changes))]
            kept = len(part) if source is None else source.randint(0, len(part))
            for number, change in enumerate(part):
                self._apply(change.as_dict())
                if number < kept:
                    self.cursor = change.cursor
            if len(part) == len(changes) and kept == len(part):
                return

    def _apply(self, change: dict[str, Any]) -> None:
        if change.get("reset"):
            self.clusters.clear()
            self.resets += 1
        elif change["cluster"] is None:
            self.clusters.pop(change["page"], None)
        else:
            self.clusters[change["page"]] = (change["cluster"], change["canonical"])


def in_index(place: str) -> Clusters:
    """All assignments that the index has."""
    with open_index(place, Settings(workers=1), read_only=True) as index:
        return {
            each.page_id: (each.cluster_id, each.canonical) for group in index.clusters() for each in group
        }


class Writer:
    """Random writes of every kind to one index."""

    def __init__(self, dedup: Deduplicator, source: random.Random) -> None:
        self.dedup, self.source = dedup, source
        self.live: set[str] = set()
        self.bodies = [[self.clause() for _ in range(10)] for _ in range(5)]

    def clause(self) -> str:
        return "".join(chr(0x4E00 + self.source.randrange(900)) for _ in range(12))

    def page(self, page_id: str) -> Page:
        body = list(self.source.choice(self.bodies))
        if self.source.random() < 0.5:
            body = [*body[: self.source.randint(6, 10)], self.clause()]
        return Page(
            id=page_id, text="。".join(body) + "。", published=f"2026-01-{self.source.randint(10, 28)}"
        )

    def pages(self, count: int) -> list[Page]:
        ids = {f"p{self.source.randrange(40):02}" for _ in range(count)}
        self.live |= ids
        return [self.page(page_id) for page_id in sorted(ids)]

    def step(self) -> str:
        kinds = ["add", "add_many", "scan", "remove", "override", "undo", "recluster"]
        kind = self.source.choices(kinds, [4, 3, 1, 3, 3, 1, 1])[0]
        getattr(self, kind)()
        return kind

    def add(self) -> None:
        self.dedup.add(self.pages(1)[0])

    def add_many(self) -> None:
        self.dedup.add_many(self.pages(4))

    def scan(self) -> None:
        self.dedup.scan(self.pages(6))

    def remove(self) -> None:
        gone = self.source.sample(sorted(self.live), min(2, len(self.live)))
        self.dedup.remove(gone)
        self.live.difference_update(gone)

    def override(self) -> None:
        if len(self.live) < 3:
            return
        left, right, other = self.source.sample(sorted(self.live), 3)
        try:
            self.source.choice([self.dedup.override_same, self.dedup.override_different])(
                left, right, reason="seen", author="reader"
            )
            self.dedup.override_canonical(other, reason="best", author="reader")
        except DedupError:  # it contradicts another one
            pass

    def undo(self) -> None:
        known = self.dedup.overrides()
        if known:
            self.dedup.undo_override(self.source.choice(known).id, reason="wrong", author="reader")

    def recluster(self) -> None:
        self.dedup.recluster()


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_who_follows_has_the_clusters_of_the_index_after_every_step(place: str, seed: int) -> None:
    source = random.Random(seed)
    copy, unsteady, steps = Copy(), Copy(), []
    with Deduplicator.open(place, settings=Settings(workers=1)) as dedup:
        writer = Writer(dedup, source)
        for _ in range(STEPS):
            steps.append(writer.step())
            copy.follow(dedup)
            assert copy.clusters == in_index(place), steps
            if source.random() < 0.3:
                unsteady.follow(dedup, source)
                assert unsteady.clusters == copy.clusters, steps
        anew = Copy()
        anew.follow(dedup)
        assert anew.clusters == copy.clusters
    if not place.startswith("http"):
        assert copy.resets == 0


def test_writes_of_the_hook(hook: DedupHook, client: Elasticsearch, name: str, address: str) -> None:
    copy = Copy()
    with Deduplicator.open(address) as dedup:
        for actions in (
            five(name),
            [action_of(story(0, "copy-9", day=9), name)],
            [{"_op_type": "delete", "_index": name, "_id": "story-0"}],
            [action_of(story(1, "copy-1", day=3), name)],
        ):
            dedup_bulk(client, actions, hook=hook)
            copy.follow(dedup)
            assert copy.clusters == in_index(address)
    assert len(copy.clusters) == 5
    assert copy.resets == 0


def test_a_change_of_each_batch_while_another_process_follows(place: str) -> None:
    with Deduplicator.open(place, settings=Settings(workers=1)) as dedup:
        dedup.add(story(0))
        command = [PROGRAM, "--db", place, "index", "changes", "--follow", "--poll-seconds", "0.1"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as following:
            assert following.stdout is not None
            first = json.loads(following.stdout.readline())
            assert (first["page"], first["cluster"]) == ("story-0", "story-0")
            # While an index has few pages, a write clusters all of it anew; on a server a `reset` and all pages follow.
            lines = map(json.loads, following.stdout)
            dedup.add(story(0, "copy-0", day=2))
            second = next(change for change in lines if change.get("page") == "copy-0")
            assert (second["cluster"], second["relation"]) == ("story-0", "exact")
            dedup.remove(["copy-0"])
            assert next(change for change in lines if change.get("page") == "copy-0")["cluster"] is None
            following.terminate()


class TestCommand:
    def run(self, place: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return ended(PROGRAM, "--db", place, "index", "changes", *arguments)

    def test_from_a_cursor(self, place: str) -> None:
        with Deduplicator.open(place, settings=Settings(workers=1)) as dedup:
            dedup.add_many([story(0), story(1)])
            cursor = json.loads(self.run(place, "--cursor").stdout)["cursor"]
            assert self.run(place, "--since", cursor).stdout == ""
            dedup.add(story(1, "copy-1", day=2))
        done = self.run(place, "--since", cursor)
        *earlier, change = map(json.loads, done.stdout.splitlines())
        # While an index has few pages, a write clusters all of it anew; on a server a `reset` and all pages follow.
        assert not earlier or earlier[0]["reset"]
        assert (change["page"], change["cluster"], change["canonical"]) == ("copy-1", "story-1", "story-1")
