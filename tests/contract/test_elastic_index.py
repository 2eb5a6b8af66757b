"""The index on Elasticsearch keeps the contracts of the index ports, on every server that is at hand."""

from collections.abc import Iterator

import pytest

from es_dedup.detectors.named_fields import field_types, term_fields
from es_dedup.index.elastic.adapter import ElasticIndex
from es_dedup.index.elastic.address import parse_address
from es_dedup.index.elastic.documents import TermFields
from es_dedup.settings import Settings
from es_dedup.testing.index_contract import FeatureIndexContract
from tests.servers import empty, fresh_name, remove, url_of

FEATURES = {"ccdet.window": 10}
FIELDS = TermFields(term_fields(Settings()), field_types(Settings(), also=("dwdcs",)))


class ElasticContract(FeatureIndexContract):
    profile: str

    @pytest.fixture(scope="class")
    @classmethod
    def address(cls) -> Iterator[str]:
        url = f"{url_of(cls.profile)}/{fresh_name()}"
        yield url
        remove(url)

    @pytest.fixture
    def index(self, address: str) -> Iterator[ElasticIndex]:
        with ElasticIndex(parse_address(address), features=FEATURES, fields=lambda _: FIELDS) as index:
            yield index
        empty(address)

    @pytest.fixture
    def other_reader(self, index: ElasticIndex, address: str) -> Iterator[ElasticIndex]:
        with ElasticIndex(
            parse_address(address), features=FEATURES, read_only=True, fields=lambda _: FIELDS
        ) as reader:
            yield reader


class TestElastic8(ElasticContract):
    profile = "es8"


@pytest.mark.other_servers
class TestElastic9(ElasticContract):
    profile = "es9"


@pytest.mark.other_servers
class TestOpenSearch(ElasticContract):
    profile = "opensearch"
