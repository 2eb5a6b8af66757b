"""Statistics that follow a growing index: the hook's clusters are those of a scan, whoever was stopped in between."""

from __future__ import annotations

import signal
import subprocess
import sys
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import pytest

from es_dedup import Deduplicator, Page, Settings
from es_dedup.batch.clusters import write_session
from es_dedup.batch.refresh import REFRESHING, refresh, refresh_is_due
from es_dedup.hook import DedupHook, HookReport, dedup_bulk
from es_dedup.index.factory import open_index
from es_dedup.index.jobs import JobState
from es_dedup.maintenance.audit import audit
from es_dedup.maintenance.backfill import CLUSTER, KINDS
from es_dedup.maintenance.runner import Runner, start_follow
from es_dedup.settings.recorded import STATISTICS, pages_learned
from tests.hooked import FIELDS, action_of, clusters
from tests.processes import ended, without_settings
from tests.samples import partition, story
from tests.source_indices import attached, put, source_index
from tests.texts import article

if TYPE_CHECKING:
    from collections.abc import Sequence

    from elasticsearch import Elasticsearch

REFRESH = """
import os, signal, sys
from functools import partial
from es_dedup import Settings
from es_dedup.batch import refresh
from es_dedup.batch.clusters import write_session
from es_dedup.index.factory import open_index
moment, decide = sys.argv[2], refresh.decide_corpus

def waits():
    print(moment, flush=True)
    sys.stdin.readline()

def slow(*given):
    waits()
    return decide(*given)

if moment == "killed":
    refresh.LEASE_SECONDS = 0.0
if moment == "learning":
    refresh.decide_corpus = slow
settings = Settings()
index = open_index(sys.argv[1], settings)
for pages in refresh.refresh(index, settings, partial(write_session, index)):
    if moment == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if moment == "storing":
        waits()
        moment = ""
"""
"""Refreshes; ends when the first clusters are stored, and before their documents are, or waits there or while it learns."""


def form(number: int) -> Page:
    """A page of one form that many sites use, without a title: sentences of its own between notices that all of them have."""
    text = "\n".join(article(seed, sentences=count) for seed, count in ((1, 3), (5_000 + number, 3), (2, 6)))
    when = f"20{number % 20:02}-01-01"
    return Page(f"form-{number:04}", text=text, published=when, site=f"site-{number % 90}")


def growing(stories: int, forms: int) -> list[Page]:
    """Stories with a copy of every tenth, and then the form, of which every fifth page comes twice."""
    copies = [story(seed, f"copy-{seed}", day=2) for seed in range(0, stories, 10)]
    forms_twice = [replace(form(number), id=f"form-{number:04}-again") for number in range(0, forms, 5)]
    return [*map(story, range(stories)), *copies, *map(form, range(forms)), *forms_twice]


def scanned(pages: Sequence[Page], name: str) -> set[frozenset[str]]:
    """Documents by cluster after a scan of the same pages."""
    with Deduplicator.open(":memory:") as dedup:
        dedup.scan(replace(page, id=f"{name}/{page.id}") for page in pages)
        return {frozenset(each.removeprefix(f"{name}/") for each in group) for group in partition(dedup)}


def write(hook: DedupHook, client: Elasticsearch, name: str, pages: Sequence[Page]) -> HookReport:
    """Write pages in small batches."""
    report = HookReport()
    dedup_bulk(client, [action_of(page, name) for page in pages], chunk_size=50, hook=hook, report=report)
    return report


def test_clusters_of_the_hook_are_those_of_a_scan(
    hook: DedupHook, client: Elasticsearch, address: str, name: str
) -> None:
    pages = growing(450, 300)
    wanted = scanned(pages, name)
    with DedupHook.open(address, FIELDS) as own:
        report = write(own, client, name, pages)
        assert report.seconds["statistics"] > 0
    assert clusters(client, name) == wanted
    with Deduplicator.open(address, read_only=True) as dedup:
        known = dedup.stats()["statistics"]
        assert isinstance(known, dict)
        assert (known["pages"], known["pages_since"]) == (len(pages), 0)


def test_a_refresh_that_was_killed_is_completed_by_the_next_session(
    hook: DedupHook, client: Elasticsearch, address: str, name: str
) -> None:
    pages = growing(100, 300)
    write(hook, client, name, pages)
    hook.close()  # as by a process that ends without the end of its block
    before = clusters(client, name)
    assert before != scanned(pages, name)
    for _ in range(2):
        stopped = ended(sys.executable, "-c", REFRESH, address, "killed", env=without_settings())
        assert stopped.returncode == -signal.SIGKILL, stopped.stderr
    assert clusters(client, name) == before
    with DedupHook.open(address, FIELDS) as later:
        write(later, client, name, [story(900)])
        later.close()
    assert clusters(client, name) == scanned([*pages, story(900)], name)
    with open_index(address, hook._decider._settings) as index:
        assert index.note(REFRESHING) is None


@pytest.mark.parametrize("moment", ["learning", "storing"])
def test_a_refresh_that_another_process_is_at_is_left_to_it(
    hook: DedupHook, client: Elasticsearch, address: str, name: str, moment: str
) -> None:
    write(hook, client, name, growing(100, 300))
    hook.close()
    settings = Settings()
    command = [sys.executable, "-c", REFRESH, address, moment]
    with (
        open_index(address, settings) as index,
        subprocess.Popen(
            command, env=without_settings(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as other,
    ):
        assert other.stdout is not None
        assert other.stdout.readline() == f"{moment}\n"
        before = index.note(STATISTICS)
        with open_index(address, settings) as own:
            assert not refresh_is_due(own, changed=True)
            assert not list(refresh(own, settings, partial(write_session, own)))
            assert own.note(STATISTICS) == before
        other.communicate("go on\n", timeout=60)
        assert other.returncode == 0
        assert (index.note(REFRESHING), pages_learned(index.note(STATISTICS))) == (None, index.count())


def test_statistics_follow_what_is_written_during_a_backfill_and_after_it() -> None:
    """By the last stage of the backfill where as many documents are there as before, else by the next look of a worker."""
    first, then = growing(300, 0), growing(0, 250)
    given = {page.id: action_of(page, "")["_source"] for page in first}
    with source_index(given) as (client, name), attached(name, fields=FIELDS) as site:
        runner = Runner(site)
        job = runner.start("backfill", {"target": None})
        while KINDS[job.what].stages[job.stage] is not CLUSTER:
            runner.turn(job.id)
            job = site.jobs.job(job.id)[0]  # type: ignore[index]
        runner.turn(job.id)
        changed = dict(zip(given, (action_of(page, name)["_source"] for page in then[:200]), strict=False))
        put(client, name, changed)
        assert runner.run(job.id).state is JobState.DONE
        now = [replace(page, id=old) for old, page in zip(given, then[:200], strict=False)] + first[200:]
        assert clusters(client, name) == scanned(now, name)
        put(client, name, {page.id: action_of(page, name)["_source"] for page in then[200:]})
        runner.run(start_follow(site, once=True)[0].id)
        assert site.tend_statistics() is None, "following has let statistics follow"
        assert clusters(client, name) == scanned([*now, *then[200:]], name)
        assert audit(site).clean
