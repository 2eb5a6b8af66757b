"""The methods of the sources against their slow references on 200 real pages, and pairs of them: nothing may differ."""

import json
import lzma
import os
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
import xxhash

from es_dedup.detectors.ccdet import Ccdet, PeriodFeatures, learn_noise, period_table
from es_dedup.detectors.char_frequency import CharFrequency
from es_dedup.detectors.char_frequency_features import WORD
from es_dedup.detectors.coverage_features import COMPLETE, build
from es_dedup.detectors.coverage_pairs import measure, uniform_weights
from es_dedup.detectors.dwdcs import Dwdcs
from es_dedup.detectors.dwdcs_network import MASK, KeyConcepts
from es_dedup.detectors.multi_simhash import MultiSimhash, TwoFingerprints
from es_dedup.detectors.simhash import Fingerprint, Simhash, band_terms, query_terms
from es_dedup.model import Content, Relation, Skipped
from es_dedup.settings.sections import (
    CcdetConfig,
    CharFrequencyConfig,
    DwdcsConfig,
    MultiSimhashConfig,
    SimhashConfig,
)
from es_dedup.text.hashing import SIGNATURE_SEED
from es_dedup.text.idf import general
from es_dedup.text.normalise import normalise_many
from es_dedup.text.segment import JiebaSegmenter, RjiebaSegmenter, segmenter, words
from es_dedup.text.stopwords import STOP_CHARACTERS, STOP_WORDS
from es_dedup.text.synonyms import NO_LIST, WORDNET_FILES, named
from es_dedup.text.words import speech_of as part_of_speech
from tests.reference import ccdet as slow_ccdet
from tests.reference import char_frequency as slow_characters
from tests.reference import coverage as slow_coverage
from tests.reference import dwdcs as slow_dwdcs
from tests.reference import multi_simhash as slow_multi
from tests.reference import simhash as slow_simhash
from tests.reference import synonyms as slow_synonyms
from tests.reference.normalise import normalise
from tests.reference.words import placed_words, without_plural
from tests.twins import RELATIONS

pytestmark = [pytest.mark.data, pytest.mark.slow, pytest.mark.timeout(1_800)]

COUNT: Final = 200
LONGEST_CLAUSE: Final = 255
SET: Final = "portal-zh"
ENGLISH: Final = "judged-en"
SHORT: Final = 4_000
LONG: Final = ("statutes-zh", "7a347f250010", "3b1e62fc9158")


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


class TestCcdet:
    @pytest.mark.parametrize("prune", ["none", "site"])
    def test_every_pair(self, contents: list[Content], texts: list[str], prune: str) -> None:
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
            found = detector.verify_rows(table, left, table, right)
            expected = slow_ccdet.decide_pages(signed[left], signed[right], dropped)
            counts = [len(signed[page] - dropped) for page in (left, right)]
            assert found.relation is RELATIONS[expected.relation], (left, right)
            assert (found.score, [found.evidence[name] for name in shown]) == (
                expected.ccs,
                [expected.common, *counts],
            )
            related += found.relation is not Relation.DIFFERENT
        assert related > 100

    def test_a_pair_of_long_statutes(self) -> None:
        name, left, right = LONG
        contents = read(name, {left, right})
        sides = [Ccdet(CcdetConfig()).featurise(contents[page]) for page in (left, right)]
        signed = [slow_ccdet.period_signatures(normalise(contents[page].text)) for page in (left, right)]
        expected = slow_ccdet.decide_pages(*signed)
        one, other = (side for side in sides if isinstance(side, PeriodFeatures))
        verdict = Ccdet(CcdetConfig()).verify(one, other)
        assert (round(expected.ccs, 2), *map(len, signed)) == (0.63, 417, 509)
        assert (verdict.score, verdict.relation) == (expected.ccs, RELATIONS[expected.relation])
        assert (verdict.evidence["left_signatures"], verdict.evidence["right_signatures"]) == (417, 509)


def hashes_of(features: set[str], config: SimhashConfig) -> dict[str, int]:
    """The hash of each feature: the fingerprint of a page of nothing else."""
    names = sorted(features)
    found = Simhash(config).featurise_many([Content(name) for name in names])
    return {
        name: each.value for name, each in zip(names, found, strict=True) if isinstance(each, Fingerprint)
    }


