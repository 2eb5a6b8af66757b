"""The methods of the sources against their slow references on 200 real pages, and pairs of them: nothing may differ."""

import json
import lzma
import os
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from es_dedup.detectors.ccdet import Ccdet, learn_noise, period_table
from es_dedup.detectors.coverage_features import COMPLETE, build
from es_dedup.detectors.coverage_pairs import measure, uniform_weights
from es_dedup.detectors.fingerprint import hamming_distance
from es_dedup.detectors.simhash import band_terms, query_terms
from es_dedup.model import Content, Relation
from es_dedup.settings.sections import CcdetConfig, DwdcsConfig, MultiSimhashConfig
from es_dedup.text.idf import general
from es_dedup.text.normalise import normalise_many
from es_dedup.text.segment import JiebaSegmenter, NativeSegmenter
from es_dedup.text.synonyms import named
from tests.reference import ccdet as slow_ccdet
from tests.reference import coverage as slow_coverage
from tests.reference.normalise import normalise
from tests.twins import RELATIONS
from tests.unit.detectors import test_char_frequency as char_frequency
from tests.unit.detectors import test_dwdcs as dwdcs
from tests.unit.detectors import test_multi_simhash as multi_simhash
from tests.unit.detectors import test_simhash as simhash

pytestmark = [pytest.mark.data, pytest.mark.slow, pytest.mark.timeout(1_800)]

COUNT: Final = 200
LONGEST_CLAUSE: Final = 255
SET: Final = "portal-zh"
ENGLISH: Final = "judged-en"
SHORT: Final = 4_000


def folder() -> Path:
    found = Path(os.environ.get("ES_DEDUP_DATA", "nowhere"))
    if not found.is_dir():
        pytest.skip("ES_DEDUP_DATA names no folder")
    return found


def read(name: str, wanted: set[str]) -> dict[str, Content]:
    """Some pages of a set, by id."""
    with lzma.open(folder() / f"{name}.jsonl.xz", "rt", encoding="utf8") as lines:
        rows = [row for row in map(json.loads, lines) if row["id"] in wanted]
    # no set names sites; the stories of a set take their place where signatures are pruned by site
    return {
        row["id"]: Content(row["text"], row.get("title") or "", site=row.get("group") or "") for row in rows
    }


@pytest.fixture(scope="module")
def contents() -> list[Content]:
    """The first pages that the labels of a set name, so that many of them are related."""
    rows = (folder() / f"{SET}.pairs.tsv").read_text("utf8").splitlines()[1:]
    named = list(dict.fromkeys(page for row in rows for page in row.split("\t")[:2]))[:COUNT]
    found = list(read(SET, set(named)).values())
    assert len(found) == COUNT
    return found


@pytest.fixture(scope="module")
def texts(contents: list[Content]) -> list[str]:
    """Their texts, normalised by the reference."""
    return [normalise(content.text) for content in contents]


PAIRS: Final = list(combinations(range(COUNT), 2))


@pytest.fixture(scope="module")
def english() -> list[Content]:
    """Short English pages that the labels name."""
    rows = (folder() / f"{ENGLISH}.pairs.tsv").read_text("utf8").splitlines()[1:]
    found = read(ENGLISH, {page for row in rows for page in row.split("\t")[:2]}).values()
    return [content for content in found if len(content.text) < SHORT]


@pytest.mark.parametrize("prune", ["none", "site"])
def test_every_pair(contents: list[Content], texts: list[str], prune: str) -> None:
    config = CcdetConfig.model_validate({"prune": prune})
    signed = [slow_ccdet.period_signatures(text) for text in texts]
    named = {str(at): page for at, page in enumerate(signed)}
    table = period_table(normalise_many([content.text for content in contents]), config.window)
    assert table.totals.tolist() == [len(page) for page in signed]
    sites = [content.site for content in contents]
    dropped: frozenset[str] = frozenset()
    if prune == "site":
        dropped = slow_ccdet.pruned_by_site(named, dict(zip(named, sites, strict=True)))
    noise = learn_noise(table, sites, config)
    assert len(noise) == len(dropped)
    detector = Ccdet(config, noise)
    shown = ("common", "left_signatures", "right_signatures")
    related = 0
    for left, right in PAIRS:
        found = detector.verify(table.row(left), table.row(right))
        expected = slow_ccdet.decide_pages(signed[left], signed[right], dropped)
        counts = [len(signed[page] - dropped) for page in (left, right)]
        assert found.relation is RELATIONS[expected.relation], (left, right)
        assert (found.score, [found.evidence[name] for name in shown]) == (
            expected.ccs,
            [expected.common, *counts],
        )
        related += found.relation is not Relation.DIFFERENT
    assert related > 100


