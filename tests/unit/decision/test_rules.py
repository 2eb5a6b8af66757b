"""Each rule of the decision rules on a pair that it decides, beside the same pair without the cause, which is accepted."""

import random
import re
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from es_dedup.decision.match_rules import RULES
from es_dedup.decision.rules import ACCEPTED
from es_dedup.decision.statistics import Statistics
from es_dedup.decision.thresholds import BALANCED, LOOSE, PRESETS, STRICT, Thresholds
from es_dedup.model import Relation
from es_dedup.settings import Settings
from tests.unit.decision.decision_cases import Small, decide_pair, learned, lines, numbered

DOCS: Final = Path(__file__).parents[3] / "docs"
STORY: Final = lines(1, 12)
LONG: Final = lines(2, 36)
WORDS: Final = "harbour bridge valley market school winter river garden letter station coast mountain".split()
REPORT: Final = (*LONG, *numbered(5, 6, 300))
MENU: Final = " ".join(f"{WORDS[(line * 3 + at) % 12]}{line}" for line in range(8) for at in range(9)) + "."
TITLE: Final = STORY[0][:10]
HARBOUR: Final = LONG[0][:6] + "海港清晨迎来" + LONG[1][:3]
SCHOOL: Final = LONG[0][:6] + "山村小学换了" + LONG[2][:3]
WARNING: Final = "山市气象台发布大风蓝色预警信号"


def own_sentences(seed: int, count: int) -> tuple[str, ...]:
    """Sentences of six words, of which the first is the seed's own."""
    return tuple(
        f"{WORDS[(seed * 7 + at * 5) % 12]}{seed}x{at} stands beside the others." for at in range(count)
    )


@dataclass(frozen=True)
class Case:
    """A pair that one rule rejects, and what has to change for the pair to be accepted; ``form`` is boilerplate."""

    rule: str
    left: Small
    right: Small
    cured_left: Small
    cured_right: Small
    form: tuple[str, ...] = ()

    @property
    def statistics(self) -> Statistics:
        """Those of pages that carry the form."""
        if not self.form:
            return Statistics.empty()
        return learned([Small((*self.form, *lines(40 + page, 14))) for page in range(9)])


def case(
    rule: str,
    left: Small,
    right: Small,
    *,
    left_cure: Small | None = None,
    right_cure: Small | None = None,
    form: tuple[str, ...] = (),
) -> Case:
    """A case in which one side or both are cured."""
    return Case(rule, left, right, left_cure or left, right_cure or right, form)


