"""Features on Elasticsearch in named fields: what a document shows, what plain queries find, and that retrieval rests on them."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from es_dedup import Deduplicator, Page
from es_dedup.detectors import registry
from es_dedup.detectors.named_fields import STORED, named_fields
from es_dedup.detectors.port import Detector
from es_dedup.errors import ConfigError, SettingsMismatch
from es_dedup.model import CandidateQuery, Content, Relation, Skipped, TermGroup, Verdict
from es_dedup.settings import Settings
from es_dedup.text.hashing import hash64, tagged_terms
from es_dedup.text.normalise import normalise
from experiments.comparators.minhash import Minhash
from tests.samples import pages as sample_pages
from tests.servers import client_of

METHODS = ("ccdet", "simhash", "coverage", "dwdcs", "multi_simhash", "char_frequency", Minhash.name)
HIDDEN = ("coverage_grams", "coverage_clauses", "other_terms", "payload")
LEFT, RIGHT = "zhportal/bridge-opening.html", "forum/bridge-excerpt.html"
REPRINT = "epaper/bridge-reprint.html"


def given(methods: Sequence[str], *, named: bool = True) -> Settings:
    return Settings.model_validate({"detectors": list(methods), "elastic": {"named_fields": named}})


def sources(address: str) -> dict[str, dict[str, Any]]:
    url, _, name = address.rpartition("/")
    with client_of(url) as client:
        found = client.search(index=f"{name}-dedup-features", size=1000, expand_wildcards="all")
    return {hit["_id"]: hit["_source"] for hit in found["hits"]["hits"]}


def ids(address: str, query: dict[str, Any]) -> list[str]:
    """Pages that a plain query finds, best first."""
    url, _, name = address.rpartition("/")
    with client_of(url) as client:
        found = client.search(index=f"{name}-dedup-features", query=query, expand_wildcards="all")
    return [hit["_id"] for hit in found["hits"]["hits"]]


def same_answers(address: str, settings: Settings, pages: Sequence[Page], *, counted: int) -> None:
    """A half is scanned, the rest added: candidates and decisions are those of the index in memory."""
    half = len(pages) // 2
    with (
        Deduplicator.open(address, settings=settings) as index,
        Deduplicator.open(":memory:", settings=settings) as plain,
    ):
        for dedup in (index, plain):
            dedup.scan(pages[:half])
        rest = pages[half:]
        assert index.add_many(rest, dry_run=True).outcomes == plain.add_many(rest, dry_run=True).outcomes
        assert index.check_many(rest) == plain.check_many(rest)
        for dedup in (index, plain):
            dedup.add_many(rest)
        names = [page.id for page in pages[::3]]
        looked = [dedup._lookup().of_stored(names) for dedup in (index, plain)]
        found = [sorted((edge.left, edge.right) for edge in each.edges()) for each in looked]
        assert found[0] == found[1]
        assert [each.pairs for each in looked] == [looked[0].pairs] * 2
        assert looked[0].pairs >= counted
        copies = [replace(page, id=f"copy of {page.id}") for page in pages[::3]]
        assert index.check_many(copies) == plain.check_many(copies)


def test_a_document_shows_the_features_of_each_method(own_address: str) -> None:
    settings = given(METHODS)
    (page,) = (page for page in sample_pages() if page.id == LEFT)
    with Deduplicator.open(own_address, settings=settings) as dedup:
        dedup.add_many([page, Page(id="empty", text="")])
        dedup._index.refresh()
        text = dedup.text(LEFT)
        expected = named_fields([text], [dedup.record(LEFT).title], settings)[0]
        assert dedup._index.named([LEFT, "none"]) == {LEFT: expected}
    documents = sources(own_address)
    found = documents[LEFT]
    assert found.items() >= expected.items()
    assert len(found["period_signatures"]) > 2
    dense = "".join(normalise(text).split())
    assert all(f"{each}。" in dense for each in found["period_signatures"])
    assert found["simhash"] == "".join(f"{found[f'simhash_band_{at}']:04x}" for at in range(4))
    assert found["key_concepts"] == [each["concept"] for each in found["key_concept_positions"]]
    assert not found.keys() & set(HIDDEN)
    assert not documents["empty"].keys() & expected.keys()


class Headings(Detector[tuple[str, ...]]):
    """A method of somebody else: pages with the same lines that end in a colon."""

    name, version = "headings", 1
    field_types: ClassVar[dict[str, str]] = {"headings": "keyword", "heading_lengths": "object"}
    term_fields: ClassVar[dict[int, tuple[str, ...]]] = {200: ("headings",), 201: ("heading_hashes",)}

    def featurise_many(self, contents: Sequence[Content]) -> list[tuple[str, ...] | Skipped]:
        lines = [[line for line in each.text.splitlines() if line.endswith("：")] for each in contents]
        return [tuple(dict.fromkeys(some)) if some else Skipped("no-headings") for some in lines]

    def _of(self, tag: int, page: tuple[str, ...]) -> tuple[int, ...]:
        hashes = np.array([hash64(line) for line in page], dtype=np.uint64)
        return tuple(tagged_terms(tag, hashes).tolist())

    def terms(self, page: tuple[str, ...]) -> tuple[int, ...]:
        return self._of(200, page) + self._of(201, page)

    def candidate_query(self, page: tuple[str, ...]) -> CandidateQuery:
        return CandidateQuery((TermGroup(self._of(200, page), 1),))

    def verify(self, left: tuple[str, ...], right: tuple[str, ...]) -> Verdict:
        same = set(left) == set(right)
        return Verdict(self.name, Relation.DUPLICATE if same else Relation.DIFFERENT, float(same), {})

    def pack(self, page: tuple[str, ...]) -> bytes:
        return "\n".join(page).encode()

    def unpack(self, payload: bytes) -> tuple[str, ...]:
        return tuple(payload.decode().split("\n"))

    def fields(
        self, contents: Sequence[Content | None], features: Sequence[tuple[str, ...] | None]
    ) -> list[dict[str, Any]]:
        return [
            {
                "headings": list(page),
                "heading_lengths": [{"line": line, "length": len(line)} for line in page],
            }
            if page
            else {}
            for page in features
        ]

    def labels(
        self, named: Sequence[Mapping[str, Any]], features: Sequence[tuple[str, ...] | None]
    ) -> list[dict[int, str]]:
        return [dict(zip(self._of(200, page or ()), page or (), strict=True)) for page in features]


def test_a_method_of_somebody_else_has_fields_of_its_own(
    own_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "_FACTORIES", dict(registry._FACTORIES))
    registry.register("headings", lambda _: Headings())
    settings = Settings.model_validate({"detectors": ["headings"], "decision": {"method": "headings"}})
    pages = [
        Page("a", text="水位：\n今天上升了三米。\n闸门：\n都已打开。"),
        Page("b", text="水位：\n明天会下降一些。\n闸门：\n都要关上。"),
        Page("c", text="天气：\n晴。"),
    ]
    with Deduplicator.open(own_address, settings=settings) as dedup:
        dedup.add_many(pages)
        assert dedup.check(Page("d", text="闸门：\n水位：")).cluster_id == "a"
        assert dedup.features("a").fields["headings"] == ["水位：", "闸门："]
        dedup._index.refresh()
    found = sources(own_address)["a"]
    assert found["headings"] == ["水位：", "闸门："]
    assert found["heading_lengths"] == [{"line": "水位：", "length": 3}, {"line": "闸门：", "length": 3}]
    assert "heading_hashes" not in found
    assert set(ids(own_address, {"term": {"headings": "水位："}})) == {"a", "b"}
    with Deduplicator.open(own_address, settings=settings, read_only=True) as dedup:
        assert dedup.candidates("a") == ["b"]


def test_a_method_that_names_no_features_cannot_be_stored_only(own_address: str) -> None:
    settings = Settings.model_validate({"elastic": {"also_stored": ["dwdcs", "minhash"]}})
    with pytest.raises(ConfigError, match="also_stored: minhash names no features"):
        Deduplicator.open(own_address, settings=settings)
    with Deduplicator.open(":memory:", settings=settings) as dedup:  # a file stores none of them
        dedup.add(Page("a", text="水位上升。"))


def test_the_queries_of_the_documents_find_near_duplicates(own_address: str) -> None:
    url, _, name = own_address.rpartition("/")
    text = (Path(__file__).parents[2] / "mappings" / "README.md").read_text(encoding="utf-8")
    text = text.replace("pages-dedup-features", f"{name}-dedup-features")
    bodies = [json.loads(body) for body in re.findall(r"_search[^\n]* -d '(.+?)'\n```", text, re.DOTALL)]
    assert len(bodies) == 3
    with Deduplicator.open(own_address) as dedup:
        dedup.scan(sample_pages())
        dedup._index.refresh()
    with client_of(url) as client:
        for body in bodies:
            found = client.search(index=f"{name}-dedup-features", **body)["hits"]["hits"]
            assert {"hkdaily/museum-slips.html", "epaper/museum-reprint.html"} <= {
                hit["_id"] for hit in found
            }


@pytest.mark.parametrize(
    "methods",
    [("ccdet", "simhash", "coverage", "dwdcs"), ("multi_simhash",), ("char_frequency",), ("ccdet",), METHODS],
)
def test_answers_are_those_of_the_index_in_memory(own_address: str, methods: tuple[str, ...]) -> None:
    same_answers(own_address, given(methods), list(sample_pages()), counted=20)


def test_without_named_fields_answers_are_the_same_and_nothing_is_shown(own_address: str) -> None:
    settings = given(METHODS, named=False)
    same_answers(own_address, settings, list(sample_pages()), counted=20)
    shown = set().union(*sources(own_address).values())
    assert shown <= {
        *(
            "page_id",
            "content_hash",
            "length",
            "payload_version",
            "published",
            "site",
            "language",
            "url",
            "title",
            "skipped",
        ),
        "indexed_at",
    }
    with Deduplicator.open(own_address, settings=given(METHODS), read_only=True) as dedup:
        assert dedup._index.named([LEFT]) == {LEFT: {}}  # how an index was made decides, not the setting
        assert RIGHT in dedup.candidates(LEFT)


def test_methods_that_are_only_stored_are_shown_and_decide_nothing(own_address: str) -> None:
    stored, bare = Settings(), Settings.model_validate({"elastic": {"also_stored": []}})
    pages = list(sample_pages())
    with Deduplicator.open(own_address, settings=stored) as dedup:
        dedup.scan(pages)
        features, decision = dedup.features(LEFT), dedup.explain(LEFT, REPRINT)
        clusters = [(each.id, each.members) for each in dedup.clusters()]
        found = dedup.candidates(LEFT)
    assert features.origin == STORED
    assert sources(own_address)[LEFT]["key_concepts"] == features.fields["key_concepts"]
    assert [verdict.detector for verdict in decision.verdicts] == ["ccdet", "simhash", "coverage", "dwdcs"]
    with Deduplicator.open(":memory:", settings=bare) as plain:
        plain.scan(pages)
        assert [(each.id, each.members) for each in plain.clusters()] == clusters
        assert plain.candidates(LEFT) == found
        assert {**features.as_dict(), "origin": ""} == {
            **plain.features(LEFT, also=("dwdcs",)).as_dict(),
            "origin": "",
        }
        assert [verdict.detector for verdict in plain.explain(LEFT, REPRINT).verdicts] == list(bare.detectors)
    with pytest.raises(SettingsMismatch, match="also_stored"):
        Deduplicator.open(own_address, settings=bare)
