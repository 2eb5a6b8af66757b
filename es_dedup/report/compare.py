"""A member beside its canonical document: the evidence by method, and both texts aligned."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from es_dedup.decision.alignment import distinguishing_words
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
    canonical: PageView, each: MemberComparison, chars: int, roles: tuple[str, str] = ("canonical", "member")
) -> str:
    """Evidence and texts of one pair; at most ``chars`` characters of each text, below what ``roles`` say of the pages."""
    pages = canonical, each.page
    languages = canonical.record.language, each.page.record.language
    return element(
        "article",
        _evidence(each),
        _distinguishing(canonical, each),
        _fields(each),
        element("div", *map(_head, pages, roles), class_="pair"),
        side_by_side(each.rows, languages, chars),
    )


def _distinguishing(canonical: PageView, each: MemberComparison) -> str:
    titles = canonical.record.title, each.page.record.title
    left, right = distinguishing_words(titles, each.rows)
    if not left and not right:
        return ""
    said = "; ".join(", ".join(side) or "–" for side in (left, right))
    return element("p", escape(f"title-distinguishing terms only in unshared text: {said}"))


def _fields(each: MemberComparison) -> str:
    """Named features of both pages, closed at first: what both have, and what one has alone."""
    if not each.fields:
        return ""
    cells = (
        (
            element("code", escape(pair.name)),
            *(escape(listed(texts)) for texts in (pair.shared, pair.left, pair.right)),
        )
        for pair in each.fields
    )
    heads = ("Feature", "Both pages", "Canonical only", "Member only")
    return element("details", element("summary", "Features by name"), table(heads, cells))


def _head(page: PageView, role: str) -> str:
    record = page.record
    facts = " · ".join(
        filter(None, (record.site, record.published[:16].replace("T", " "), f"{len(page.text):,} characters"))
    )
    return element(
        "div",
        element("p", escape(role), class_="kicker"),
        element("h3", link(record.url, title_of(record))),
        element("p", element("code", escape(record.page_id)), " ", escape(facts), class_="note"),
        "" if page.text else element("p", "The text is not kept.", class_="note"),
        class_="page",
    )


def _evidence(each: MemberComparison) -> str:
    decision = each.decision
    cells = [
        (
            element("b", escape(verdict.detector)),
            relation_tag(str(verdict.relation)),
            f"{verdict.score:.3f}",
            "".join(_numbers(verdict.evidence)),
        )
        for verdict in decision.all_verdicts
    ]
    cells += [
        (element("b", escape(name)), "not applicable", "", escape(reason))
        for name, reason in decision.skipped.items()
    ]
    first, *rest = replace(decision, left="the left page", right="the right page").explanation
    reason = element("p", relation_tag(str(decision.relation)), " ", escape(first))
    reason += "".join(element("p", escape(line)) for line in rest)
    methods = table(("Method", "Relation", "Score", "Numbers and the limits they were held against"), cells)
    return reason + methods + _rules(decision)


def _rules(decision: PairDecision) -> str:
    """What each rule says, closed at first."""
    if not decision.rules:
        return ""
    cells = (tuple(map(escape, row)) for row in rule_rows(decision.rules, in_words=True))
    return element(
        "details", element("summary", "Rules in order"), table(("Rule", "Outcome", "Because"), cells)
    )


def _numbers(evidence: Mapping[str, Number]) -> Iterator[str]:
    for measure in measures(evidence):
        value = element("i" if measure.name.startswith(("min_", "max_")) else "b", escape(measure.value))
        yield element("span", escape(measure.name), " ", value, _limit(measure), class_="n")


def _limit(measure: Measure) -> str:
    if not measure.limit:
        return ""
    state = {True: "met", False: "unmet", None: "limit"}[measure.met]
    return " " + element("i", escape(measure.limit), class_=state)


def relation_tag(name: str) -> str:
    """A relation as a small label."""
    return element("span", escape(name), class_=f"tag {name if name.isalpha() else ''}")


def title_of(record: FeatureRecord) -> str:
    """What a page is called: its title, else its URL, else its id."""
    return record.title or record.url or record.page_id
