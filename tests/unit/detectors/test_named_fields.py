"""Features as named fields, and the text of each stored term."""

import json
from typing import Any

import pytest

from es_dedup.detectors import ccdet
from es_dedup.detectors.dwdcs import Dwdcs
from es_dedup.detectors.dwdcs_network import Merger
from es_dedup.detectors.features import featurise, stored_terms
from es_dedup.detectors.named_fields import field_types, labels_of, named_fields
from es_dedup.detectors.registry import create_detectors
from es_dedup.model import Content, Skipped
from es_dedup.settings import Settings, load_settings
from es_dedup.settings.sections import DwdcsConfig
from es_dedup.text.normalise import normalise_many
from es_dedup.text.synonyms import of_groups, wordnet

PAPERS = ("ccdet", "simhash", "dwdcs", "multi_simhash", "char_frequency", "coverage")
TEXT = (
    "跨海大桥昨日正式通车。大桥全长三十公里,桥面宽敞。交通部门表示,大桥将缓解两岸交通压力。\n"
    "工程师介绍,大桥施工克服了深水困难,工程师团队采用新技术。两岸居民期待大桥带来发展,居民出行更方便。\n"
    "交通压力得到缓解后,两岸经济发展将加快。经济专家认为,新技术的应用值得推广,工程质量可靠。\n"
    "专家还说,工程施工中的技术经验很宝贵。居民认为出行方便了,质量也可靠。跨海大桥昨日正式通车。"
) * 2


def settings(*detectors: str, **more: Any) -> Settings:
    return load_settings(overrides={"detectors": detectors or PAPERS, **more}, environ={})


def test_every_field_of_every_method_is_named_and_json_ready() -> None:
    (page,) = named_fields([TEXT], ["大桥通车"], settings())
    kinds = field_types(settings())
    assert page.keys() == kinds.keys()
    assert json.loads(json.dumps(page)) == page
    for name, kind in kinds.items():
        if kind == "integer":
            assert 0 <= page[name] < 1 << 16, name


def test_period_signatures_are_the_characters_before_the_stops() -> None:
    text = "甲乙丙。第一条规定如下 如下如下如下如下。甲乙丙。。戊己。没有句号"
    (page,) = named_fields([text], [""], settings("ccdet"))
    assert page == {"period_signatures": ["甲乙丙", "如下如下如下如下如下", "戊己"]}


def test_signatures_number_as_many_as_are_compared() -> None:
    lengths = (90, 900, ccdet.MOST_SIGNATURES + 700)
    rules = ["。".join(f"第{number:04d}条规定如下" for number in range(length)) + "。" for length in lengths]
    texts = [TEXT, *rules, "no stop"]
    table = ccdet.period_table(normalise_many(texts), 10)
    named = named_fields(texts, [""] * len(texts), settings("ccdet"))
    counts = [len(page.get("period_signatures", ())) for page in named]
    assert counts == (table.offsets[1:] - table.offsets[:-1]).tolist()
    kept = "。".join(named[3]["period_signatures"]) + "。"
    assert (
        ccdet.period_table(normalise_many([kept]), 10).signatures.tolist() == table.row(3).signatures.tolist()
    )


def test_bands_are_the_digits_of_the_fingerprint_in_order() -> None:
    (page,) = named_fields([TEXT], [""], settings("simhash", "multi_simhash"))
    for name in ("simhash", "multi_simhash_text", "multi_simhash_keywords"):
        assert page[name] == "".join(f"{page[f'{name}_band_{at}']:04x}" for at in range(4))


def test_key_concepts_are_words_of_the_text_with_their_places() -> None:
    (page,) = named_fields([TEXT], [""], settings("dwdcs", **{"dwdcs.synonyms": "none"}))
    assert "大桥" in page["key_concepts"]
    assert len(set(page["key_concepts"])) == len(page["key_concepts"])
    assert all(word in TEXT for word in page["key_concepts"])
    assert [each["concept"] for each in page["key_concept_positions"]] == page["key_concepts"]
    for each in page["key_concept_positions"]:
        assert each["positions"] == sorted(each["positions"])
        assert all(0 <= place < 1 for place in each["positions"])


def test_synonyms_have_one_name() -> None:
    detector = Dwdcs(settings().dwdcs, of_groups([["大桥", "桥梁"]]))
    pages = detector.featurise_many([Content(TEXT), Content(TEXT.replace("大桥", "桥梁"))])
    named = [set(page.words) & {"大桥", "桥梁"} for page in pages if not isinstance(page, Skipped)]
    assert named == [{"桥梁"}] * 2, "the more frequent of both in general Chinese"


def test_concepts_have_equal_names_where_they_have_equal_codes_only() -> None:
    """An index on Elasticsearch looks concepts up by name, an embedded one by code: both find the same pages."""
    synonyms = wordnet()
    merger = Merger(synonyms, DwdcsConfig().min_overlap)
    code_of: dict[str, int] = {}
    for word in synonyms.senses:
        assert code_of.setdefault(merger.name(word), merger.code(word)) == merger.code(word), word
    assert len(set(code_of.values())) == len(code_of) < len(synonyms.senses)


def test_frequent_characters_are_characters_or_words() -> None:
    english = "The bridge opened and the bridge carries traffic over the wide bay. " * 5
    chinese, words = named_fields(
        [TEXT, english], ["", ""], settings("char_frequency", **{"char_frequency.min_characters": 1})
    )
    assert {"桥", "工"} <= set(chinese["char_frequency_characters"])
    followers = {each["character"]: each["followers"] for each in chinese["char_frequency_followers"]}
    assert set(followers["居"]) == {"民"}
    assert "bridge" in words["char_frequency_characters"]
    assert {each["character"]: each["followers"] for each in words["char_frequency_followers"]}[
        "bridge"
    ].split() == ["opened", "carries"] * 5


@pytest.mark.parametrize("text", ["", "。。。", "a", "1", "\n", "😀。"])
def test_pages_without_features_lack_the_fields(text: str) -> None:
    (page,) = named_fields([text], [""], settings())
    assert all(page.values())


def test_names_are_unique_among_methods() -> None:
    found = [name for detector in create_detectors(settings()).values() for name in detector.field_types]
    assert len(found) == len(set(found))


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