PAGE: Final = Small(STORY, TITLE)
SHORT: Final = Small(STORY[:3], TITLE, 100)
COMMON: Final = (*STORY, *numbered(5, 2, 10))
FORM: Final = LONG[:14]
CASES: Final = (
    case(
        "too little covered",
        PAGE,
        Small((*STORY[:4], *lines(3, 8)), TITLE),
        right_cure=Small((*STORY[:10], *lines(3, 2)), TITLE),
    ),
    case(
        "too little own text in common",
        Small((STORY[0][:15],), TITLE),
        Small((STORY[0][:15] + "！",), TITLE),
        left_cure=PAGE,
        right_cure=PAGE,
    ),
    case(
        "numbers differ throughout",
        Small((*STORY, *numbered(3, 4, 100)), TITLE),
        Small((*STORY, *numbered(4, 4, 200)), TITLE),
        left_cure=Small((*STORY, *lines(3, 4)), TITLE),
        right_cure=Small((*STORY, *lines(4, 4)), TITLE),
    ),
    case(
        "same sentences with other numbers",
        Small((*LONG, "共有一1二2三3四4五5六6七7八8九9十10的事情。", *numbered(6, 3, 100)), LONG[0][:10]),
        Small((*LONG, "共有一1二2三3四4五5六6七7八8九9十10的事情。", *numbered(6, 3, 200)), LONG[0][:10]),
        right_cure=Small(
            (*LONG, "共有一1二2三3四4五5六6七7八8九9十10的事情。", *numbered(6, 3, 100)), LONG[0][:10]
        ),
    ),
    case(
        "same title on another day with other numbers",
        Small((*COMMON, *numbered(3, 2, 100)), TITLE, 100),
        Small((*COMMON, *numbered(4, 2, 200)), TITLE, 101),
        right_cure=Small((*COMMON, *numbered(4, 2, 200)), TITLE, 100),
    ),
    case(
        "much the same again on another day",
        Small((*STORY[:3], *lines(3, 1)), TITLE, 100),
        Small((*STORY[:3], *lines(4, 1)), TITLE, 101),
        right_cure=Small((*STORY[:3], *lines(4, 1)), TITLE, 100),
    ),
    case(
        "much the same again on another day",
        Small(STORY, TITLE, 100),
        Small((*STORY, STORY[0][:9]), TITLE, 140),
        right_cure=Small((*STORY, STORY[0][:9]), TITLE, 120),
    ),
    case(
        "shared text is not what the titles are about",
        Small(STORY, "海港清晨迎来新船"),
        Small((*STORY, *lines(3, 1)), "山村小学换了校车"),
        left_cure=PAGE,
        right_cure=Small((*STORY, *lines(3, 1)), TITLE),
    ),
    case(
        "title-distinguishing terms occur only in unshared text",
        Small((*REPORT, "海港清晨迎来新船。", *numbered(3, 3, 100)), HARBOUR),
        Small((*REPORT, "山村小学换了校车。", *numbered(4, 3, 200)), SCHOOL),
        left_cure=Small((*REPORT, "海港清晨迎来新船。", *lines(3, 3)), HARBOUR),
        right_cure=Small((*REPORT, "山村小学换了校车。", *lines(4, 3)), SCHOOL),
    ),
    case(
        "title-distinguishing terms occur only in unshared text",
        Small((*STORY, "海港清晨迎来新船。"), TITLE + "海港清晨迎来"),
        Small((*STORY, "山村小学换了校车。"), TITLE + "山村小学换了"),
        left_cure=Small((*STORY, "海港清晨迎来新船。"), TITLE),
        right_cure=Small((*STORY, "山村小学换了校车。"), TITLE),
    ),
    case(
        "title-distinguishing terms occur only in unshared text",
        Small((*LONG, "海港清晨迎来新船。"), LONG[0][:10] + "海港清晨迎来"),
        Small((*LONG, "山村小学换了校车。"), LONG[0][:10] + "山村小学换了"),
        left_cure=Small((*LONG, "海港清晨迎来新船。"), LONG[0][:10]),
        right_cure=Small((*LONG, "山村小学换了校车。"), LONG[0][:10]),
    ),
    case(
        "title-distinguishing terms occur only in unshared text",
        Small((f"江{WARNING}。", *STORY[:7]), "江" + WARNING),
        Small((f"陕{WARNING}。", *STORY[:7]), "陕" + WARNING),
        right_cure=Small((f"陕{WARNING}。", *STORY[:7]), "江" + WARNING),
    ),
    case(
        "too little covered for pages without titles",
        Small(LONG[:24]),
        Small((*LONG[:12], *lines(4, 20))),
        right_cure=Small((*LONG[:18], *lines(4, 8))),
    ),
    case(
        "another number in a short text without title",
        Small((*STORY, *numbered(5, 1, 10))),
        Small((*STORY, *numbered(5, 1, 20))),
        right_cure=Small(STORY),
    ),
    case(
        "another number in a short text without title",
        Small((*FORM, *lines(3, 14), *numbered(5, 1, 10))),
        Small((*FORM, *lines(3, 14), *numbered(5, 1, 20))),
        right_cure=Small((*FORM, *lines(3, 14))),
        form=FORM,
    ),
    case(
        "much the same again on another day",
        Small((*FORM, *lines(3, 14)), day=100),
        Small((*FORM, *lines(3, 14), STORY[0][:9]), day=140),
        right_cure=Small((*FORM, *lines(3, 14), STORY[0][:9]), day=120),
        form=FORM,
    ),
)


def test_untitled_prose_in_words_is_related_if_most_of_one_page_stands_in_the_other() -> None:
    shared = own_sentences(3, 24)
    part = Small((*shared, *own_sentences(1, 6)))
    for own in (6, 60):
        decided = decide_pair(part, Small((*shared, *own_sentences(2, own))))
        assert float(decided.evidence["left_cover"] or 0) >= BALANCED.words_cover
        assert decided.relation is (Relation.DUPLICATE if own == 6 else Relation.CONTAINED)
    decided = decide_pair(Small((*shared, *own_sentences(1, 16))), Small((*shared, *own_sentences(2, 16))))
    assert decided.reason == "too little covered"


