"""The whole path on Elasticsearch says what it says on the embedded index, page for page."""

import json
import lzma
import os
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from elasticsearch import Elasticsearch

from es_dedup import Deduplicator, Page
from es_dedup.errors import IndexReadOnly
from tests.servers import fresh_name, remove, url_of

SAMPLES = Path(__file__).parents[2] / "samples" / "pages"
DATA = Path(os.environ.get("ES_DEDUP_DATA", "no such folder"))
REAL_PAGES = 5_000
MADE_PAGES = 400


@pytest.fixture
def address() -> Iterator[str]:
    url = f"{url_of('es8')}/{fresh_name()}"
    yield url
    remove(url)


@pytest.fixture
def both(address: str) -> Iterator[tuple[Deduplicator, Deduplicator]]:
    with Deduplicator.open(":memory:") as embedded, Deduplicator.open(address) as elastic:
        yield embedded, elastic


def samples() -> list[Page]:
    files = sorted(SAMPLES.rglob("*.html"))
    return [Page(id=file.relative_to(SAMPLES).as_posix(), html=file.read_bytes()) for file in files]


def made_up(count: int, seed: int) -> list[Page]:
    """Pages of random clauses; about a third are changed copies of earlier ones, exact, cut or extended."""
    source = random.Random(seed)
    letters = [chr(code) for code in range(0x4E00, 0x4E00 + 900)]

    def clause() -> str:
        return "".join(source.choices(letters, k=source.randint(8, 22)))

    bodies: list[list[str]] = []
    for _ in range(count):
        kind = source.random()
        if bodies and kind < 0.1:
            body = list(source.choice(bodies))
        elif bodies and kind < 0.2:
            old = source.choice(bodies)
            body = [*old[: max(3, len(old) * 2 // 3)]]
        elif bodies and kind < 0.35:
            body = [*source.choice(bodies), *(clause() for _ in range(source.randint(1, 30)))]
        else:
            body = [clause() for _ in range(source.randint(6, 30))]
        bodies.append(body)
    return [
        Page(
            id=f"made/{number:04}",
            text="，".join(body[:2]) + "。" + "。".join(body[2:]) + "。",
            title=body[0],
            url=f"https://site{number % 7}.example/{number}",
            published=f"2026-0{1 + number % 9}-1{number % 10}T08:00:00",
        )
        for number, body in enumerate(bodies)
    ]


def real_pages(count: int) -> list[Page]:
    with lzma.open(DATA / "news-zh-2025.jsonl.xz", "rt", encoding="utf8") as lines:
        rows = [json.loads(line) for line, _ in zip(lines, range(count), strict=False)]
    return [
        Page(id=str(row["id"]), text=row["text"], title=row.get("title"), url=row.get("url"))
        for row in rows
        if row.get("text")
    ]


def clusters_of(dedup: Deduplicator) -> list[Any]:
    return [
        (cluster.id, cluster.canonical, cluster.members, cluster.contained_in) for cluster in dedup.clusters()
    ]


def decisions_of(dedup: Deduplicator, pages: Sequence[Page]) -> list[dict[str, Any]]:
    return [decision.as_dict() for decision in dedup.check_many(pages)]


def renamed(pages: Sequence[Page]) -> list[Page]:
    return [Page(id=f"new/{page.id}", html=page.html, text=page.text, title=page.title) for page in pages]


def assert_equal_results(
    both: tuple[Deduplicator, Deduplicator], pages: Sequence[Page], asked: Sequence[Page]
) -> None:
    reports = [dedup.scan(pages) for dedup in both]
    assert reports[0].outcomes == reports[1].outcomes
    assert reports[0].decisions == reports[1].decisions
    assert clusters_of(both[0]) == clusters_of(both[1])
    assert decisions_of(both[0], asked) == decisions_of(both[1], asked)


def test_the_samples_give_equal_results(both: tuple[Deduplicator, Deduplicator]) -> None:
    pages = samples()
    assert_equal_results(both, pages, renamed(pages))
    embedded, elastic = both
    pair = ("zhportal/bridge-opening.html", "jzdaily/bridge-cut.html")
    assert elastic.explain(*pair) == embedded.explain(*pair, also=["dwdcs"])
    assert elastic.text(pair[0]) == embedded.text(pair[0])
    for query in ("三桥", "ferry grounding", "猫头鹰", "no such word here"):
        here, there = (
            embedded.search(query, limit=200, collapse=False),
            elastic.search(query, limit=200, collapse=False),
        )
        assert {hit.page_id for hit in here.hits} == {hit.page_id for hit in there.hits}
        assert (here.total_documents, here.total_groups) == (there.total_documents, there.total_groups)


def test_page_by_page_with_changes_gives_equal_results(both: tuple[Deduplicator, Deduplicator]) -> None:
    pages = made_up(MADE_PAGES, seed=11)
    first, rest = pages[:300], pages[300:]
    for dedup in both:
        dedup.add_many(first)
    said = [[dedup.add_many(rest[at : at + 25]) for at in range(0, len(rest), 25)] for dedup in both]
    for here, there in zip(*said, strict=True):
        assert here.outcomes == there.outcomes
        assert here.decisions == there.decisions
    assert clusters_of(both[0]) == clusters_of(both[1])
    gone = [page.id for page in pages[::9]]
    assert both[0].remove(gone) == both[1].remove(gone)
    changed = Page(id=pages[1].id, text=pages[5].text, title="another title")
    assert both[0].update(changed) == both[1].update(changed)
    assert clusters_of(both[0]) == clusters_of(both[1])
    for dedup in both:
        dedup.recluster()
    assert clusters_of(both[0]) == clusters_of(both[1])


@pytest.mark.parametrize("policy", ["skip", "overwrite"])
def test_policies_leave_the_same_pages(both: tuple[Deduplicator, Deduplicator], policy: str) -> None:
    pages = made_up(120, seed=5)
    for dedup in both:
        dedup.add_many(pages[:60])
    reports = [dedup.add_many(pages[60:], policy=policy) for dedup in both]
    assert reports[0].decisions == reports[1].decisions
    assert clusters_of(both[0]) == clusters_of(both[1])


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason="ES_DEDUP_DATA names no folder")
def test_real_pages_give_equal_results(both: tuple[Deduplicator, Deduplicator]) -> None:
    pages = real_pages(REAL_PAGES)
    assert len(pages) > REAL_PAGES * 0.8
    assert_equal_results(both, pages, renamed(pages[::10]))


class TestOpening:
    def test_two_objects_see_each_others_pages(self, address: str) -> None:
        with Deduplicator.open(address) as one, Deduplicator.open(address) as two:
            one.add_many(made_up(20, seed=1))
            two.add_many(made_up(40, seed=1)[20:])
            assert one.stats()["pages"] == 40
            assert not one.clusters_pending


def test_clusters_stay_pending_where_their_write_is_refused(address: str) -> None:
    """The request that writes clusters also removes the note, from another index, which takes it."""
    with Deduplicator.open(address) as dedup, Elasticsearch(url_of("es8")) as client:
        dedup.scan(made_up(20, seed=1))
        clusters = f"{address.rpartition('/')[2]}-dedup-clusters"
        client.indices.put_settings(index=clusters, settings={"index.blocks.write": True})
        with pytest.raises(IndexReadOnly):
            dedup.add(Page("later", text="A page that comes while clusters cannot be written. " * 9))
        client.indices.put_settings(index=clusters, settings={"index.blocks.write": None})
        assert dedup.clusters_pending
        dedup.recluster()
        assert dedup.cluster("later").size == 1
