"""Targets: named fields of hostile texts, and what Elasticsearch would hold of them."""

import json
import random
from functools import cache
from itertools import pairwise
from typing import Any, Final

import numpy as np

from es_dedup.detectors.features import featurise, pack, stored_terms
from es_dedup.detectors.named_fields import PageFeatures, field_types, labels_of, named_fields, term_fields
from es_dedup.index.elastic.documents import TermFields
from es_dedup.index.records import RecordBatch
from es_dedup.settings import Settings
from es_dedup.testing.builders import record
from es_dedup.views.features import compared_fields, feature_rows
from tests.fuzz.corpus import texts
from tests.fuzz.harness import Target
from tests.fuzz.mutate import damaged

METHODS: Final = ("ccdet", "simhash", "coverage", "dwdcs", "multi_simhash", "char_frequency")
SETTINGS: Final = Settings.model_validate(
    {
        "detectors": METHODS,
        "char_frequency": {"count_above": 1, "min_characters": 1},
        "dwdcs": {"min_concepts": 3, "min_occurrences": 1},
    }
)
PIECES: Final = (
    *(
        "。",
        "。。",
        "！",
        "\u2028",
        "\r\n",
        "\x00",
        "\ud800",
        "\udfff",
        "\ufeff",
        "\u202e",
        "\u200d",
        "👩‍👩‍👧",
        "𠮷",
    ),
    *(
        "e\u0301",
        "ﷺ",
        "ǆ",
        "İ",
        "ß",
        '"',
        "\\",
        "{",
        "1,234.5",
        "%",
        " ",
        "\t",
        "a" * 300,
        "水" * 300,
        "😀。" * 50,
    ),
)


@cache
def fields() -> TermFields:
    """Those of all methods."""
    return TermFields(term_fields(SETTINGS), field_types(SETTINGS))


def given(rng: random.Random) -> list[tuple[str, str]]:
    """A few texts with titles: damaged ones, and pieces that are rare in texts put together."""
    made = []
    for _ in range(rng.randrange(1, 4)):
        text = rng.choice(texts())
        if rng.random() < 0.5:
            text = damaged(rng, text.encode(), [], most=6).decode(
                "utf-8", rng.choice(("replace", "surrogateescape"))
            )
        cuts = sorted(rng.randrange(len(text) + 1) for _ in range(rng.randrange(8)))
        for cut in reversed(cuts):
            text = text[:cut] + rng.choice(PIECES) * rng.randrange(1, 4) + text[cut:]
        made.append((rng.choice(("", text, text * 3)), text[: rng.randrange(30)]))
    return made


def named(pages: list[tuple[str, str]]) -> None:
    """Named fields are made, are JSON, have each stored term of a labelled method, and can be shown."""
    bodies, titles = [text for text, _ in pages], [title for _, title in pages]
    table = featurise(bodies, titles, SETTINGS)
    found = named_fields(bodies, titles, SETTINGS, table)
    terms, offsets = stored_terms(table, SETTINGS)
    own = [terms[start:end].tolist() for start, end in pairwise(offsets.tolist())]
    for page, labels, stored in zip(found, labels_of(table, found, SETTINGS), own, strict=True):
        values = fields().values_of(np.array(stored, dtype=np.uint64), labels)
        known = list(zip(*values, strict=True))
        labelled = {text for name, text in known if name in fields().labelled}
        shown = {text for name in fields().labelled for text in page.get(name, ())}
        assert labelled == shown
        assert all(
            json.loads(values.query(at)) == {"term": {name: text}} for at, (name, text) in enumerate(known)
        )
    batch = RecordBatch.of(
        [
            record(str(at), stored, named=page, payload=payload)
            for at, (stored, page, payload) in enumerate(zip(own, found, pack(table), strict=True))
        ]
    )
    for body in fields().columns_of(batch, named=True):
        json.dumps(body, ensure_ascii=False).encode()
    sides: list[Any] = [PageFeatures(str(at), "", "", 0, "", page) for at, page in enumerate(found)]
    feature_rows(sides[0])
    compared_fields(sides[0], sides[-1])


TARGETS: Final = (Target("named-fields", given, named, 20_000),)
