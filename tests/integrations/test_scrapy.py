"""Crawls of a local site of sample pages by Scrapy: what is annotated, marked and dropped is what a scan finds."""

import functools
import http.server
import json
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pytest

from es_dedup import Deduplicator, Page
from es_dedup.index.embedded import EmbeddedIndex
from es_dedup.settings import Settings
from tests.processes import ended
from tests.samples import SAMPLES

pytest.importorskip("scrapy", reason="the extra scrapy is not installed")
pytestmark = [
    pytest.mark.integrations,
    pytest.mark.filterwarnings("ignore"),  # other packages warn of their own code
]
ROOT: Final = Path(__file__).parents[2]
FOLDERS: Final = ("zhportal", "hkdaily", "ennews")
PIPELINE: Final[dict[str, Any]] = {
    "ITEM_PIPELINES": {"es_dedup.scrapy.DedupPipeline": 300},
    "DEDUP_FIELDS": {"html": "body", "text": ""},  # no field of an item is its text
}
SETTINGS: Final = Settings(workers=1)


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files and listings of folders, without a log."""

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as the base class has it
        """Nothing."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a server of some sample pages."""
    folder = tmp_path_factory.mktemp("site")
    for name in FOLDERS:
        (folder / name).symlink_to(SAMPLES / "pages" / name, target_is_directory=True)
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


def clusters_of(dedup: Deduplicator) -> list[set[str]]:
    """The ids of each cluster."""
    return [{cluster.canonical, *(each.page_id for each in cluster.members)} for cluster in dedup.clusters()]


@pytest.fixture(scope="module")
def expected(site: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A scan of the same pages into ``index``: ids of all pages, and the duplicates of each cluster."""
    index = tmp_path_factory.mktemp("scan") / "pages.db"
    paths = [path for folder in FOLDERS for path in (SAMPLES / "pages" / folder).iterdir()]
    with Deduplicator.open(index, settings=SETTINGS) as dedup:
        urls = {f"{site}{path.parent.name}/{path.name}": path for path in paths}
        dedup.scan(Page(url, html=path.read_bytes(), url=url) for url, path in urls.items())
        clusters = clusters_of(dedup)
    return {"index": index, "urls": set(urls), "clusters": clusters}


def crawled(site: str, variants: dict[str, Any], **variables: str) -> dict[str, Any]:
    """Items and stats of crawls with some settings, by name; ``log`` has what was logged."""
    command = [sys.executable, "-m", "tests.integrations.crawl", site]
    command += [f"{name}={json.dumps(settings)}" for name, settings in variants.items()]
    done = ended(*command, cwd=ROOT, env=os.environ | {"ES_DEDUP_WORKERS": "1"} | variables, timeout=None)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found | {"log": done.stderr}


def test_a_crawl_finds_the_duplicates_of_a_scan(site: str, expected: dict[str, Any], tmp_path: Path) -> None:
    variants: dict[str, Any] = {
        "mark": PIPELINE | {"DEDUP_MODE": "mark"},
        "drop": PIPELINE | {"DEDUP_MODE": "drop", "DEDUP_BATCH_PAGES": 7},
    }
    for name, settings in variants.items():
        settings["DEDUP_INDEX"] = str(tmp_path / f"{name}.db")
    known = PIPELINE | {"DEDUP_INDEX": str(expected["index"]), "DEDUP_STORE": False}
    found = crawled(site, variants | {"known": known})
    assert "Traceback" not in found["log"]
    clusters: list[set[str]] = expected["clusters"]
    size = len(expected["urls"])
    duplicates = size - len(clusters)
    kept = {item["url"] for item in found["drop"]["items"]}
    assert all(cluster & kept for cluster in clusters)
    assert len(kept) + found["drop"]["stats"]["dedup/duplicate"] == size
    assert 0.9 * duplicates <= size - len(kept) <= duplicates  # statistics are learned while pages come
    assert found["drop"]["stats"]["item_dropped_count"] == found["drop"]["stats"]["dedup/duplicate"]
    marked = {item["url"]: item["duplicate_of"] for item in found["mark"]["items"]}
    assert marked.keys() == expected["urls"]
    assert all({url, other} <= cluster for cluster in clusters for url in cluster if (other := marked[url]))
    noted = {item["url"]: item["dedup"] for item in found["known"]["items"]}
    assert all(each["page_id"] == url for url, each in noted.items())
    assert {"duplicate", "unique"} <= {each["outcome"] for each in noted.values()}
    with Deduplicator.open(tmp_path / "mark.db", settings=SETTINGS) as dedup:
        dedup.recluster()
        assert sorted(map(sorted, clusters_of(dedup))) == sorted(map(sorted, clusters))


def test_no_item_is_lost_while_the_index_is_locked(
    site: str, expected: dict[str, Any], tmp_path: Path
) -> None:
    index = tmp_path / "pages.db"
    with ExitStack() as stack:
        dedup = stack.enter_context(Deduplicator.open(index, settings=SETTINGS))
        assert isinstance(dedup._index, EmbeddedIndex)
        stack.enter_context(dedup._index.writing())
        settings = PIPELINE | {"DEDUP_MODE": "drop", "DEDUP_INDEX": str(index)}
        found = crawled(site, {"locked": settings}, ES_DEDUP_INDEX__LOCK_SECONDS="0.1")
    assert {item["url"] for item in found["locked"]["items"]} == expected["urls"]
    assert found["locked"]["stats"]["dedup/undecided"] == len(expected["urls"])
    assert "pages pass undecided" in found["log"]


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({}, "DEDUP_INDEX must name an index file or http://host:9200/name"),
        (
            {"DEDUP_INDEX": ":memory:", "DEDUP_MODE": "skip"},
            "DEDUP_MODE must be one of annotate, mark, drop, not 'skip'",
        ),
        (
            {"DEDUP_INDEX": ":memory:", "DEDUP_FIELDS": {"body": "text"}},
            "DEDUP_FIELDS names 'body', which is none of id, text, html, url, title, published, site",
        ),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], problem: str) -> None:
    from scrapy.settings import Settings as ScrapySettings  # noqa: PLC0415 - of an extra

    from es_dedup.scrapy import DedupPipeline  # noqa: PLC0415

    with pytest.raises(ValueError, match=problem):
        DedupPipeline.from_crawler(SimpleNamespace(settings=ScrapySettings(settings)))
