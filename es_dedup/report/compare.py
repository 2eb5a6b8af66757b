"""A member beside its canonical document: both texts aligned, and the evidence by method."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from es_dedup.decision.alignment import distinguishing_words
from es_dedup.model.translations import ENGLISH, translate, translate_filled
from es_dedup.report.alignment import side_by_side
from es_dedup.report.evidence import Measure, measures, rule_rows
from es_dedup.report.features import listed
from es_dedup.report.markup import element, escape, link, table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from es_dedup.index.records import FeatureRecord
    from es_dedup.model import Number, PairDecision
    from es_dedup.report.data import MemberComparison, PageView


def comparison(
    canonical: PageView,
    each: MemberComparison,
    chars: int,
    roles: tuple[str, str] = ("canonical", "member"),
    language: str = ENGLISH,
    *,
    blind: bool = False,
    heading: str = "h3",
) -> str:
    """Texts and evidence of one pair, measures closed at first.

    Args:
        canonical: the left page.
        each: the right page, and what was decided of the pair.
        chars: of each text at most so many characters are shown.
        roles: what each page is called.
        language: of all words around the pages.
        blind: the decision is closed at first, too: who labels pairs shall read the texts.
        heading: element of the titles, one below the heading above.
    """
    pages = canonical, each.page
    languages = canonical.record.language, each.page.record.language
    verdict, *reasons = _verdict(each.decision, language)
    measured = (*reasons, _methods(each.decision, language), _distinguishing(canonical, each, language))
    summary = element(
        "summary", escape(translate(language, "Decision and measures" if blind else "Measures"))
    )
    return element(
        "article",
        "" if blind else verdict,
        element(
            "div",
            *(_head(*page, language, heading) for page in zip(pages, roles, strict=True)),
            class_="pair",
        ),
        side_by_side(each.rows, languages, chars, language),
        element("details", summary, verdict if blind else "", *measured),
        _rules(each.decision, language),
        _fields(each, language),
    )


def _distinguishing(canonical: PageView, each: MemberComparison, language: str) -> str:
    titles = canonical.record.title, each.page.record.title
    left, right = distinguishing_words(titles, each.rows)
    if not left and not right:
        return ""
    terms = "; ".join(", ".join(side) or "–" for side in (left, right))
    template = "title-distinguishing terms only in unshared text: {terms}"
    return element("p", escape(translate(language, template, terms=terms)))


def _fields(each: MemberComparison, language: str) -> str:
    """Named features of both pages, closed at first: what both have, and what one has alone."""
    if not each.fields:
        return ""
    cells = (
        (
            element("code", escape(pair.name)),
            *(escape(listed(texts, language=language)) for texts in (pair.shared, pair.left, pair.right)),
        )
        for pair in each.fields
    )
    heads = [translate(language, head) for head in ("Feature", "Both pages", "Canonical only", "Member only")]
    summary = element("summary", escape(translate(language, "Features by name")))
    return element("details", summary, table(heads, cells))


def _head(page: PageView, role: str, language: str, heading: str) -> str:
    record = page.record
    length = translate(language, "{count} characters", count=f"{len(page.text):,}")
    facts = " · ".join(filter(None, (record.site, when(record.published), length)))
    missing = element("p", escape(translate(language, "The text is not kept.")), class_="note")
    return element(
        "div",
        element("p", escape(translate(language, role)), class_="kicker"),
        element(heading, link(record.url, title_of(record))),
        element("p", element("code", escape(record.page_id)), " ", escape(facts), class_="note"),
        "" if page.text else missing,
        class_="page",
    )


def _verdict(decision: PairDecision, language: str) -> Iterator[str]:
    """What was decided, then the reasons; a paragraph each."""
    left, right = translate(language, "the left page"), translate(language, "the right page")
    first, *rest = replace(decision, left=left, right=right).explained(language)
    yield element("p", relation_tag(str(decision.relation), language), " ", escape(first))
    yield from (element("p", escape(line)) for line in rest)


def _methods(decision: PairDecision, language: str) -> str:
    """A row for each method: its relation, its score, its measures with their thresholds."""
    score = translate(language, "agreement as this method measures it, from 0 to 1")
    cells = [
        (
            element("b", escape(verdict.detector)),
            relation_tag(str(verdict.relation), language),
            element("span", f"{verdict.score:.3f}", title=score),
            "".join(_numbers(verdict.evidence, language)),
        )
        for verdict in decision.all_verdicts
    ]
    cells += [
        (
            element("b", escape(name)),
            escape(translate(language, "not applicable")),
            "",
            escape(
                translate(language, "; ").join(
                    translate_filled(language, part) for part in reason.split("; ")
                )
            ),
        )
        for name, reason in decision.skipped.items()
    ]
    heads = ("Method", "Relation", "Score", "Measures and their thresholds")
    return table([translate(language, head) for head in heads], cells)


def _rules(decision: PairDecision, language: str) -> str:
    """What each rule says, closed at first."""
    if not decision.rules:
        return ""
    cells = (tuple(map(escape, row)) for row in rule_rows(decision.rules, language))
    heads = [translate(language, head) for head in ("Rule", "Outcome", "Because")]
    summary = element("summary", escape(translate(language, "Rules in order")))
    return element("details", summary, table(heads, cells))


def _numbers(evidence: Mapping[str, Number], language: str) -> Iterator[str]:
    for measure in measures(evidence):
        value = element("i" if measure.name.startswith(("min_", "max_")) else "b", escape(measure.value))
        yield element("span", escape(measure.name), " ", value, _threshold(measure, language), class_="n")


def _threshold(measure: Measure, language: str) -> str:
    if not measure.threshold:
        return ""
    state = {True: "met", False: "unmet", None: "threshold"}[measure.met]
    meaning = {
        "met": translate(language, "the threshold is met"),
        "unmet": translate(language, "the threshold is not met"),
    }
    return " " + element("i", escape(measure.threshold), class_=state, title=meaning.get(state))


def relation_tag(name: str, language: str = ENGLISH) -> str:
    """A relation as a small label."""
    return element("span", escape(translate(language, name)), class_=f"tag {name if name.isalpha() else ''}")


def when(published: str) -> str:
    """A date with the time to the minute; the date alone at midnight, which stands for a time that nobody gave."""
    return published[:16].replace("T", " ").removesuffix(" 00:00")


def title_of(record: FeatureRecord) -> str:
    """What a page is called: its title, else its URL, else its id."""
    return record.title or record.url or record.page_id
