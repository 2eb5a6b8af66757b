"""A corpus on a real server whose groups are known, and the slow, plain answer to a collapsed search over it."""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from elasticsearch import Elasticsearch
from elasticsearch.helpers import bulk

from es_dedup.collapse import GroupPage
from es_dedup.index.elastic.schema import load_mapping
from es_dedup.index.opensearch import is_opensearch

WORDS: Final = (
    "山水 风云 日月 城乡 桥梁 车船 学校 工厂 商店 银行 bridge ferry school market tea river".split()
)
SITES: Final = [f"site{number}.example" for number in range(12)]
DIMENSIONS: Final = 4
FIELDS: Final = {
    "n": {"type": "integer"},
    "body": {"type": "text"},
    "site": {"type": "keyword"},
    "day": {"type": "date"},
    "length": {"type": "integer"},
    "vector": {
        "type": "dense_vector",
        "dims": DIMENSIONS,
        "index": True,
        "similarity": "l2_norm",
        "index_options": {"type": "hnsw"},  # by default vectors are rounded to bytes
    },
}


@dataclass(frozen=True)
class Stored:
    """One document as it was written: where, with what, and the group it belongs to by the corpus' own book."""

    id: str
    source: dict[str, Any]
    group: str
    canonical: bool
    marked: bool


@dataclass
class Corpus:
    """The documents of an index by ``_id``."""

    index: str
    documents: dict[str, Stored] = field(default_factory=dict)

    def size(self, group: str) -> int:
        """Pages of a group."""
        return sum(each.group == group for each in self.documents.values())


def invented(count: int, seed: int, *, unmarked: float = 0.05) -> Iterator[Stored]:
    """Pages in clusters of one to some dozen; of clusters of one some have no ``dedup`` object."""
    source = random.Random(seed)
    made = 0
    while made < count:
        size = min(count - made, 1 if source.random() < 0.7 else source.choice([2, 2, 2, 3, 3, 5, 8, 30]))
        text = source.choices(WORDS, k=source.randint(5, 40))
        canonical = source.randrange(size)
        marked = size > 1 or source.random() >= unmarked
        names = [f"p{made + at}" for at in range(size)]
        for at, name in enumerate(names):
            words = text if source.random() < 0.5 else source.sample(text, source.randint(3, len(text)))
            document: dict[str, Any] = {
                "n": made + at,
                "body": " ".join(words),
                "site": source.choice(SITES),
                "day": f"2026-{source.randint(1, 12):02}-{source.randint(1, 28):02}",
                "length": len(words),
                "vector": [round(source.random(), 3) for _ in range(DIMENSIONS)],
            }
            if marked:
                document["dedup"] = {
                    "cluster_id": f"c/{names[canonical]}",
                    "canonical": at == canonical,
                    "relation": "unique" if at == canonical else "duplicate",
                } | ({"cluster_size": size} if at == canonical else {})
            yield Stored(name, document, f"c/{names[canonical]}" if marked else name, at == canonical, marked)
        made += size


def create(client: Elasticsearch, index: str, *, shards: int = 1, attached: bool = True) -> None:
    """Make the index, with the mapping of ``dedup`` unless it was never attached."""
    known: dict[str, Any] = load_mapping("host")["template"]["mappings"]["properties"] if attached else {}
    fields = {name: field for name, field in FIELDS.items() if name != "vector" or not is_opensearch(client)}
    client.indices.create(
        index=index,
        mappings={"properties": fields | known},
        settings={"number_of_shards": shards, "number_of_replicas": 0},
    )


def fill(client: Elasticsearch, index: str, pages: Sequence[Stored] | Iterator[Stored]) -> Corpus:
    """Write pages and give the book that is kept of them."""
    corpus = Corpus(index, {page.id: page for page in pages})
    bulk(
        client,
        ({"_index": index, "_id": each.id, "_source": each.source} for each in corpus.documents.values()),
        chunk_size=1000,
        refresh=True,
    )
    return corpus


def ranked(client: Elasticsearch, index: str, body: dict[str, Any]) -> list[dict[str, Any]]:
    """All that a search finds without collapsing, in its order."""
    left = {name: value for name, value in body.items() if name not in ("aggs", "from", "size", "highlight")}
    answer = client.search(index=index, body=left | {"size": 10_000, "_source": ["site", "day", "n"]})
    found = list(answer["hits"]["hits"])
    assert len(found) < 10_000
    return found


def ids(page: GroupPage) -> list[str]:
    """The ids of the documents shown, in order."""
    return [group.hit["_id"] for group in page.groups]


def first_of_each(
    hits: Sequence[dict[str, Any]], group_of: Callable[[dict[str, Any]], str]
) -> list[dict[str, Any]]:
    """The best hit of each group, in order."""
    best: dict[str, dict[str, Any]] = {}
    for hit in hits:
        best.setdefault(group_of(hit), hit)
    return list(best.values())
