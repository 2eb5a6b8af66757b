"""Review: pairs near a threshold, shown to readers who say what they are; and how far readers agree."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Final

from es_dedup.batch.journal import MAX_CHARS
from es_dedup.errors import UnknownPage
from es_dedup.evaluation.agreement import agreements, as_jsonl, consensus
from es_dedup.evaluation.labels import UNDECIDED
from es_dedup.evaluation.rule_thresholds import deciding_conditions
from es_dedup.evaluation.uncertain import sampled, uncertain_pairs
from es_dedup.model.annotations import Label
from es_dedup.model.translations import translate
from es_dedup.views.details import side_by_side
from es_dedup.views.forms import button, check, entry, hidden, labelled
from es_dedup.views.frame import anchor, framed, path
from es_dedup.views.markup import element, escape, table

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from es_dedup.deduplicator.index_reader import IndexReader
    from es_dedup.evaluation.labels import Pair
    from es_dedup.model import PairDecision
    from es_dedup.model.annotations import Annotation

DRAWN_PAGES: Final = 2_000
"""Pages that a queue is drawn from at random."""
DRAWN_PAIRS: Final = 30
"""Pairs of a queue."""
ANSWERS: Final = {
    Label.DUP: "Same",
    Label.DIFF: "Different",
    Label.CONTAIN: "One contains the other",
    Label.PARTIAL: "A passage is shared",
}
"""Labels in words."""
SKIP: Final = "skip"
UNDO: Final = "undo"


def draw(reader: IndexReader, seed: int) -> bytes:
    """A queue: the pairs most in doubt among those of some pages and their candidates, not labelled by anybody; JSON."""
    known = {each.pair for each in reader.annotations()}
    pages = sampled(reader, DRAWN_PAGES, seed)
    found = uncertain_pairs(reader, pages, count=DRAWN_PAIRS, known=known, seed=seed)
    return json.dumps([each.pair for each in found]).encode()


def labels(reader: IndexReader) -> bytes:
    """All labels as JSON lines, one for each pair; ``?`` where readers differ."""
    return as_jsonl(consensus(reader.annotations())).encode()


def begin(reader: IndexReader, language: str, writes: bool) -> bytes:  # noqa: FBT001 - sent to a process by position
    """What was labelled by whom, and how far readers agree; with ``writes`` the form that begins a review."""
    said = reader.annotations()
    body = _start(language) if writes else ""
    if said:
        body += _readers(said, language) + _agreement(said, language)
        rows = consensus(said)
        undecided = sum(row["label"] == UNDECIDED for row in rows)
        note = f"{len(rows):,} {translate(language, 'pairs')}, {undecided:,} {translate(language, 'undecided')} · "
        link = anchor(
            translate(language, "Labels as JSON lines"), path("review", "labels.jsonl"), download=""
        )
        body += element("p", escape(note), link, class_="note")
    else:
        body += element("p", escape(translate(language, "No pair was labelled yet.")), class_="empty")
    return framed(translate(language, "Review"), body, language)


def ask(
    reader: IndexReader,
    language: str,
    name: str,
    second: bool,  # noqa: FBT001
    queue: Sequence[Pair],
    skipped: Collection[Pair],
    wanted: Pair | None,
) -> bytes:
    """The next pair for a reader, with what its decision hangs on, and buttons for the answers.

    Args:
        reader: of the index.
        language: of the console.
        name: of who reads.
        second: pairs that other readers have labelled come first.
        queue: drawn pairs.
        skipped: pairs that are not asked again.
        wanted: this pair, whatever was said of it.
    """
    said = reader.annotations()
    done = {each.pair for each in said if each.reader == name} | set(skipped)
    others = [each.pair for each in said if each.reader != name] if second else []
    open_pairs = [pair for pair in dict.fromkeys((*others, *queue)) if pair not in done]
    if wanted is not None:
        open_pairs = list(dict.fromkeys((wanted, *open_pairs)))
    given = {"reader": name, **({"second": "true"} if second else {})}
    for pair in open_pairs:
        try:
            decision, shown = reader.explain(*pair), side_by_side(reader, language, *pair, blind=True)
        except UnknownPage:  # removed meanwhile
            continue
        note = f"{name} · {len(open_pairs):,} {translate(language, 'pairs left')}"
        body = _form(language, pair, given) + shown + _nearest(decision, language)
        body += element("p", escape(note), class_="note")
        return framed(translate(language, "Review"), body, language)
    body = element(
        "p", escape(translate(language, "All pairs that were drawn are labelled.")), class_="empty"
    )
    again, undo = button(language, "Draw further pairs"), button(language, "Undo", **_of_key("u", UNDO))
    body += element("form", hidden(given), again, action=path("review", "draw"), method="post", class_="bar")
    body += element("form", hidden(given), undo, action=path("review"), method="post", class_="bar")
    return framed(translate(language, "Review"), body, language)


def _start(language: str) -> str:
    named = labelled(
        language, "Name", entry("reader", required=True, maxlength=MAX_CHARS, autocomplete="name")
    )
    second = check(language, "second", "Pairs that others have labelled first", checked=True)
    note = translate(
        language,
        "Pairs whose decision is nearest to a threshold come first. Labels change no cluster; they measure and tune the decisions.",
    )
    return element("p", escape(note), class_="note") + element(
        "form", named, second, button(language, "Start"), action=path("review"), class_="bar"
    )


def _form(language: str, pair: Pair, given: dict[str, str]) -> str:
    answers = (*((label.key, label, text) for label, text in ANSWERS.items()), ("s", SKIP, "Skip"))
    buttons = [
        button(language, text, " ", element("kbd", key), **_of_key(key, answer))
        for key, answer, text in (*answers, ("u", UNDO, "Undo"))
    ]
    too = element(
        "details",
        element("summary", escape(translate(language, "Also as an override"))),
        check(language, "override", "Clusters follow the answer same or different"),
        labelled(language, "Reason", entry("reason", maxlength=MAX_CHARS)),
    )
    nothing = element("button", disabled="", hidden="")  # Enter in the field is no answer
    named = hidden({**given, "left": pair[0], "right": pair[1]})
    return element(
        "form",
        nothing,
        named,
        *buttons,
        too,
        action=path("review"),
        method="post",
        class_="bar decide review",
    )


def _of_key(key: str, answer: str) -> dict[str, str]:
    return {"name_": "answer", "value": answer, "data_key": key}


def _nearest(decision: PairDecision, language: str) -> str:
    """The conditions that alone decide, nearest to their thresholds first."""
    found = deciding_conditions((decision.otherwise or decision).rules)
    if not found:
        return ""
    rows = [
        (escape(each.condition.said(language)), escape(translate(language, each.rule)), f"{each.margin:.1%}")
        for each in found
        if each.margin < 1
    ]
    first = found[0]
    nearest = escape(f"{first.condition.said(language)} · {translate(language, first.rule)}")
    heads = ("Measure and threshold", "Rule", "Distance from the threshold")
    return element(
        "details",
        element("summary", f"{escape(translate(language, 'Nearest threshold'))}: {nearest}"),
        table([translate(language, head) for head in heads], rows),
    )


def _readers(said: Sequence[Annotation], language: str) -> str:
    counts = Counter((each.reader, each.label) for each in said)
    names = sorted({each.reader for each in said})
    rows = [
        (escape(name), *(f"{counts[name, label]:,}" for label in ANSWERS), f"{total:,}")
        for name in names
        for total in [sum(counts[name, label] for label in ANSWERS)]
    ]
    heads = ("Name", *ANSWERS.values(), "Labels")
    return element("h2", escape(translate(language, "Readers"))) + table(
        [translate(language, head) for head in heads], rows, class_="rows"
    )


def _agreement(said: Sequence[Annotation], language: str) -> str:
    found = agreements(said)
    if not found:
        return ""
    rows = [
        (
            escape(" · ".join(each.readers)),
            f"{each.pairs:,}",
            f"{each.share:.0%}",
            "–" if each.kappa is None else f"{each.kappa:.2f}",
        )
        for each in found
    ]
    heads = ("Readers", "Pairs labelled by both", "Agreement", "Cohen's kappa")
    return element("h2", escape(translate(language, "Agreement"))) + table(
        [translate(language, head) for head in heads], rows, class_="rows"
    )
