"""Tuning: what another preset or threshold would change, before it is applied."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from es_dedup.decision.thresholds import PRESETS, preset_thresholds, thresholds_of
from es_dedup.evaluation import wilson
from es_dedup.evaluation.agreement import agreed_labels
from es_dedup.evaluation.settings_change import settings_change
from es_dedup.model.translations import translate
from es_dedup.settings.decision import ThresholdsConfig
from es_dedup.settings.recorded import decision_differences, decision_settings
from es_dedup.settings.sections import descriptions
from es_dedup.views.compare import title_of
from es_dedup.views.forms import button, check, entry, hidden, labelled, select
from es_dedup.views.frame import anchor, framed, path
from es_dedup.views.markup import element, escape, relation_tag, table
from es_dedup.views.templates import short

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from es_dedup.deduplicator.deduplicator import Deduplicator
    from es_dedup.deduplicator.index_reader import IndexReader
    from es_dedup.evaluation.settings_change import PairChange, SettingsChange
    from es_dedup.settings import Settings
    from es_dedup.settings.decision import DecisionConfig

COMPARED: Final = 500
"""Pages whose candidates are compared: all of a smaller index, else a random draw."""
LISTED: Final = 50
"""Changed pairs that are listed."""
PRESET: Final = "decision.preset"
THRESHOLDS: Final = "decision.thresholds."


def changes_of(given: Mapping[str, str]) -> dict[str, Any]:
    """Other values of settings as a form has them; an empty field changes nothing. Values are JSON or plain text.

    Args:
        given: ``preset``, thresholds by their dotted names, and one more setting as ``name`` and ``value``.
    """
    found = {name: _value(value) for name, value in given.items() if name.startswith(THRESHOLDS) and value}
    if preset := given.get("preset"):
        found[PRESET] = preset
    if (name := given.get("name")) and (value := given.get("value")):
        found[name] = _value(value)
    return found


def _value(text: str) -> Any:
    """The value that a field of the form stands for; commas separate the members of a list."""
    for each in (text, f"[{text}]"):
        with suppress(ValueError, RecursionError):
            return json.loads(each)
    return text


def tune(
    reader: Deduplicator,
    language: str,
    writes: bool,  # noqa: FBT001 - sent to a process by position
    changes: Mapping[str, Any],
) -> bytes:
    """A form for other settings, and what they would change; with ``writes`` also buttons to apply them.

    Raises:
        ConfigError: see ``IndexReader.settings_with``.
    """
    before, entered = reader.settings_with({}), changes
    changes = _following_the_preset(entered, reader.settings_with(entered).decision)
    after = reader.settings_with(changes)
    note = translate(
        language,
        "Another preset or threshold is compared with the settings in force; nothing is changed by looking.",
    )
    body = element("p", escape(note), class_="note") + _form(language, before, entered)
    differences = decision_differences(decision_settings(before), after)
    if (differ := reader.settings_differ) and differ.decisions:
        text = translate(
            language, "Settings of the server that are not in force; a recluster from the jobs applies them:"
        )
        said = "; ".join(map(str, differ.decisions))
        body += element("p", escape(f"{text} {said}"), class_="note")
    if differences:
        of_preset = translate(language, "of the preset")
        heads = [translate(language, each) for each in ("Setting", "In force", "Tried")]
        rows = (
            (
                element("code", escape(each.name)),
                *(escape(_written(value) or of_preset) for value in (each.recorded, each.current)),
            )
            for each in differences
        )
        change = settings_change(reader, changes, agreed_labels(reader.annotations()), COMPARED)
        body += table(heads, rows)
        if writes:
            body += _apply(language, changes)
        body += _on_labels(reader, language, change) + _on_pages(reader, language, change)
    elif entered:
        body += element("p", escape(translate(language, "These are the settings in force.")), class_="empty")
    return framed(translate(language, "Tune"), body, language)


def _following_the_preset(changes: Mapping[str, Any], tried: DecisionConfig) -> dict[str, Any]:
    """The changes; a threshold with the value of the tried preset is not set any more, and follows the preset."""
    alone, of_preset = thresholds_of(tried), preset_thresholds(tried.preset)
    own = {
        THRESHOLDS + name
        for name in ThresholdsConfig.model_fields
        if getattr(alone, name) == getattr(of_preset, name)
    }
    return {name: None if name in own else value for name, value in changes.items()}


def _form(language: str, settings: Settings, changes: Mapping[str, Any]) -> str:
    known = decision_settings(settings)
    preset = str(changes.get(PRESET, known[PRESET]))
    other = next((name for name in changes if name != PRESET and not name.startswith(THRESHOLDS)), "")
    value = changes.get(other, "")
    shown = value if isinstance(value, str) else json.dumps(value)
    names = [name for name in known if name != PRESET and not name.startswith(THRESHOLDS)]
    settable = [("", translate(language, "no other")), *((each, f"{each} ({known[each]})") for each in names)]
    return element(
        "form",
        labelled(language, "Preset", select("preset", ((each, each) for each in PRESETS), preset)),
        labelled(language, "Setting", select("name", settable, other)),
        labelled(language, "Value", entry("value", value=shown)),
        button(language, "Show what would change"),
        _thresholds(language, settings.decision, preset, changes),
        action=path("tune"),
        class_="bar",
    )


def _thresholds(language: str, decision: DecisionConfig, preset: str, changes: Mapping[str, Any]) -> str:
    """The thresholds of the decision rules, in force and of the chosen preset, each with a field for another value."""
    in_force, of_preset = thresholds_of(decision), preset_thresholds(preset)
    rows = []
    for name, meaning in descriptions(ThresholdsConfig).items():
        key = THRESHOLDS + name
        tried = entry(
            key, value=_written(changes.get(key)), **{"aria-label": f"{translate(language, 'Tried')}: {name}"}
        )
        rows.append(
            (
                element("code", escape(name)),
                escape(translate(language, meaning)),
                escape(_written(getattr(in_force, name))),
                escape(_written(getattr(of_preset, name))),
                tried,
            )
        )
    heads = [
        translate(language, each) for each in ("Threshold", "Meaning", "In force", "of the preset", "Tried")
    ]
    some = any(name.startswith(THRESHOLDS) for name in changes)
    return element(
        "details",
        element("summary", escape(translate(language, "Thresholds of the decision rules"))),
        table(heads, rows, class_="rows"),
        open="" if some else None,
    )


def _written(value: object) -> str:
    """A threshold as it is entered; nothing where there is none."""
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)


def _apply(language: str, changes: Mapping[str, Any]) -> str:
    inside = (
        hidden({"settings": json.dumps(changes, ensure_ascii=False)}),
        button(language, "Dry run on the whole index", name_="dry_run", value="true"),
        button(language, "Apply: recluster with these settings"),
        check(language, "force", "Even if very many documents change"),
    )
    return element("form", *inside, action=path("tune"), method="post", class_="bar decide")


def _on_labels(reader: IndexReader, language: str, change: SettingsChange) -> str:
    head = element("h2", escape(translate(language, "On labelled pairs")))
    if not change.labels:
        text = translate(language, "No pair of stored pages has an agreed label yet.")
        return head + element("p", escape(text), class_="empty")
    rows = (
        (escape(each.label), f"{each.pairs:,}", f"{each.before:,}", f"{each.after:,}")
        for each in change.labels
    )
    heads = [translate(language, each) for each in ("Label", "Pairs", "Merged before", "Merged after")]
    return head + table(heads, rows, class_="rows") + _pairs(reader, language, change.labelled)


def _on_pages(reader: IndexReader, language: str, change: SettingsChange) -> str:
    drawn = f"{change.pages:,} {translate(language, 'pages drawn at random of')} {change.stored:,}"
    if change.pages == change.stored:
        drawn = f"{translate(language, 'all pages')}: {change.stored:,}"
    joined = sum(each.step > 0 for each in change.changed)
    parted = sum(each.step < 0 for each in change.changed)
    low, high = wilson(change.concerned, change.pages)
    share = f" ({low:.1%} – {high:.1%})" if change.pages < change.stored else ""
    others = len(change.changed) - joined - parted
    facts = [
        f"{drawn}; {_counted(language, (change.pairs, 'pairs compared'))}",
        _counted(
            language, (joined, "pairs joined"), (parted, "pairs parted"), (others, "other relations changed")
        ),
        _counted(language, (change.concerned, "pages concerned"))
        + share
        + _counted(language, (len(change.clusters), "clusters concerned"), before=", "),
    ]
    if change.recluster is None:
        text = "Clusters after reclustering are counted by a dry run on the whole index."
        facts.append(translate(language, text))
    else:
        found = change.recluster
        steps = (("before", found.clusters_before), ("after", found.clusters))
        said = ", ".join(f"{translate(language, when)} {count:,}" for when, count in steps)
        moved = _counted(language, (found.changed, "pages with another canonical document"), before="; ")
        facts.append(f"{translate(language, 'clusters')}: {said}{moved}")
    head = element("h2", escape(translate(language, "On stored pages")))
    listed = element("ul", *(element("li", escape(each)) for each in facts))
    links = ", ".join(anchor(short(name), path("clusters", name)) for name in change.clusters[:LISTED])
    clusters = element("p", escape(translate(language, "Clusters")), ": ", links) if links else ""
    first = sorted(change.changed, key=lambda each: not each.step)
    return head + listed + clusters + _pairs(reader, language, first)


def _counted(language: str, *counts: tuple[int, str], before: str = "") -> str:
    return before + ", ".join(f"{count:,} {translate(language, text)}" for count, text in counts)


def _pairs(reader: IndexReader, language: str, pairs: Sequence[PairChange]) -> str:
    if not pairs:
        return ""
    rows = []
    for each in pairs[:LISTED]:
        titles = " · ".join(title_of(reader.record(name)) for name in (each.left, each.right))
        rows.append(
            (
                anchor(short(titles), path("compare", left=each.left, right=each.right)),
                relation_tag(str(each.before), language),
                relation_tag(str(each.after), language),
            )
        )
    heads = [translate(language, each) for each in ("Page", "before", "after")]
    more = ""
    if len(pairs) > LISTED:
        text = f"{len(pairs):,} {translate(language, 'of all shown')} {LISTED:,}"
        more = element("p", escape(text), class_="note")
    return table(heads, rows, class_="rows") + more