class TestSimhash:
    @pytest.mark.parametrize("features", ["grams", "words", "words-tfidf"])
    def test_every_page_and_pair(self, contents: list[Content], texts: list[str], features: str) -> None:
        config = SimhashConfig.model_validate({"features": features})
        detector = Simhash(config)
        if features == "grams":
            sequences = [slow_coverage.tokens(text) for text in texts]
            # a comma keeps two runs of letters apart and is no token itself
            votes = [[(f"{one},{other}", 1) for one, other in pairwise(each)] for each in sequences]
        else:
            idf = general()
            weighted = features == "words-tfidf"
            votes = [
                [
                    (word, max(1, round(8 * idf.values.get(word, idf.unknown))) if weighted else 1)
                    for word in words(text)
                ]
                for text in texts
            ]
            config = SimhashConfig(features="words")
        hashes = hashes_of({name for page in votes for name, _ in page}, config)
        expected = [
            slow_simhash.fingerprint((hashes[name], weight) for name, weight in page) for page in votes
        ]
        found = [
            None if isinstance(each, Skipped) else each.value for each in detector.featurise_many(contents)
        ]
        assert found == expected
        near = 0
        for left, right in PAIRS:
            one, other = found[left], found[right]
            assert one is not None
            assert other is not None
            verdict = detector.verify(Fingerprint(one), Fingerprint(other))
            close = slow_simhash.hamming(one, other) <= 3
            assert (verdict.relation is Relation.DUPLICATE) == close
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


class TestCharFrequency:
    def test_every_page_and_pair(self, contents: list[Content], texts: list[str]) -> None:
        method = CharFrequency(CharFrequencyConfig())
        found = method.strings(normalise_many([content.text for content in contents]))
        # pages of other scripts are compared by words, of which the document says nothing
        chinese = [at for at, page in enumerate(found) if len(page.units) and page.units[-1] < WORD]
        assert len(chinese) > COUNT - 10
        twins = {at: slow_characters.strings(texts[at]) for at in chinese}
        for at in chinese:
            codes = sorted(map(slow_characters.row_cell_code, twins[at].main))
            assert (found[at].length, found[at].units.tolist()) == (twins[at].length, codes)
        related, stop = 0, frozenset(STOP_CHARACTERS)
        for left, right in combinations(chinese, 2):
            for page, base in ((left, right), (right, left)):
                measures = method.measure(found[page], found[base])
                one, other = twins[page], twins[base]
                assert measures.main_left == slow_characters.main_similarity(
                    one.main - stop, other.main - stop
                )
                if measures.main_left > 0.3:  # the rest takes minutes and decides nothing
                    assert measures.aux_left == slow_characters.aux_similarity(one, other)
                    expected = slow_characters.covers(one, other, stop)
                    assert method.covers(found[page], found[base]) == expected, (page, base)
                    related += expected
        assert related > 100


Placed = list[tuple[str, int]]


def placed_in(texts: list[str]) -> list[Placed]:
    """Content words of each page with their sentences: a dictionary cuts, the reference does the rest."""
    cut = segmenter().cut
    return [
        [
            (without_plural(each.word), each.sentence)
            for each in placed_words(cut(text))
            if each.word not in STOP_WORDS
        ]
        for text in texts
    ]


@pytest.fixture(scope="module")
def placed(texts: list[str]) -> list[Placed]:
    return placed_in(texts)


@pytest.fixture(scope="module")
def english() -> list[Content]:
    """Short English pages that the labels name."""
    rows = (folder() / f"{ENGLISH}.pairs.tsv").read_text("utf8").splitlines()[1:]
    found = read(ENGLISH, {page for row in rows for page in row.split("\t")[:2]}).values()
    return [content for content in found if len(content.text) < SHORT]


def hash_of(word: str) -> int:
    return xxhash.xxh3_64_intdigest(word.encode(), seed=SIGNATURE_SEED)


def known_synonyms(setting: str) -> slow_synonyms.Meanings:
    """What the reference reads from the shipped lists, or nothing."""
    return {} if setting == NO_LIST else slow_synonyms.meanings(WORDNET_FILES.values())


def code_of(word: str, known: slow_synonyms.Meanings) -> int:
    return slow_synonyms.code(word, known, SIGNATURE_SEED)


def speech_of(word: str) -> float:
    tag = segmenter().tag(word)
    if tag[0] == "n" or tag in ("vn", "an", "eng"):
        return 0.6
    return {"a": 0.4, "v": 0.3}.get(tag[0], 0.1)


@pytest.mark.parametrize("name", ["portal-zh", "edits-zh", "news-zh-2025"])
def test_rjieba_cuts_and_tags_labelled_pages_as_jieba(name: str) -> None:
    fast, plain = RjiebaSegmenter(), JiebaSegmenter()
    with lzma.open(folder() / f"{name}.jsonl.xz", "rt", encoding="utf8") as lines:
        texts = [normalise(json.loads(line)["text"]) for line in lines]
    words: set[str] = set()
    for text in texts:
        cut = plain.cut(text)
        assert fast.cut(text) == cut
        words.update(cut)
    assert len(words) > COUNT
    assert not [
        word for word in words if part_of_speech(fast.tag(word)) is not part_of_speech(plain.tag(word))
    ]


