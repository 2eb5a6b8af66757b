"""How many documents does the hook leave undecided in a new index, and which related pairs does it miss without saying so?

The first pages of a set are written by ``dedup_bulk`` into an empty index. The pairs it has related are then compared with those
of a comparison of all pairs of the first pages (``--all-pairs``). A missed pair is reported where the decision on one of its
pages is inconclusive or has a note. Needs a server, see ``scripts/servers``.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Final

from bench_hook import FIELDS, action_of
from elasticsearch import Elasticsearch
from harness import Row, data_file, page_of, parser_of, report, rows_of, server_url, temporary_index
from traced import Trace

from es_dedup.batch.learning import EffectiveSettings
from es_dedup.decision.candidate_search import CandidateSearch
from es_dedup.hook import DedupHook, HookReport, dedup_bulk
from es_dedup.index.factory import open_index
from es_dedup.settings import load_settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from es_dedup import Page, Settings

SETS: Final = ("portal-zh", "broadcast-zh", "news-zh-2025")
DEFAULT: Final = "default"
AT_A_TIME: Final = 20  # pages compared with all others


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark."""
    parser = parser_of(__doc__)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--presets", nargs="+", default=(DEFAULT, "papers"))
    parser.add_argument("--chunks", nargs="+", type=int, default=(100, 500), help="documents of a batch")
    parser.add_argument("--pages", type=int, default=5_000, help="first so many of a set")
    parser.add_argument("--all-pairs", type=int, default=600, help="pages of which all pairs are compared")
    given = parser.parse_args(arguments)
    url = server_url()
    found = [
        measured(url, pages, (name, preset, chunk), given.all_pairs)
        for name in given.sets
        for pages in [pages_of(rows_of(data_file(given.data, f"{name}.jsonl.xz"), given.pages))]
        for preset in given.presets
        for chunk in given.chunks
    ]
    report("Documents left undecided by the hook in a new index", found, given.json, {"goal": "1 %"})
    return 0


def pages_of(rows: Sequence[Row]) -> list[Page]:
    """The pages, the last of each id."""
    return list({page.id: page for page in map(page_of, rows)}.values())


def measured(url: str, pages: Sequence[Page], run: tuple[str, str, int], most: int) -> Row:
    """One run: a set, a preset and the documents of a batch."""
    kind, preset, chunk = run
    overrides = {} if preset == DEFAULT else {"decision.preset": preset}
    settings, said, trace = load_settings(overrides=overrides, environ={}), HookReport(), Trace(None)
    with Elasticsearch(url, request_timeout=120) as client, temporary_index(client) as name:
        with DedupHook.open(f"{url}/{name}", FIELDS, settings=settings) as hook:
            actions = [action_of(page, name) for page in pages]
            begun = time.perf_counter()
            with trace.batch(-(-len(pages) // chunk)):
                dedup_bulk(client, actions, hook=hook, report=said, chunk_size=chunk)
            seconds = time.perf_counter() - begun
        client.indices.refresh(index=name)
        waiting = client.count(index=name, query={"term": {"dedup.waiting": True}})["count"]
        names = [f"{name}/{page.id}" for page in pages[:most]]
        missed, silent, related = against_all_pairs(f"{url}/{name}", names, settings, said)
    return {
        "set": kind,
        "preset": preset,
        "batches of": chunk,
        "documents": len(pages),
        "waiting": waiting,
        "waiting %": round(100 * waiting / len(pages), 2),
        "cut lists": said.truncated,
        "pairs a page": round(said.pairs_compared / len(pages), 1),
        "requests a batch": round(trace.requests / trace.batches, 1),
        "pages/s": round(len(pages) / seconds),
        "related": related,
        "missed": missed,
        "unreported": silent,
    }


def against_all_pairs(
    address: str, names: Sequence[str], settings: Settings, said: HookReport
) -> tuple[int, int, int]:
    """Related pairs of these pages without an edge; of these, those on whose pages nothing is reported; and all related pairs."""
    index = open_index(address, settings)
    try:
        index.refresh()  # edges are found by searches
        in_force = EffectiveSettings.read(index, settings, None, None)
        search = CandidateSearch(index, in_force.settings, in_force.statistics)
        related = set(all_related(search, names))
        known = {(edge.left, edge.right) for edge in index.edges_of(names)}
    finally:
        index.close()
    missed = related - known
    reported = {*said.inconclusive, *(name for name, each in said.decisions.items() if each.notes)}
    return len(missed), sum(not reported & {*pair} for pair in missed), len(related)


def all_related(search: CandidateSearch, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Every related pair, the smaller id first."""
    for start in range(0, len(names), AT_A_TIME):
        some = search.load(names[start : start + AT_A_TIME])
        for edge in search.among(some, [[each for each in names if each != own] for own in some.ids]).edges():
            yield edge.left, edge.right


if __name__ == "__main__":
    sys.exit(main())
