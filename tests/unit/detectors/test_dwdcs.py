"""DWDCS: merging, networks, path lengths, key concepts and both similarities, against the slow reference."""

import random
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from es_dedup.detectors.dwdcs import Dwdcs, cosine, spread
from es_dedup.detectors.dwdcs_network import KeyConcepts, Merger, concepts_of, key_concepts, network
from es_dedup.detectors.dwdcs_paths import Graphs, removal_sums
from es_dedup.model import Content, Relation, Skipped
from es_dedup.settings.sections import DwdcsConfig
from es_dedup.text.normalise import normalise_many
from es_dedup.text.synonyms import NONE, Synonyms, of_groups
from es_dedup.text.words import WordBatch, content_words
from tests.reference import dwdcs as slow
from tests.samples import truths
from tests.texts import page_texts

SEED: Final = 20261121
CONFIG: Final = DwdcsConfig()
SYNONYMS: Final = of_groups(
    [
        ("检修", "维修", "修理"),
        ("设备", "装置", "器材"),
        ("城市", "都市"),
        ("表示", "指出", "称"),
        ("repair", "mend", "fix"),
        ("fix", "repair", "set"),
    ]
)


def connected(rng: random.Random, size: int, extra: int) -> slow.Graph:
    """A random connected graph: a tree and some more edges."""
    graph: slow.Graph = {node: set() for node in range(size)}
    edges = [(node, rng.randrange(max(0, node - 4), node)) for node in range(1, size)]
    edges += [(rng.randrange(size), rng.randrange(size)) for _ in range(extra)]
    for left, right in edges:
        if left != right:
            graph[left].add(right)
            graph[right].add(left)
    return graph


def graphs_of(found: list[slow.Graph]) -> Graphs:
    """The same graphs as arrays."""
    offsets = np.concatenate(([0], np.cumsum([len(graph) for graph in found]))).astype(np.int64)
    edges = [
        (base + node, base + other)
        for base, graph in zip(offsets.tolist(), found, strict=False)
        for node in graph
        for other in graph[node]
        if node < other
    ]
    pairs = np.array(edges, dtype=np.int64).reshape(-1, 2)
    return Graphs.of_edges(offsets, pairs[:, 0], pairs[:, 1])


def test_path_lengths_without_a_node_equal_the_reference() -> None:
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    sizes = [1, 2, 3, 12, 40, 63, 64, 65, 90, 128, 130, 30, 7]
    found = [connected(rng, size, rng.randrange(2 * size)) for size in sizes]
    graphs = graphs_of(found)
    tried = [sorted(graph, key=lambda node: -len(graph[node]))[: rng.choice((0, 1, 5, 9))] for graph in found]
    offsets = np.concatenate(([0], np.cumsum([len(each) for each in tried]))).astype(np.int64)
    removed = [
        base + node for base, each in zip(graphs.offsets.tolist(), tried, strict=False) for node in each
    ]
    sums = removal_sums(graphs, np.array(removed, dtype=np.int64), offsets)
    assert sums.tolist() == [
        slow.removal_sum(graph, node) for graph, each in zip(found, tried, strict=True) for node in each
    ]


def test_a_path_loses_its_middle() -> None:
    graph: slow.Graph = {0: {1}, 1: {0, 2}, 2: {1}}
    # the two ends are two apart; without the middle they count the diameter plus 1
    assert slow.removal_sum(graph, 1) == 6
    assert removal_sums(graphs_of([graph]), np.array([1, 0]), np.array([0, 2])).tolist() == [6, 2]


def expected(words: WordBatch, page: int, config: DwdcsConfig, synonyms: Synonyms) -> list[list[int]]:
    """Positions of a page's key concepts by the reference, in order."""
    own = words.words(page)
    sentences = words.sentence[words.offsets[page] : words.offsets[page + 1]].tolist()
    group = slow.merged(own, synonyms.concept, config.min_overlap, synonyms.code)
    names = [group[word] for word in own]
    nodes, graph = slow.network(names, sentences, config.window, config.min_occurrences)
    if len(nodes) < config.min_concepts:
        return []
    chosen = slow.key_nodes(graph, config.hubs, config.key_concepts)
    return [[at for at, other in enumerate(names) if other == nodes[node]] for node in chosen]


def check(texts: list[str], config: DwdcsConfig, synonyms: Synonyms) -> int:
    words = content_words(normalise_many(texts))
    found = key_concepts(words, config, Merger(synonyms, config.min_overlap))
    for page, features in enumerate(found):
        places = [
            features.positions[low:high].tolist()
            for low, high in zip(features.offsets[:-1], features.offsets[1:], strict=True)
        ]
        assert places == expected(words, page, config, synonyms)
    return sum(len(features.concepts) > 0 for features in found)


@pytest.mark.parametrize("synonyms", [NONE, SYNONYMS], ids=["words", "concepts"])
@pytest.mark.parametrize("changes", [{}, {"window": 3, "min_occurrences": 1, "hubs": 8, "key_concepts": 8}])
@pytest.mark.slow
def test_real_pages_equal_the_reference(synonyms: Synonyms, changes: dict[str, Any]) -> None:
    texts = [truth.text for truth in truths()[:24:3]]
    assert check(texts, DwdcsConfig.model_validate({"min_concepts": 4} | changes), synonyms) > 4