def test_untitled_prose_in_words_edited_here_and_there_needs_less_than_prose_with_other_passages() -> None:
    source = random.Random(3)

    def clauses(count: int) -> list[list[str]]:
        return [["".join(source.choices("abdegilmnorstu", k=6)) for _ in range(9)] for _ in range(count)]

    def page(made: list[list[str]]) -> Small:
        return Small(tuple(" ".join(each) + "." for each in made))

    text = clauses(60)
    edited = [each if at % 10 == 0 else [*each[:4], "word", *each[5:]] for at, each in enumerate(text)]
    decided = decide_pair(page(text), page(edited))
    covers = [float(decided.evidence[f"{side}_cover"] or 0) for side in ("left", "right")]
    assert max(covers) < BALANCED.words_cover
    assert decided.relation is Relation.DUPLICATE
    decided = decide_pair(page(text), page([*text[:30], *clauses(30)]))
    assert decided.reason == "too little covered"


def test_untitled_pages_in_words_that_both_carry_menus_need_most_of_both() -> None:
    page = Small((MENU, *own_sentences(1, 4)))
    longer = Small((MENU, *own_sentences(1, 3), *own_sentences(2, 30)))
    decided = decide_pair(page, longer)
    assert BALANCED.words_cover <= float(decided.evidence["left_cover"] or 0) < BALANCED.near_copy
    assert decided.reason == "too little covered for pages without titles"
    assert (
        decide_pair(page, Small((MENU, *own_sentences(1, 4), *own_sentences(2, 30)))).relation
        is Relation.CONTAINED
    )


def test_a_note_quoted_in_a_long_page_is_contained_whatever_that_page_is_called() -> None:
    title = "海港清晨迎来新船" + STORY[0][:2]
    note = Small(("海港清晨迎来新船。", *STORY[:6]), title)
    digest = Small((*STORY[:6], "山村小学换了校车。", *lines(7, 24)), "山村小学换了校车")
    assert decide_pair(note, digest).relation is Relation.CONTAINED
    boilerplate = Small(STORY[:6], title)
    assert decide_pair(boilerplate, digest).reason == "shared text is not what the titles are about"


def test_a_large_passage_of_an_article_is_contained_whatever_the_titles_name() -> None:
    own, other = "海港清晨迎来新船。", "山村小学换了校车。"
    article = Small((own, *LONG[:16]), own[:-1])
    longer = Small((other, *LONG[:16], *lines(7, 16)), other[:-1])
    assert decide_pair(article, longer).relation is Relation.CONTAINED
    boilerplate = Small(LONG[:16], "市场上午开了新的店")
    assert decide_pair(boilerplate, longer).reason == "shared text is not what the titles are about"
    form = Small((other, *LONG[:16]), other[:-1])
    assert decide_pair(article, form).reason == "shared text is not what the titles are about"


def test_an_update_that_tells_of_the_same_figures_is_no_other_issue() -> None:
    same = (*STORY, *numbered(5, 4, 10))
    today, tomorrow = (
        Small((*same, *numbered(3, 2, 100)), TITLE, 100),
        Small((*same, *numbered(4, 2, 200)), TITLE, 101),
    )
    assert decide_pair(today, tomorrow).reason == ACCEPTED
    other = Small((*STORY, *numbered(5, 4, 60), *numbered(4, 2, 200)), TITLE, 101)
    assert decide_pair(today, other).reason == "numbers differ throughout"


def test_rows_of_a_form_that_are_filled_in_alike_are_duplicates_however_little_is_filled_in() -> None:
    form = learned([Small((STORY[0], *lines(40 + page, 2))) for page in range(9)])
    row, again, other = (
        Small((STORY[0], filled)) for filled in ("海港清晨迎来。", "海港清晨，迎来", "山村小学换了。")
    )
    found = decide_pair(row, again, form)
    assert (found.relation, found.evidence["discounted_clauses"]) == (Relation.DUPLICATE, 2)
    assert not decide_pair(row, other, form).relation.same


