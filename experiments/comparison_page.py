"""Methods side by side as one HTML page: figures, curves, costs, and the pairs on which one method stands alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from es_dedup.model.explanation import format_number
from es_dedup.report.evidence import shares_in_words
from es_dedup.report.markup import element, escape, table
from es_dedup.report.shell import document
from experiments.curves import bar_list, line_chart

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

QUALITY: Final = (
    "Method", "Candidate recall", "Threshold", "Recall", "Diff merged", "Precision", "F1", "Average precision",
    "Recall, configured thresholds", "Diff merged, configured thresholds",
)  # fmt: skip
COST: Final = (
    "Method", "Features, ms a page", "Join, ms a page", "Verify, µs a pair", "All, ms a page", "Bytes a page",
    "Terms a page", "Candidates a query", "Skipped pages",
)  # fmt: skip
EXCERPT: Final = 160
MOST_ALONE: Final = 200


def render_comparison(
    data: Mapping[str, Any], texts: Mapping[str, tuple[str, str]], *, title: str, generated: datetime
) -> str:
    """The page as text.

    Args:
        data: a comparison in its JSON form, as ``python -m experiments compare --json`` gives it.
        texts: page id to title and main text, for the pages that are shown; others are shown by their ids.
        title: heading.
        generated: time shown at the foot.
    """
    methods: Mapping[str, Any] = data["methods"]
    body = "".join(
        (
            element(
                "header", element("p", "es-dedup compare", class_="kicker"), element("h1", escape(title))
            ),
            element("p", escape(_ground(data)), class_="note"),
            element("h2", "How good"),
            table(
                QUALITY, (_cells(quality_row(name, each)) for name, each in methods.items()), class_="tables"
            ),
            element("section", _curves(methods), _merged(methods), class_="charts"),
            element("h2", "What it costs"),
            table(COST, (_cells(cost_row(name, each)) for name, each in methods.items()), class_="tables"),
            element("section", *_costs(methods), class_="charts"),
            _chances(methods),
            _alone(data["alone"], texts),
            element("footer", element("p", f"Written {generated:%Y-%m-%d %H:%M}", class_="note")),
        )
    )
    style = Path(__file__).with_name("comparison.css").read_text(encoding="utf-8")
    return document(title, body, style=style)


def quality_row(name: str, method: Mapping[str, Any]) -> tuple[str, ...]:
    """Cells under ``QUALITY`` of one method in JSON form; figures of the threshold are those out of fold."""
    tuned, own = method["tuned"], method["own"]
    found = tuned["out_of_fold"] if tuned else own
    return (
        name,
        _share(method["candidate_recall"]),
        _number(method["threshold"]),
        _share(found["merged_positive"]),
        _share(found["merged_diff"]),
        _number(found["precision"]),
        _number(found["f1"]),
        _number(method["average_precision"]),
        _share(own["merged_positive"]),
        _share(own["merged_diff"]),
    )


def cost_row(name: str, method: Mapping[str, Any]) -> tuple[str, ...]:
    """Cells under ``COST`` of one method in JSON form."""
    cost = method["cost"]
    return (
        name,
        _number(cost["features_ms"]),
        _number(cost["join_ms"]),
        _number(cost["verify_us"], 1),
        _number(cost["total_ms"]),
        _number(cost["bytes"], 0),
        _number(cost["terms"], 0),
        _number(cost["candidates"], 1),
        ", ".join(f"{count} {reason}" for reason, count in method["skipped"].items()),
    )


def _ground(data: Mapping[str, Any]) -> str:
    bound = data["max_merged_diff"]
    goal = "the best F1" if bound is None else f"the most recall at {bound:.0%} merged diff pairs at most"
    return (
        f"{data['pages']:,} pages, {data['pairs']:,} labelled pairs. A pair counts as merged only if it is a candidate "
        f"of the method and its score reaches the threshold. The threshold gives {goal}; recall, diff merged, precision "
        "and F1 are measured out of fold. Partial pairs count neither for nor against. Times are processor time of one "
        "core."
    )


def _cells(row: Sequence[str]) -> list[str]:
    return [escape(cell) for cell in row]


def _share(share: Mapping[str, Any]) -> str:
    return f"{share['value']:.3f} ({share['hits']}/{share['total']})" if share["total"] else "–"


def _number(value: float | None, places: int = 3) -> str:
    return "–" if value is None else f"{value:,.{places}f}"


def _curves(methods: Mapping[str, Any]) -> str:
    lines = {
        f"{name} ({each['average_precision']:.2f})": [
            (recall, precision) for _, recall, precision, _ in each["curve"]
        ]
        for name, each in methods.items()
    }
    return line_chart("Precision over recall (in brackets: average precision)", "recall", "precision", lines)


def _merged(methods: Mapping[str, Any]) -> str:
    lines = {name: [(diff, recall) for _, recall, _, diff in each["curve"]] for name, each in methods.items()}
    return line_chart(
        "Recall over merged diff pairs", "share of the diff pairs that is merged", "recall", lines
    )


def _costs(methods: Mapping[str, Any]) -> list[str]:
    charts = (
        ("Processor time a page, features to verified pairs", "ms", "total_ms"),
        ("Stored features of a page", "bytes", "bytes"),
        ("Candidates a query, before verification", "pages", "candidates"),
    )
    return [
        bar_list(title, unit, {name: each["cost"][key] for name, each in methods.items()})
        for title, unit, key in charts
    ]


def _chances(methods: Mapping[str, Any]) -> str:
    rows = [
        (escape(name), f"{low:.1f}–{low + 0.1:.1f}", str(pairs), f"{predicted:.3f}", f"{measured:.3f}")
        for name, each in methods.items()
        for low, pairs, predicted, measured in each["chances"]
    ]
    if not rows:
        return ""
    heads = ("Method", "Score", "Labelled pairs", "Predicted share retrieved", "Measured share retrieved")
    return element("h2", "Band layouts: predicted and measured candidates") + table(
        heads, rows, class_="tables"
    )


def _alone(pairs: Sequence[Mapping[str, Any]], texts: Mapping[str, tuple[str, str]]) -> str:
    if not pairs:
        return ""
    shown = "".join(_alone_pair(each, texts) for each in pairs[:MOST_ALONE])
    rest = len(pairs) - MOST_ALONE
    note = element("p", f"{rest:,} more are in the JSON form.", class_="note") if rest > 0 else ""
    return element("section", element("h2", "Pairs on which one method stands alone"), shown, note)


def _alone_pair(each: Mapping[str, Any], texts: Mapping[str, tuple[str, str]]) -> str:
    head = f"{each['method']} alone is {each['verdict']}: labelled {each['label']}"
    evidence = ", ".join(f"{name} {_value(value)}" for name, value in each["evidence"].items())
    scores = ", ".join(
        f"{name} {'–' if score is None else f'{score:.3f}'}" for name, score in each["scores"].items()
    )
    shares = each.get("shares")
    covered = "" if shares is None else shares_in_words(shares, "the first page", "the second page", 0)
    return element(
        "div",
        element("h3", escape(head)),
        *(_page(each[side], texts) for side in ("left", "right")),
        *([element("p", escape(covered), class_="note")] if covered else []),
        element("p", element("b", escape(each["method"])), " ", escape(evidence), class_="note"),
        element("p", "scores: ", escape(scores), class_="note"),
        class_="alone",
    )


def _value(value: object) -> str:
    return format_number(value) if isinstance(value, (int, float)) else str(value)


def _page(page: str, texts: Mapping[str, tuple[str, str]]) -> str:
    title, text = texts.get(page, ("", ""))
    excerpt = " ".join(text[:EXCERPT].split()) + ("…" if len(text) > EXCERPT else "")
    return element("p", element("code", escape(page)), " ", element("b", escape(title)), " ", escape(excerpt))