@settings(max_examples=40)
@given(st.lists(page_texts, max_size=4), st.integers(1, 4), st.integers(1, 2))
def test_random_pages_equal_the_reference(texts: list[str], window: int, occurrences: int) -> None:
    config = DwdcsConfig(window=window, min_occurrences=occurrences, min_concepts=3)
    check([text * 2 for text in texts], config, SYNONYMS)


def test_an_edge_never_crosses_a_sentence() -> None:
    words = content_words(normalise_many(["水泵 设备。城市 河流。水泵 设备！城市 河流"]))
    concepts = concepts_of(words, Merger(NONE, 0.5))
    graphs, place = network(words, concepts, CONFIG)
    assert place.tolist() == [0, 1]
    assert graphs.degrees.tolist() == [1, 1]


def test_only_the_most_frequent_concepts_are_kept() -> None:
    names = [chr(code) for code in range(0x4E00, 0x4E00 + 400)]
    text = " ".join([*names, *names[:120]] * 2)
    config = DwdcsConfig(max_concepts=100)
    words = content_words(normalise_many([text]))
    graphs, _ = network(words, concepts_of(words, Merger(NONE, 0.5)), config)
    assert int(graphs.offsets[-1]) <= 100


def page(places: dict[int, list[int]], length: int = 1000) -> KeyConcepts:
    """Features with these positions by concept."""
    counts = np.cumsum([0, *(len(each) for each in places.values())])
    flat = [at for each in places.values() for at in each]
    return KeyConcepts(
        length,
        len(places),
        np.array(list(places), dtype=np.uint64),
        tuple(f"w{each}" for each in places),
        counts,
        np.array(flat, dtype=np.int64),
    )


PLACES: Final = st.dictionaries(
    st.integers(0, 8),
    st.lists(st.integers(0, 999), min_size=1, max_size=6, unique=True).map(sorted),
    min_size=1,
)


@settings(max_examples=200)
@given(PLACES, PLACES)
def test_both_similarities_equal_the_reference(
    left: dict[int, list[int]], right: dict[int, list[int]]
) -> None:
    one, other = page(left), page(right)
    assert cosine(one, other) == pytest.approx(slow.cosine(left, right), abs=1e-12)
    wanted = slow.spread(left, right)
    found = spread(one, other)
    assert found.shared == len(left.keys() & right.keys())
    assert found.spread == pytest.approx(float("inf") if wanted is None else wanted)
    assert cosine(one, one) == 1.0
    assert spread(one, one).spread == 0.0


@settings(max_examples=150)
@given(PLACES, st.sets(st.integers(0, 8), max_size=3), st.sampled_from([0.5, 0.9, 0.99]))
def test_the_complete_query_finds_all_that_can_be_accepted(
    places: dict[int, list[int]], dropped: set[int], similarity: float
) -> None:
    detector = Dwdcs(DwdcsConfig(min_similarity=similarity, max_position_variance=1.0))
    kept = {concept: each for concept, each in places.items() if concept not in dropped}
    one, other = page(places), page(kept or {20: [1]})
    for asking, stored in ((one, other), (other, one)):
        if detector.verify(asking, stored).relation is Relation.DUPLICATE:
            group = detector.candidate_query(asking).groups[0]
            assert len(set(group.terms) & set(detector.terms(stored))) >= group.min_shared


def test_a_shift_of_all_positions_is_no_spread() -> None:
    one, other = page({1: [10, 20, 30]}), page({1: [15, 25, 35]})
    assert spread(one, other) == spread(other, one)
    assert spread(one, other).spread == 0.0
    assert spread(one, other).shift == 5.0


def test_both_stages_are_needed() -> None:
    detector = Dwdcs(CONFIG)
    one = page({1: [0, 100, 200], 2: [50, 150]})
    scattered = page({1: [0, 400, 900], 2: [10, 800]})
    assert cosine(one, scattered) == 1.0
    assert detector.verify(one, scattered).relation is Relation.DIFFERENT
    assert detector.verify(one, page({1: [3, 103, 203], 3: [50, 150]})).relation is Relation.DIFFERENT
    assert detector.verify(one, page({1: [3, 103, 203], 2: [53, 153]})).relation is Relation.DUPLICATE


def test_small_networks_are_skipped_with_their_size() -> None:
    found = Dwdcs(CONFIG).featurise(Content("水泵 设备 水泵 设备"))
    assert found == Skipped("few-concepts", "2 of 10 nodes")


def test_long_pages_take_wide_positions() -> None:
    detector = Dwdcs(CONFIG)
    long = page({1: [5, 70_000], 2: [6]}, length=80_000)
    short = page({1: [5, 700], 2: [6]})
    for each in (long, short):
        assert detector.unpack(detector.pack(each)) == each
    assert len(detector.pack(long)) == len(detector.pack(short)) + 6
