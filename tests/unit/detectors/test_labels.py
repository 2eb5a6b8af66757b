"""Text of terms: each term that is stored as text has the text that its page shows."""

from __future__ import annotations

from typing import Any

import pytest

from es_dedup.detectors import ccdet
from es_dedup.detectors.features import featurise, stored_terms
from es_dedup.detectors.named_fields import labels_of, named_fields
from es_dedup.settings import Settings
from es_dedup.text.normalise import normalise_many

TEXTS = [
    "大坝的水位在夜间上升，值班员打开了第三道闸门。水位因此下降。下游的村庄没有受到影响。大坝的水位在夜间上升，𠮷闸门。"
    * 3,
    "No full stop of this kind is here, only words about dams and gates, dams and gates again.",
    "",
    "短。" + "预警发布之后，堤防上的巡查每小时一次。水位、堤防、预警、巡查、堤防、预警、水位都记录在册。" * 4,
]
TAGS = {"ccdet": 1, "dwdcs": 34, "char_frequency": 33}


def test_signatures_given_as_text_have_the_terms_of_the_page() -> None:
    batch = normalise_many(TEXTS)
    table = ccdet.period_table(batch, 10)
    for row, terms in enumerate(ccdet.terms_of(ccdet.signature_strings(batch, 10))):
        own = table.signatures[table.offsets[row] : table.offsets[row + 1]].tolist()
        assert sorted(term & (1 << 40) - 1 for term in terms) == own
    assert ccdet.terms_of([]) == []
    assert ccdet.terms_of([[], []]) == [[], []]


@pytest.mark.parametrize("method", sorted(TAGS))
def test_each_stored_term_has_its_text(method: str) -> None:
    settings = Settings(
        detectors=[method], dwdcs={"min_concepts": 3, "min_occurrences": 1}, char_frequency={"count_above": 1}
    )
    titles = [""] * len(TEXTS)
    table, named = featurise(TEXTS, titles, settings), named_fields(TEXTS, titles, settings)
    terms, offsets = stored_terms(table, settings)
    found: list[dict[int, str]] = labels_of(table, named, settings)
    assert sum(map(len, found)) > 4
    for row, labels in enumerate(found):
        own: list[Any] = terms[offsets[row] : offsets[row + 1]].tolist()
        assert sorted(labels) == sorted(own)
        assert all(term >> 40 == TAGS[method] for term in own)
        shown = {
            text
            for values in named[row].values()
            if isinstance(values, list)
            for text in values
            if isinstance(text, str)
        }
        assert set(labels.values()) == shown
