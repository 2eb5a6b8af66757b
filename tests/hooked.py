"""Documents for tests of the hook, and what the user's index then says of them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from es_dedup.hook import SourceFields
from tests.samples import story

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from elasticsearch import Elasticsearch

    from es_dedup import Page
    from es_dedup.hook import DedupHook, HookReport

FIELDS: Final = SourceFields("text", url="url", published="published", site="site")


class Inline:
    """A dispatcher that decides at once, in this thread."""

    def __init__(self, hook: DedupHook) -> None:
        self._hook = hook

    def ingest(self, page_ids: Sequence[str]) -> None:
        """See ``Dispatcher.ingest``."""
        self._hook.decide(page_ids)


def action_of(page: Page, name: str, **more: Any) -> dict[str, Any]:
    """A bulk action that indexes a page."""
    source = {"text": page.text, "title": page.title, "published": page.published, "site": page.site}
    return {"_index": name, "_id": page.id, "_source": source, **more}


def five(name: str) -> list[dict[str, Any]]:
    """Three stories, and two copies of the first."""
    copies = [story(0, f"copy-{n}", day=2 + n) for n in range(2)]
    return [action_of(page, name) for page in (*map(story, range(3)), *copies)]


def dedup_fields(client: Elasticsearch, name: str) -> dict[str, dict[str, Any]]:
    """The object ``dedup`` of each document, without what is empty."""
    client.indices.refresh(index=name)
    hits = client.search(index=name, size=10_000)["hits"]["hits"]
    return {
        hit["_id"]: {
            key: value for key, value in hit["_source"].get("dedup", {}).items() if value is not None
        }
        for hit in hits
    }


def clusters(client: Elasticsearch, name: str) -> set[frozenset[str]]:
    """Documents by cluster; each cluster has one canonical document, which alone knows its size."""
    found = dedup_fields(client, name)
    groups: dict[str, list[str]] = {}
    for document, dedup_field in found.items():
        groups.setdefault(dedup_field["cluster_id"], []).append(document)
    for group in groups.values():
        assert sum(found[document]["canonical"] for document in group) == 1, group
        assert [found[each]["cluster_size"] for each in group if "cluster_size" in found[each]] == [
            len(group)
        ], group
        assert next(found[each]["canonical"] for each in group if "cluster_size" in found[each]), group
    return {frozenset(group) for group in groups.values()}


STORIES = {frozenset({"story-0", "copy-0", "copy-1"}), frozenset({"story-1"}), frozenset({"story-2"})}


def slowly(name: str, report: HookReport) -> Iterator[dict[str, Any]]:
    """An input that gives its second document once the first one is written."""
    yield five(name)[0]
    until_written(report)
    yield five(name)[1]


def until_written(report: HookReport) -> None:
    """Wait for the first batch."""
    for _ in range(600):
        if report.written:
            break
        time.sleep(0.05)
