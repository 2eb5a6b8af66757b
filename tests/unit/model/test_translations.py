"""What is said in Chinese: all of the evidence, by the same templates as in English."""

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

import es_dedup
from es_dedup import Deduplicator, Page
from es_dedup.decision.conditions import Fact
from es_dedup.decision.match_rules import RULES
from es_dedup.model import Relation
from es_dedup.model.explanation import RuleOutcome
from es_dedup.model.translations import CHINESE, accepted_language, catalogue, translate, translate_filled
from es_dedup.settings.decision import ThresholdsConfig
from es_dedup.settings.sections import descriptions
from es_dedup.views import clusters, jobs, overrides, review
from es_dedup.views.evidence import rule_rows
from tests.samples import pages

FIELDS = re.compile(r"\{\w+\}")
LATIN = re.compile(r"[A-Za-z]{2,}")


def test_every_template_has_the_same_fields() -> None:
    for english, chinese in catalogue().items():
        assert sorted(FIELDS.findall(english)) == sorted(FIELDS.findall(chinese)), english


def said() -> Iterator[str]:
    """Texts of rules, thresholds and relations that are shown."""
    yield from map(str, (*Relation, *RuleOutcome))
    yield from descriptions(ThresholdsConfig).values()
    for rule in RULES:
        yield rule.name
        for condition in chain(rule.applies_if, *rule.rejects_if):
            sides = condition.fact, condition.bound
            yield from (side.words for side in sides if isinstance(side, Fact) and side.words)
            yield from filter(None, [condition.fact.otherwise])


def test_rules_facts_thresholds_and_relations_are_translated() -> None:
    assert not {text for text in said() if text not in catalogue()}


def test_every_text_of_the_console_is_translated() -> None:
    """Texts that ``translate`` is called with in the source are in the catalogue."""
    folder = Path(str(es_dedup.__file__)).parent
    for path in (*folder.glob("views/*.py"), *folder.glob("model/*.py"), *folder.glob("serve/*.py")):
        for text in re.findall(r'translate\(\s*(?:visit\.)?language,\s*"([^"]+)"', path.read_text("utf-8")):
            assert text in catalogue(), (path.name, text)
    tasks = re.findall(
        r'(?:Task\(|text = |, text = .*, )"([A-Z][^"]+)"', (folder / "views/overview.py").read_text("utf-8")
    )
    assert not {*tasks, "resume them", "recluster", "compare", "review"} - catalogue().keys()
    for path in folder.glob("views/templates/*.j2"):
        for text in re.findall(r'\b_\(\s*"([^"]+)"', path.read_text("utf-8")):
            assert text in catalogue(), (path.name, text)


def test_texts_that_views_choose_from_are_translated() -> None:
    actions = dict(chain.from_iterable(jobs.ACTIONS.values()))
    tables = (clusters.ORDERS, clusters.RELATIONS, overrides.DECISIONS, review.ANSWERS, actions)
    assert not {text for table in tables for text in table.values()} - catalogue().keys()


def test_pairs_are_explained_without_english() -> None:
    found = set()
    with Deduplicator.open(":memory:") as dedup:
        dedup.scan(pages())
        dedup.override_different("enlocal/owl-note.html", "enmag/owl-synonyms.html", reason="二", author="安")
        names = sorted(dedup.page_ids())
        for pair in dedup.candidate_decisions(names):
            lines = "".join(pair.explained(CHINESE)).replace(pair.left, "").replace(pair.right, "")
            assert not LATIN.search(lines), lines
            assert not LATIN.search("".join(map("".join, rule_rows(pair.rules, CHINESE))))
            found.add(pair.reason)
    assert len(found) > 3


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ("accepted by majority", "majority 接受"),
        ("2 of 3 signatures in a b", "a b 中 签名 为 2，至少需 3"),
        ("its text is not kept in x", "x 未保存正文"),
        ("nothing that anybody knows", "nothing that anybody knows"),
    ],
)
def test_texts_made_of_a_template_are_recognised(english: str, chinese: str) -> None:
    assert translate_filled(CHINESE, english) == chinese
    assert translate_filled("en", english) == english


def test_texts_of_people_are_no_templates() -> None:
    template = "decided same by {author}: {reason}"
    assert translate("en", template, author="{0}", reason="{reason!r}") == "decided same by {0}: {reason!r}"


def test_the_language_is_the_first_known_one() -> None:
    assert [accepted_language(each) for each in ("de,zh;q=.5", "", "en-GB,zh", "*")] == [
        "zh",
        "en",
        "en",
        "en",
    ]


def test_an_explanation_in_english_is_as_before() -> None:
    text = "The ferry ran aground at noon on Monday. All 214 passengers were taken off safely by boats."
    with Deduplicator.open(":memory:") as dedup:
        dedup.add(Page(id="a", text=text))
        pair = dedup.explain("a", Page(id="b", text=text))
        assert pair.explanation == pair.explained("en")
        assert pair.explained("zh")[0] == "a的 全部 见于b，b的 全部 见于a：合并，完全相同"
