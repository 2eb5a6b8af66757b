"""The hook beside the embedded index, in several processes at once, and as its guide shows it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from es_dedup import Deduplicator, Page, Settings
from es_dedup.hook import DedupHook, HookReport, dedup_bulk
from es_dedup.settings.recorded import STATISTICS
from tests.hooked import action_of, clusters, dedup_fields
from tests.samples import as_text, edges, pages, partition, story
from tests.servers import needs_elasticsearch
from tests.texts import article

if TYPE_CHECKING:
    from elasticsearch import Elasticsearch

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("document", "block", "printed"),
    [
        ("docs/how-to/put-the-hook-before-the-bulk-writer.md", 1, "duplicate NAME/a 1.0"),
        ("README.md", 2, "1 groups of 2"),
    ],
)
def test_what_a_document_shows_works(
    hook: DedupHook, client: Elasticsearch, address: str, name: str, document: str, block: int, printed: str
) -> None:
    needs_elasticsearch("place in this page")
    text = (ROOT / document).read_text(encoding="utf-8")
    code = text.split("```python\n")[block].split("```")[0]
    code = re.sub("http://localhost:920.", address.rpartition("/")[0], code).replace("pages", name)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == printed.replace("NAME", name)
    for shown in text.split("```json\n")[1:2]:
        assert dedup_fields(client, name)["b"] == json.loads(shown.split("```")[0].replace("pages", name))


@pytest.mark.parametrize("own", [0, 1], ids=["exact", "edited"])
@pytest.mark.parametrize("copies", [60, 250])
def test_copies_of_one_batch_do_not_push_out_the_page_that_was_stored_before(
    hook: DedupHook, client: Elasticsearch, name: str, copies: int, own: int
) -> None:
    """More copies than are compared first, then more than the postings of a term that is queried first."""
    wire = story(0, "zz-first")
    pages = [
        Page(f"copy-{at:03}", text=f"{wire.text}{article(500 + at, sentences=1) * own}", title=wire.title)
        for at in range(copies)
    ]
    dedup_bulk(client, [action_of(wire, name)], hook=hook)
    dedup_bulk(client, [action_of(page, name) for page in pages], hook=hook)
    assert clusters(client, name) == {frozenset((wire.id, *(page.id for page in pages)))}


def send(address: str, sent: int, copies: str, *, writers: int = 4) -> list[list[str]]:
    """Let processes send pages at once, each page by two of them; how many each left undecided."""
    started = [
        subprocess.Popen(
            [*(sys.executable, "-m", "tests.hook_writer"), *(address, *map(str, (n, writers, sent)), copies)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for n in range(writers)
    ]
    try:
        for process in started:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        said = []
        for process in started:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        for process in started:
            output, _ = process.communicate(timeout=280)
            assert process.returncode == 0
            said.append(output.split())
    finally:
        for process in started:
            process.kill()
            process.wait()
    return said


class TestAtOnce:
    @pytest.mark.parametrize("copies", ["same-id", "two-ids"])
    @pytest.mark.slow
    def test_pages_that_two_processes_send_at_once_have_one_canonical(
        self, address: str, hook: DedupHook, client: Elasticsearch, name: str, copies: str
    ) -> None:
        sent = 40
        said = send(address, sent, copies)
        if any(
            inconclusive != "0" for inconclusive, _ in said
        ):  # a machine so slow that the lock was waited for
            hook.recheck(name)
        found = clusters(client, name)
        assert len(found) == sent
        assert {len(group) for group in found} == ({1} if copies == "same-id" else {2})


class TestEqual:
    def test_the_samples_have_the_clusters_and_decisions_of_the_embedded_index(
        self, hook: DedupHook, client: Elasticsearch, name: str
    ) -> None:
        samples = [replace(as_text(page), id=f"{name}/{page.id}") for page in pages()]
        with Deduplicator.open(":memory:", settings=Settings(workers=1)) as embedded:
            embedded.scan(samples)
            index = hook._index
            snapshot = embedded._index.load_statistics()
            assert snapshot is not None
            index.save_statistics(snapshot)
            index.set_note(STATISTICS, embedded._index.note(STATISTICS))
            actions = [action_of(replace(page, id=page.id.partition("/")[2]), name) for page in samples]
            report = HookReport()
            dedup_bulk(client, actions, hook=hook, chunk_size=40, report=report)
            found = {
                frozenset(f"{name}/{document}" for document in group) for group in clusters(client, name)
            }
            assert found == partition(embedded)
            assert len(found) < len(samples)
            expected = set(edges(embedded))
        names = [page.id for page in samples]
        made = {(edge.left, edge.right, str(edge.relation), edge.score) for edge in index.edges_of(names)}
        same = ("exact", "duplicate")
        assert {edge for edge in made if edge[2] in same} == {edge for edge in expected if edge[2] in same}
        # A page that was there first is not asked again: of two pages that only it would have found, it does not hear.
        assert made <= expected
        assert len(made) >= 0.98 * len(expected)
        assert not report.inconclusive
        said = {page_id: each for page_id, each in report.decisions.items() if each.duplicate_of}
        assert len(said) >= len(samples) - len(found) - 5  # canonical documents that came later say so too
        assert all(each.verdicts for each in said.values())