@pytest.mark.parametrize("features", ["grams", "words", "words-tfidf"])
def test_simhash(contents: list[Content], features: str) -> None:
    found = simhash.check_votes([content.text for content in contents], features, general())
    near = 0
    for one, other in combinations([each for each in found if each is not None], 2):
        close = hamming_distance(one, other) <= 3
        assert not close or set(query_terms(one, 3)) & set(band_terms(other)), "the bands find it"
        near += close
    assert near > 5


class TestCoverage:
    def test_every_page(self, contents: list[Content], texts: list[str]) -> None:
        table = build([content.text for content in contents], [content.title for content in contents])
        for page, text in enumerate(texts):
            units = [1 if slow_coverage.is_cjk(token[0]) else 2 for token in slow_coverage.tokens(text)]
            assert table.tokens[page] == sum(units)
            for kind, expected in (
                ("gram", set(slow_coverage.grams(text))),
                ("clause", set(slow_coverage.clauses(text))),
            ):
                offsets = getattr(table, f"{kind}_offsets")
                kept = int(offsets[page + 1] - offsets[page])
                whole = getattr(table, f"{kind}_threshold")[page] == COMPLETE
                assert kept == len(expected) if whole else kept < len(expected)

    def test_every_pair_of_pages_with_all_clauses(self, contents: list[Content], texts: list[str]) -> None:
        table = build([content.text for content in contents], [content.title for content in contents])
        whole = [page for page in range(COUNT) if table.clause_threshold[page] == COMPLETE]
        places = np.array(list(combinations(whole, 2)), dtype=np.int64)
        weights = uniform_weights(table)
        measures = measure(table, places[:, 0], table, places[:, 1], weights, weights)
        said = [slow_coverage.clauses(text) for text in texts]
        for pair, (left, right) in enumerate(places.tolist()):
            if max(map(slow_coverage.clause_length, (*said[left], *said[right]))) > LONGEST_CLAUSE:
                continue  # a longer clause counts as this
            ours = slow_coverage.clause_cover(said[left], said[right])
            theirs = slow_coverage.clause_cover(said[right], said[left])
            assert measures.left.clause_cover[pair] == pytest.approx(ours)
            assert measures.right.clause_cover[pair] == pytest.approx(theirs)
        assert len(places) > 5_000


def test_char_frequency(contents: list[Content]) -> None:
    assert char_frequency.check_pairs([content.text for content in contents]) > COUNT - 10


def test_multi_simhash(contents: list[Content]) -> None:
    config = MultiSimhashConfig()
    multi_simhash.check([content.text for content in contents], config, named(config.synonyms))


@pytest.mark.parametrize("changes", [{}, {"window": 3}, {"synonyms": "none"}])
def test_dwdcs(contents: list[Content], english: list[Content], changes: dict[str, Any]) -> None:
    config = DwdcsConfig.model_validate(changes)
    synonyms = named(config.synonyms)
    assert dwdcs.check([content.text for content in contents], config, synonyms) > 150
    assert dwdcs.check([content.text for content in english], config, synonyms)


@pytest.mark.parametrize("name", ["portal-zh", "edits-zh", "news-zh-2025"])
def test_the_native_core_cuts_and_tags_labelled_pages_as_jieba(name: str) -> None:
    fast, plain = NativeSegmenter(), JiebaSegmenter()
    with lzma.open(folder() / f"{name}.jsonl.xz", "rt", encoding="utf8") as lines:
        texts = [normalise(json.loads(line)["text"]) for line in lines]
    words: set[str] = set()
    for text in texts:
        cut = plain.cut(text)
        assert fast.cut(text) == cut
        words.update(cut)
    assert len(words) > COUNT
    assert not [word for word in words if fast.tag(word) != plain.tag(word)]