class TestMultiSimhash:
    def test_every_page_and_pair(self, contents: list[Content], placed: list[Placed]) -> None:
        config = MultiSimhashConfig()
        known, idf = known_synonyms(config.synonyms), general()
        detector = MultiSimhash(config, named(config.synonyms))
        found = detector.featurise_many(contents)
        features: list[TwoFingerprints] = []
        for page, each in zip(placed, found, strict=True):
            own = [word for word, _ in page]
            weights = slow_multi.word_weights(own, lambda word: idf.values.get(word, idf.unknown), speech_of)
            chosen = slow_multi.keywords(weights, config.keywords)
            near = slow_multi.windows(own, chosen, config.context)
            expected = slow_multi.fingerprints(
                own, near, hash_of, lambda word: code_of(word, known), lambda _: 1
            )
            assert isinstance(each, TwoFingerprints)
            assert (each.text, each.keywords) == expected
            features.append(each)
        near_pairs = 0
        for left, right in PAIRS:
            one, other = features[left], features[right]
            bits = [
                slow_simhash.hamming(one.text, other.text),
                slow_simhash.hamming(one.keywords, other.keywords),
            ]
            expected_ = slow_multi.duplicate(bits[0], bits[1])
            assert (detector.verify(one, other).relation is Relation.DUPLICATE) == expected_
            near_pairs += expected_
        assert near_pairs > 5


class TestDwdcs:
    @pytest.mark.parametrize(
        "changes",
        [
            {},
            {"window_counts": "nodes"},
            {"window_counts": "nodes", "senses": 2, "window": 3},
            {"synonyms": "none"},
        ],
    )
    def test_every_page_and_pair(
        self, contents: list[Content], placed: list[Placed], changes: dict[str, Any]
    ) -> None:
        features = self.compared(contents, placed, changes)
        assert len(features) > 150
        assert any(word.isdigit() for page in features for word in page.words), "numbers are key concepts"

    @pytest.mark.parametrize("changes", [{}, {"window_counts": "nodes"}, {"senses": 3, "min_overlap": 0.3}])
    def test_english_pages_and_pairs(self, english: list[Content], changes: dict[str, Any]) -> None:
        placed = placed_in([normalise(content.text) for content in english])
        merged = self.compared(english, placed, changes)
        words = Dwdcs(DwdcsConfig.model_validate(changes)).featurise_many(english)
        nodes = [page.nodes for page in words if isinstance(page, KeyConcepts)]
        assert sum(page.nodes for page in merged) != sum(nodes), "synonyms are merged"

    def compared(
        self, contents: list[Content], placed: list[Placed], changes: dict[str, Any]
    ) -> list[KeyConcepts]:
        """Features of the pages, which equal those of the reference, as do the verdicts of all pairs."""
        config = DwdcsConfig.model_validate(changes)
        known, detector = known_synonyms(config.synonyms), Dwdcs(config, named(config.synonyms))
        twins: list[dict[int, list[int]]] = []
        features: list[KeyConcepts] = []
        for page, each in zip(placed, detector.featurise_many(contents), strict=True):
            places, nodes = key_concepts(page, config, known)
            if isinstance(each, Skipped):
                assert nodes < config.min_concepts
                continue
            assert each.nodes == nodes
            assert each.concepts.tolist() == list(places)
            assert [part.tolist() for part in np.split(each.positions, each.offsets[1:-1])] == list(
                places.values()
            )
            features.append(each)
            twins.append(places)
        related = 0
        for left, right in combinations(range(len(features)), 2):
            verdict = detector.verify(features[left], features[right])
            similarity = slow_dwdcs.cosine(twins[left], twins[right])
            spread = slow_dwdcs.spread(twins[left], twins[right])
            longer = max(features[left].length, features[right].length)
            assert verdict.score == pytest.approx(similarity, abs=1e-6)
            expected = similarity > 0.9 and spread is not None and spread < 0.05 * longer
            assert (verdict.relation is Relation.DUPLICATE) == expected, (left, right)
            related += expected
        assert related > 5
        return features


def key_concepts(
    page: Placed, config: DwdcsConfig, known: slow_synonyms.Meanings
) -> tuple[dict[int, list[int]], int]:
    """Positions of the key concepts of a page by the reference, by code, and the size of its network."""

    def concept(word: str) -> frozenset[str]:
        return slow_synonyms.concept(word, known, config.senses)

    def code(word: str) -> int:
        return code_of(word, known)

    group = slow_dwdcs.merged([word for word, _ in page], concept, config.min_overlap, code)
    names = [group[word] for word, _ in page]
    nodes, graph = slow_dwdcs.network(
        names,
        [sentence for _, sentence in page],
        config.window,
        config.min_occurrences,
        of_nodes=config.window_counts == "nodes",
    )
    if len(nodes) < config.min_concepts:
        return {}, len(nodes)
    places: dict[int, list[int]] = {}
    for node in slow_dwdcs.key_nodes(graph, config.hubs, config.key_concepts):
        name = min(code(word) for word in group if group[word] == nodes[node]) & int(MASK)
        places[name] = [at for at, other in enumerate(names) if other == nodes[node]]
    return places, len(nodes)
