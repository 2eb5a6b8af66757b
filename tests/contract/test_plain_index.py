"""An adapter that has the abstract methods of the port alone keeps its contracts, by what the port builds on them."""

import pytest

from es_dedup.index.port import Index
from es_dedup.testing.index_contract import FeatureIndexContract
from tests.plain_index import PlainIndex


class TestPlainIndex(FeatureIndexContract):
    @pytest.fixture
    def index(self) -> PlainIndex:
        return PlainIndex()


def test_it_has_the_abstract_methods_alone() -> None:
    own = {name for name in vars(PlainIndex) if not name.startswith("_")}
    assert own == set(Index.__abstractmethods__)
