"""What the contract suites share: the fixtures an adapter supplies, and comparisons."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from es_dedup.index.port import Index
    from es_dedup.index.records import FeatureRecord
    from es_dedup.model import CandidateResult


class IndexFixtures:
    """Fixtures an adapter's test class supplies."""

    @pytest.fixture
    def index(self) -> Index:
        """An empty index."""
        raise NotImplementedError

    @pytest.fixture
    def other_reader(self, index: Index) -> Index:
        """Another object on the same storage."""
        pytest.skip(f"{type(index).__name__} has no other reader")


def ids(answer: CandidateResult) -> list[str]:
    """Page ids of an answer's candidates, in order."""
    return list(answer.candidates)


def same_record(left: FeatureRecord, right: FeatureRecord) -> bool:
    """Whether what was read equals what was stored, but for the text, which is read apart, and what may be left out: terms and payload.

    Args:
        left: read.
        right: stored.
    """
    apart = ("text", "terms", "payload", "version")
    fields = ("payload_version", *(name for name in left.__dataclass_fields__ if name not in apart))
    return sorted(left.terms) in ([], sorted(right.terms)) and all(
        getattr(left, name) == getattr(right, name) for name in fields
    )
