"""Block layouts: what they store and ask for, the guarantee, and the figures of the documents."""

import random
from itertools import combinations
from typing import Final

import pytest

from es_dedup.detectors.simhash import Fingerprint
from es_dedup.model import Relation
from es_dedup.settings.sections import SimhashConfig
from es_dedup.testing.detector_contract import DetectorContract
from experiments.simhash_layouts import LAYOUTS, Layout, LayoutSimhash
from tests.reference import simhash as slow

SEED: Final = 20261121
# name, guaranteed distance, tables, candidate queries, candidates as a share of all pages
KNOWN: Final = (
    ("3x21", 2, 3, 3, 1.2e-6),
    ("4x16", 3, 4, 4, 6.1e-5),
    ("5c2", 3, 10, 10, 2.1e-7),
    ("6c3", 3, 20, 20, 5.1e-9),
    ("7x9", 6, 7, 7, 1.3e-2),
    ("8x8", 7, 8, 8, 3.1e-2),
    ("8c2", 6, 28, 28, 4.3e-4),
    ("10c3", 7, 120, 120, 2.3e-4),
    ("10c4", 6, 210, 210, 4.8e-6),
    ("4x16", 6, 4, 52, 7.9e-4),
    ("4x16", 7, 4, 68, 1.0e-3),
    ("3x21", 7, 3, 508, 1.8e-4),
    ("2x32", 7, 2, 10_978, 2.6e-6),
)
CASES: Final = [
    (layout, bits)
    for layout in LAYOUTS.values()
    for bits in range(layout.guarantee + 1)
    if layout.candidate_queries(bits) < 1_000
]


@pytest.mark.parametrize(("name", "bits", "tables", "candidate_queries", "share"), KNOWN)
def test_the_figures_of_the_documents(
    name: str, bits: int, tables: int, candidate_queries: int, share: float
) -> None:
    layout = LAYOUTS[name]
    assert layout.tables == tables
    assert layout.candidate_queries(bits) == candidate_queries
    assert layout.share(bits) == pytest.approx(share, rel=0.05)


@pytest.mark.parametrize(("layout", "bits"), CASES, ids=lambda each: getattr(each, "name", str(each)))
def test_nothing_within_the_guarantee_is_missed(layout: Layout, bits: int) -> None:
    """Whether a candidate query finds depends on the bits of each block alone: bits are spread over the blocks as evenly as can be."""
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    value = rng.getrandbits(64)
    asked = frozenset(layout.query_terms(value, bits))
    assert len(asked) == layout.candidate_queries(bits)
    starts = [sum(layout.widths[:block]) for block in range(layout.blocks)]
    for chosen in [*combinations(range(layout.blocks), min(bits, layout.blocks))][:300]:
        places = [starts[block] + rng.randrange(layout.widths[block]) for block in chosen]
        spare = [bit for bit in range(64) if bit not in places]
        places += rng.sample(spare, bits - len(places))
        other = value ^ sum(1 << bit for bit in places)
        assert slow.hamming(value, other) == bits
        assert not asked.isdisjoint(layout.stored_terms(other))


class TestLayout(DetectorContract):
    @pytest.fixture
    def detector(self) -> LayoutSimhash:
        return LayoutSimhash(SimhashConfig(features="words-tfidf"), LAYOUTS["6c3"])

    @pytest.fixture
    def tags(self) -> frozenset[int]:
        return frozenset({36})

    def test_terms_of_the_layout_are_stored(self, detector: LayoutSimhash) -> None:
        one = Fingerprint(12345)
        assert len(detector.terms(one)) == 20
        assert detector.verify(one, Fingerprint(12345 ^ 0b111)).relation is Relation.DUPLICATE