def test_notices_without_titles_are_told_apart_by_their_numbers() -> None:
    form = (*STORY[:8], *numbered(5, 1, 10))
    left, right = Small((*form, *numbered(3, 1, 100))), Small((*form, *numbered(3, 1, 200)))
    assert decide_pair(left, right).reason == "another number in a short text without title"
    assert decide_pair(left, replace(right, lines=(*form, *lines(4, 1)))).reason == ACCEPTED
    article = (*LONG, *lines(5, 12))
    assert decide_pair(Small((*article, *left.lines)), Small((*article, *right.lines))).reason == ACCEPTED


@pytest.mark.parametrize(
    ("first", "second", "form", "related"),
    [
        ((), (), False, True),
        ((), (), True, False),
        (numbered(6, 1, 7), numbered(7, 1, 8), False, False),
        (numbered(8, 1, 7), (), False, True),
    ],
    ids=["sent again", "filled in on a form", "other numbers", "a number left out"],
)
def test_days_count_without_titles_for_other_numbers_or_a_filled_in_form(
    first: tuple[str, ...], second: tuple[str, ...], form: bool, related: bool
) -> None:
    known = learned([Small((*FORM[:6], *lines(40 + page, 6))) for page in range(30)]) if form else None
    pages = Small((*FORM, *lines(3, 2), *first), day=100), Small((*FORM, *lines(4, 2), *second), day=200)
    decided = decide_pair(*pages, known)
    assert (decided.relation.same, decided.evidence["days_apart"]) == (related, 100)
    assert decide_pair(pages[0], replace(pages[1], day=0), known).relation.same


class TestPresets:
    def test_each_leaves_out_only_rules_that_there_are(self) -> None:
        assert all(
            preset.without <= {part for rule in RULES for part in (rule.name, rule.group)}
            for preset in PRESETS.values()
        )

    def test_each_is_a_setting(self) -> None:
        for preset in PRESETS:
            assert Settings.model_validate({"decision": {"preset": preset}}).decision.preset == preset
        with pytest.raises(ValueError, match="preset"):
            Settings.model_validate({"decision": {"preset": "odd"}})

    def test_the_document_names_every_threshold_in_which_one_differs(self) -> None:
        text = (DOCS / "algorithms/decision-rules.md").read_text(encoding="utf-8")
        table = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", text.partition("| preset |")[2], re.MULTILINE))
        for preset in PRESETS.keys() - {"balanced"}:
            written = {
                name: tuple(map(float, values.split(", ")))
                for name, values in re.findall(r"`(\w+)` ([\d., ]*\d)", table[preset])
            }
            differing = {
                each.name: tuple(np.atleast_1d(value))
                for each in fields(Thresholds)
                if (value := getattr(PRESETS[preset], each.name)) != getattr(BALANCED, each.name)
                and each.name != "without"
            }
            assert written == differing, preset

    @pytest.mark.parametrize(
        ("rule", "preset"),
        [
            ("same sentences with other numbers", "versions"),
            ("shared text is not what the titles are about", "fast"),
        ],
    )
    def test_a_rule_that_is_left_out_rejects_nothing(self, rule: str, preset: str) -> None:
        rejected = next(each for each in CASES if each.rule == rule)
        assert decide_pair(rejected.left, rejected.right, thresholds=PRESETS[preset]).reason == ACCEPTED

    def test_strict_asks_more_and_loose_less(self) -> None:
        left, right = PAGE, Small((*STORY[:8], *lines(3, 4)), TITLE)
        assert decide_pair(left, right, thresholds=STRICT).reason == "too little covered"
        assert decide_pair(left, right).relation.same
        less = Small((*STORY[:5], *lines(3, 6)), TITLE)
        assert decide_pair(left, less, thresholds=BALANCED).relation is Relation.DIFFERENT
        assert decide_pair(left, less, thresholds=LOOSE).relation is not Relation.DIFFERENT


def test_the_document_has_each_rule_in_its_place_with_its_reason() -> None:
    text = (DOCS / "algorithms/decision-rules.md").read_text(encoding="utf-8")
    table = text.partition("| reason in the evidence |")[2].partition("\n\n")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()[2:]]
    assert [(name, why) for name, _, why in rows] == [(rule.name, rule.why) for rule in RULES]


