"""Tuning: what another preset or threshold would change, before it is applied."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from es_dedup.decision.thresholds import PRESETS, preset_thresholds, thresholds_of
from es_dedup.evaluation import wilson
from es_dedup.evaluation.agreement import agreed_labels
from es_dedup.evaluation.settings_change import PairChange, settings_change
from es_dedup.settings.decision import DecisionConfig, ThresholdsConfig
from es_dedup.settings.loading import written
from es_dedup.settings.recorded import decision_differences, decision_settings
from es_dedup.settings.sections import descriptions
from es_dedup.views.templates import console_page

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from es_dedup.deduplicator.deduplicator import Deduplicator
    from es_dedup.deduplicator.index_reader import IndexReader
    from es_dedup.index.records import FeatureRecord
    from es_dedup.settings import Settings
    from es_dedup.views.frame import Visitor

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


def tune(reader: Deduplicator, visitor: Visitor, changes: Mapping[str, Any]) -> bytes:
    """A form for other settings, and what they would change; who may write can apply them.

    Raises:
        ConfigError: see ``IndexReader.settings_with``.
    """
    before, entered = reader.settings_with({}), changes
    changes = _following_the_preset(entered, reader.settings_with(entered).decision)
    differences = decision_differences(decision_settings(before), reader.settings_with(changes))
    change = (
        settings_change(reader, changes, agreed_labels(reader.annotations()), COMPARED)
        if differences
        else None
    )
    differ = reader.settings_differ
    return console_page(
        "tune",
        visitor,
        **_form(before, entered),
        entered=bool(entered),
        not_in_force=differ.decisions if differ else (),
        differences=[(each.name, written(each.recorded), written(each.current)) for each in differences],
        settings=json.dumps(changes, ensure_ascii=False),
        change=change,
        steps=Counter(each.step for each in change.changed) if change else {},
        share=wilson(change.concerned, change.pages) if change and change.pages < change.stored else None,
        listed=LISTED,
        labelled=_pairs(reader, change.labelled if change else ()),
        changed=_pairs(reader, sorted(change.changed, key=lambda each: not each.step) if change else ()),
    )


def _following_the_preset(changes: Mapping[str, Any], tried: DecisionConfig) -> dict[str, Any]:
    """The changes; a threshold with the value of the tried preset is not set any more, and follows the preset."""
    alone, of_preset = thresholds_of(tried), preset_thresholds(tried.preset)
    own = {
        THRESHOLDS + name
        for name in ThresholdsConfig.model_fields
        if getattr(alone, name) == getattr(of_preset, name)
    }
    return {name: None if name in own else value for name, value in changes.items()}


def _form(settings: Settings, changes: Mapping[str, Any]) -> dict[str, Any]:
    """What the form shows: presets, the other settings, and the thresholds of the chosen preset."""
    known = decision_settings(settings)
    preset = str(changes.get(PRESET, known[PRESET]))
    other = next((name for name in changes if name != PRESET and not name.startswith(THRESHOLDS)), "")
    value = changes.get(other, "")
    in_force, of_preset = thresholds_of(settings.decision), preset_thresholds(preset)
    return {
        "presets": list(PRESETS),
        "preset": preset,
        "others": {
            name: each for name, each in known.items() if name != PRESET and not name.startswith(THRESHOLDS)
        },
        "other": other,
        "value": value if isinstance(value, str) else json.dumps(value),
        "thresholds": [
            {
                "name": THRESHOLDS + name,
                "meaning": meaning,
                "in_force": written(getattr(in_force, name)),
                "of_preset": written(getattr(of_preset, name)),
                "tried": written(changes.get(THRESHOLDS + name)),
            }
            for name, meaning in descriptions(ThresholdsConfig).items()
        ],
    }


def _pairs(
    reader: IndexReader, pairs: Sequence[PairChange]
) -> tuple[int, list[tuple[PairChange, FeatureRecord, FeatureRecord]]]:
    """How many pairs there are, and the first with the records of both pages."""
    shown = pairs[:LISTED]
    return len(pairs), [(each, reader.record(each.left), reader.record(each.right)) for each in shown]
