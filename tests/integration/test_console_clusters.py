"""The list of clusters in the console and the REST API: filters, orders, paging, on a file and on Elasticsearch."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from es_dedup import Deduplicator, Page
from es_dedup.maintenance.status import JobStatus
from es_dedup.model import Relation, Scope
from es_dedup.model.cluster_lists import ClusterOrder, ClusterQuery
from es_dedup.views import clusters, overview
from es_dedup.views.frame import Visitor
from tests.serving import EVERYWHERE, TEXT, serving

READER = Visitor()
HOSTILE = "<script>alert(1)</script>\u202e\u200b\x00\" onload='x' "


@pytest.fixture
def dedup(place: str) -> Iterator[Deduplicator]:
    """Three clusters: ``a`` of three copies, ``d`` of two versions, ``h`` of two copies with hostile metadata; and a page alone."""
    words = [f"{TEXT} The ship of day {number} came from harbour {number * 7}." for number in range(12)]
    long = " ".join(words)
    pages = [
        Page(id="a", text=TEXT, site="x.org", published="2026-01-01"),
        Page(id="b", text=TEXT, site="y.org", published="2026-02-01"),
        Page(id="c", text=TEXT, site="x.org", published="2026-02-02"),
        Page(id="d", text=long, site="y.org", published="2026-04-01"),
        Page(
            id="e",
            text=long.replace("day 3", "Tuesday") + " It was repaired.",
            site="x.org",
            published="2026-04-02",
        ),
        Page(id="h", text=HOSTILE * 20, site=HOSTILE, title=HOSTILE),
        Page(id="i", text=HOSTILE * 20, site=HOSTILE, title="t" * 100_000),
        Page(id="z", text="Nobody has seen the mayor of the upper town since the flood of last March."),
    ]
    with Deduplicator.open(place) as dedup:
        dedup.scan(pages)
        yield dedup


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (ClusterQuery(), "adh"),
        (ClusterQuery(order=ClusterOrder.LARGEST), "adh"),
        (ClusterQuery(order=ClusterOrder.NEWEST), "dah"),
        (ClusterQuery(order=ClusterOrder.CONFIDENCE), "dah"),
        (ClusterQuery(relation=Relation.DUPLICATE), "d"),
        (ClusterQuery(scope=Scope("y.org", published_to="2026-03")), "a"),
    ],
)
def test_the_list_of_the_console(dedup: Deduplicator, query: ClusterQuery, expected: str) -> None:
    shown = clusters.listed(dedup, READER, query, None).decode()
    assert "".join(re.findall(r"/console/clusters/(\w)", shown)) == expected
    assert ("compare?left=d&amp;right=e" in shown) == ("d" in expected)
    first = dedup.list_clusters(query, limit=1)[0]
    rest = clusters.listed(dedup, READER, query, query.cursor(first)).decode()
    assert "".join(re.findall(r"/console/clusters/(\w)", rest)) == expected[1:]
    assert "<script>a" not in shown
    assert not re.search("[\x00\u202e]", shown)
    assert len(shown) < 20_000


@EVERYWHERE
def test_the_overview_has_the_newest_and_where_duplicates_come_from(dedup: Deduplicator) -> None:
    shown = overview.overview(dedup, READER, []).decode()
    assert re.findall(r"/console/clusters/(\w)", shown) == ["d", "a", "h"]
    assert "<td>root</td>" not in shown
    assert "y.org: 1 duplicates" in shown
    assert "x.org: 2 duplicates" in shown
    assert "26-02: 2 duplicates" in shown
    assert "各站点的重复页面" in overview.overview(dedup, Visitor("zh"), []).decode()
    assert dedup.stats()["duplicates"] == 4


def tasks(dedup: Deduplicator, jobs: Sequence[JobStatus] = ()) -> list[str]:
    """What the overview begins with."""
    shown = overview.overview(dedup, READER, jobs).decode()
    return [re.sub("<[^>]+>", "", each) for each in re.findall("<li>(.*?)</li>", shown)]


def test_the_overview_begins_with_what_needs_attention(
    dedup: Deduplicator, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tasks(dedup) == []
    monkeypatch.setattr(overview, "LOW", 0.99)
    (low,) = tasks(dedup)
    assert low == "Clusters with low agreement: 1 – review"
    dedup.override_same("d", "e", reason="read", author="mz")
    assert tasks(dedup) == []
    dedup.undo_override(dedup.overrides()[0].id, author="mz")
    abandoned = JobStatus("j1", "backfill", "abandoned", "", 0, 0, 0, None, 0, {}, "")
    assert tasks(dedup, [abandoned]) == ["Abandoned jobs: 1 – resume them", low]
    dedup.add(Page(id="new", text="A page that came after the statistics were learned from all the others."))
    assert "Pages added since the corpus statistics were learned: 1 / 9 – recluster" in tasks(dedup)


def test_a_cluster_names_its_order_and_what_people_decided(dedup: Deduplicator) -> None:
    shown = clusters.one(dedup, READER, "b", 0, "").decode()
    assert "Canonical by the order: earliest" in shown
    assert "Canonical by the order" not in clusters.one(dedup, READER, "z", 0, "").decode()
    dedup.override_canonical("c", reason=HOSTILE, author="mz")
    shown = clusters.one(dedup, Visitor("zh"), "b", 0, "").decode()
    assert "由 mz 设为代表页：&lt;script&gt;" in shown
    assert shown.count("100 %</td>") == 4
    assert (shown.count("<line "), shown.count("<circle ")) == (3, 4)


@EVERYWHERE
def test_the_routes_take_the_same_filters(dedup: Deduplicator, place: str, tmp_path: Path) -> None:
    given: dict[str, Any] = {"site": "x.org", "published_from": "2026-02", "published_to": "", "relation": ""}
    with serving(place, tmp_path / "server") as api:
        found = api.get("/v1/clusters", params={**given, "order": "newest", "limit": 1}).json()
        assert [(each["id"], each["size"]) for each in found["clusters"]] == [("d", 2)]
        assert 0.5 < found["clusters"][0]["confidence"] < 1
        further = api.get("/v1/clusters", params={**given, "order": "newest", "after": found["next"]}).json()
        assert ([each["id"] for each in further["clusters"]], further["next"]) == (["a"], None)
        for wrong in (
            {"order": "x"},
            {"published_to": "May"},
            {"order": "largest", "after": "x"},
            {"relation": "contains"},
        ):
            assert api.get("/v1/clusters", params=wrong).status_code == 400
        with httpx.Client(base_url=api.address, trust_env=False, timeout=60) as client:
            client.post("/console/sign-in", data={"token": api.tokens["read"], "to": "/console"})
            shown = client.get(
                "/console/clusters", params={**given, "order": "confidence", "min_size": 2}
            ).text
            assert re.findall(r"/console/clusters/(\w)", shown) == ["d", "a"]
            assert 'value="x.org"' in shown
            assert '<option value="confidence" selected>' in shown