def test_the_generated_effects_are_those_of_today_s_rules() -> None:
    text = (DOCS / "benchmarks/rule-effects.md").read_text(encoding="utf-8")
    table = text.partition("| left out |")[2]
    rows = [line.split("|")[1].strip() for line in table.splitlines()[2:]]
    assert rows[3:] == [rule.name for rule in RULES], "run benchmarks/bench_rules.py --write"


def test_the_guide_defines_every_value_that_a_rule_compares() -> None:
    guide = (DOCS / "how-to/explain-a-pair.md").read_text(encoding="utf-8")
    table = guide.partition("| value of a rule, as JSON names it |")[2].partition("\n## ")[0]
    facts = {
        each.fact.name for rule in RULES for part in (rule.applies_if, *rule.rejects_if) for each in part
    }
    assert set(re.findall(r"`(\w+)`", table)) == facts


def test_every_rule_has_a_case() -> None:
    assert {each.rule for each in CASES} == {rule.name for rule in RULES}


@pytest.mark.parametrize("each", CASES, ids=lambda each: each.rule.replace(" ", "-"))
def test_the_rule_decides(each: Case) -> None:
    for left, right in ((each.left, each.right), (each.right, each.left)):
        decided = decide_pair(left, right, each.statistics)
        assert (decided.reason, decided.relation) == (each.rule, Relation.DIFFERENT), decided.evidence
        assert 0 <= decided.score <= 0.5
    assert decide_pair(each.left, each.right, each.statistics, STRICT).relation is Relation.DIFFERENT


@pytest.mark.parametrize("each", CASES, ids=lambda each: each.rule.replace(" ", "-"))
def test_without_its_cause_the_pair_is_accepted(each: Case) -> None:
    decided = decide_pair(each.cured_left, each.cured_right, each.statistics)
    assert decided.reason == ACCEPTED, decided.evidence
    assert decided.relation is not Relation.DIFFERENT
    assert (
        decide_pair(each.cured_right, each.cured_left, each.statistics).relation == decided.relation.reversed
    )


POST: Final = Small((STORY[0][:15],))
MARKED_POST: Final = Small((STORY[0][:15] + "！",))


class TestRelations:
    @pytest.mark.parametrize(
        ("left", "right", "relation"),
        [
            (PAGE, replace(PAGE, lines=("".join(STORY),)), Relation.EXACT),  # equal but for white space
            (PAGE, Small((*STORY[2:], *lines(3, 2)), TITLE), Relation.DUPLICATE),
            (PAGE, Small((*STORY, *lines(3, 8)), TITLE), Relation.CONTAINED),  # half as much again
            (Small(LONG[:10], LONG[0][:10]), Small(LONG, LONG[0][:10]), Relation.CONTAINED),
            (Small(LONG, LONG[0][:10]), Small(LONG[:10], LONG[0][:10]), Relation.CONTAINS),
            # A page without words matches its copy alone.
            (Small(("……",)), Small(("……",)), Relation.EXACT),
            (Small(("……",)), Small(("。",)), Relation.DIFFERENT),
            (Small(("",)), Small(("",)), Relation.DIFFERENT),
            # A short post without a title needs less text.
            (POST, POST, Relation.EXACT),
            (POST, MARKED_POST, Relation.DUPLICATE),
            (replace(POST, title=TITLE), replace(POST, title=TITLE), Relation.EXACT),
            (replace(POST, title=TITLE), replace(MARKED_POST, title=TITLE), Relation.DIFFERENT),
        ],
    )
    def test_of_a_pair(self, left: Small, right: Small, relation: Relation) -> None:
        decided = decide_pair(left, right)
        assert decided.relation is relation
        if left is PAGE and relation is Relation.CONTAINED:
            assert float(decided.evidence["right_cover"] or 0) >= BALANCED.same_cover

    def test_each_enabled_detector_gives_its_own_verdict(self) -> None:
        verdicts = decide_pair(PAGE, PAGE).verdicts
        assert {verdict.detector: verdict.relation.same for verdict in verdicts} == {
            "ccdet": True,
            "simhash": True,
            "coverage": True,
        }
