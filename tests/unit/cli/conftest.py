"""A stand-in for the pipeline, so that the command line is tested without one: equal texts are exact duplicates."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import pytest

from es_dedup.detectors.page_features import PageFeatures
from es_dedup.errors import SettingsDiffer, UnknownPage
from es_dedup.index.records import FeatureRecord
from es_dedup.model import (
    AddReport,
    Cluster,
    Decision,
    Member,
    Outcome,
    Page,
    PairDecision,
    Progress,
    Relation,
    RemoveReport,
    SearchHit,
    SearchResult,
    Verdict,
    WritePolicy,
)
from es_dedup.model.cluster_lists import ClusterSummary
from es_dedup.readers import Roots

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from es_dedup.model.cluster_lists import ClusterQuery
    from es_dedup.settings import Settings


class FakeDeduplicator:
    """The part of the pipeline that commands use, over a JSON file."""

    on_scan: ClassVar[Callable[[], None] | None] = None
    clusters_pending: ClassVar[bool] = False
    settings_differ: ClassVar[SettingsDiffer | None] = None

    def __init__(self, path: str, *, read_only: bool) -> None:
        self.path, self.read_only = path, read_only
        there = path != ":memory:" and Path(path).exists()
        self.pages: dict[str, str] = json.loads(Path(path).read_text(encoding="utf-8")) if there else {}

    @classmethod
    def open(cls, path: str, *, settings: Settings | None = None, read_only: bool = False) -> Self:
        return cls(path, read_only=read_only)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def overrides_of(self, page_ids: Iterable[str]) -> dict[str, list[Any]]:
        assert list(page_ids)
        return {}

    def close(self) -> None:
        if not self.read_only and self.path != ":memory:":
            Path(self.path).write_text(json.dumps(self.pages), encoding="utf-8")

    def scan(
        self,
        pages: Iterable[Page],
        *,
        progress: Callable[[Progress], None] | None = None,
        dry_run: bool = False,
    ) -> AddReport:
        if FakeDeduplicator.on_scan is not None:
            FakeDeduplicator.on_scan()
        return self.add_many(pages, progress=progress, dry_run=dry_run)

    def add_many(
        self,
        pages: Iterable[Page],
        *,
        policy: WritePolicy = WritePolicy.MARK,
        progress: Callable[[Progress], None] | None = None,
        dry_run: bool = False,
    ) -> AddReport:
        decisions, read, stored = {}, 0, 0
        for page in pages:
            read += 1
            decision = self.check(page)
            if decision.outcome is not Outcome.UNIQUE:
                decisions[page.id] = decision
            if not dry_run and not (decisions.get(page.id) and policy is WritePolicy.SKIP):
                self.pages[page.id] = page.text or str(page.html)
                stored += 1
            if progress is not None:
                progress(Progress("read", read))
        return AddReport(read, stored, decisions=decisions, seconds={"read": 0.5})

    def check(self, page: Page) -> Decision:
        text = page.text or str(page.html)
        twin = next(
            (other for other in sorted(self.pages) if self.pages[other] == text and other != page.id), None
        )
        if twin is None:
            return Decision(page.id, Outcome.UNIQUE, page.id)
        pair = PairDecision(page.id, twin, Relation.EXACT, 1.0, "same text", {"cover": 1.0, "min_cover": 0.6})
        return Decision(page.id, Outcome.DUPLICATE, twin, twin, verdicts=(pair,))

    def check_many(self, pages: Iterable[Page]) -> list[Decision]:
        return [self.check(page) for page in pages]

    def remove(self, ids: Iterable[str]) -> RemoveReport:
        known = [page for page in ids if self.pages.pop(page, None) is not None]
        return RemoveReport(len(known), tuple(page for page in ids if page not in known))

    def would_remove(self, ids: Iterable[str]) -> RemoveReport:
        found = {page: self.cluster(page) for page in ids if page in self.pages}
        clusters = {each.id for each in found.values() if each.size > 1}
        return RemoveReport(len(found), tuple(page for page in ids if page not in found), len(clusters))

    def features(self, page: str | Page, *, also: Sequence[str] = ()) -> PageFeatures:
        text = page.text if isinstance(page, Page) else self.text(page)
        return PageFeatures(
            page.id if isinstance(page, Page) else page, "", "stored", 10, "", {"ccdet": [text]}
        )

    def explain(self, left: str | Page, right: str | Page, *, also: Sequence[str] = ()) -> PairDecision:
        texts = [page.text if isinstance(page, Page) else self.text(page) for page in (left, right)]
        names = [page.id if isinstance(page, Page) else page for page in (left, right)]
        same = texts[0] == texts[1]
        relation = Relation.EXACT if same else Relation.DIFFERENT
        verdict = Verdict("ccdet", relation, float(same), {"ccs": float(same), "min_ccs": 0.6})
        return PairDecision(
            names[0], names[1], relation, float(same), "by text", {"cover": float(same)}, (verdict,)
        )

    def ids_of(self, names: Iterable[str]) -> dict[str, list[str]]:
        return {name: [name] for name in names}

    def aligned(self, left_id: str, right_id: str) -> list[Any]:
        return []

    def candidates(self, page_id: str) -> list[str]:
        return [page for page in self.pages if page != page_id and self.pages[page] == self.pages[page_id]]

    def cluster(self, page_id: str) -> Cluster:
        text = self.text(page_id)
        first, *others = sorted(page for page in self.pages if self.pages[page] == text)
        return Cluster(first, first, tuple(Member(page, Relation.EXACT, 1.0) for page in others))

    def clusters(self, *, min_size: int = 1) -> Iterator[Cluster]:
        for page in sorted(self.pages):
            cluster = self.cluster(page)
            if cluster.id == page and cluster.size >= min_size:
                yield cluster

    def list_clusters(self, query: ClusterQuery, *, limit: int = 50) -> list[ClusterSummary]:
        found = sorted(self.clusters(min_size=query.min_size), key=lambda each: -each.size)
        return [
            ClusterSummary(each.id, each.canonical, each.size, "", 1.0, each.id) for each in found[:limit]
        ]

    def clusters_of(self, summaries: Iterable[ClusterSummary]) -> list[Cluster]:
        return [self.cluster(each.id) for each in summaries]

    def search(self, query: str, *, limit: int = 10, offset: int = 0, collapse: bool = True) -> SearchResult:
        found = [page for page in sorted(self.pages) if query in self.pages[page]]
        groups = [page for page in found if self.cluster(page).id == page] if collapse else found
        hits = tuple(
            SearchHit(page, 1.0, "", "", page, len(found) - 1) for page in groups[offset : offset + limit]
        )
        return SearchResult(hits, len(groups), len(found))

    def record(self, page_id: str) -> FeatureRecord:
        return FeatureRecord(page_id, len(self.text(page_id)), 1, (), b"", title=f"title of {page_id}")

    def records(self) -> Iterator[FeatureRecord]:
        return map(self.record, sorted(self.pages))

    def records_of(self, page_ids: Iterable[str]) -> dict[str, FeatureRecord]:
        return {page_id: self.record(page_id) for page_id in page_ids}

    def texts_of(self, page_ids: Iterable[str]) -> dict[str, str]:
        return {page_id: self.text(page_id) for page_id in page_ids}

    def text(self, page_id: str) -> str:
        if page_id not in self.pages:
            raise UnknownPage(page_id)
        return self.pages[page_id]

    def roots(self) -> Roots:
        return Roots()

    def record_roots(self, roots: Roots) -> None:
        pass

    def count(self) -> int:
        return len(self.pages)

    def stats(self) -> dict[str, object]:
        sizes = Counter(self.pages.values())
        return {
            "pages": len(self.pages),
            "clusters": sum(n > 1 for n in sizes.values()),
            "clusters_pending": self.clusters_pending,
        }


@pytest.fixture(autouse=True)
def fake_pipeline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> type[FakeDeduplicator]:
    """The stand-in in place of ``es_dedup.deduplicator.deduplicator``, in an empty folder."""
    module = ModuleType("es_dedup.deduplicator.deduplicator")
    module.Deduplicator = FakeDeduplicator  # type: ignore[attr-defined]  # a module made by hand
    monkeypatch.setitem(sys.modules, "es_dedup.deduplicator.deduplicator", module)
    monkeypatch.setattr(FakeDeduplicator, "on_scan", None)
    monkeypatch.setattr(FakeDeduplicator, "clusters_pending", False)
    monkeypatch.setattr(FakeDeduplicator, "settings_differ", None)
    monkeypatch.chdir(tmp_path)
    return FakeDeduplicator
