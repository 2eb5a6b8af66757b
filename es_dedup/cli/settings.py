"""``config``: every setting, where it comes from, and what differs from an index."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from es_dedup.cli.session import Session
from es_dedup.errors import Difference, IndexError_, SettingsMismatch

if TYPE_CHECKING:
    from es_dedup.settings import Settings
    from es_dedup.settings.decision import DecisionConfig
    from es_dedup.settings.loading import SettingLine


def config(session: Session) -> None:
    """Show every setting with its value and where it comes from, and which given ones differ from those of the index.

    A setting that nobody has given has the value that the index records.

    Files that settings in use name are read, and one that cannot be used is an error.
    """
    from es_dedup.extraction import kept_extractor
    from es_dedup.index.factory import read_word_lists
    from es_dedup.settings.loading import describe

    output = session.output
    read_word_lists(session.settings)
    kept_extractor(session.settings.extraction)
    in_force, differences, problem = _compared(session)
    own = (_of_the_preset(line, session.settings.decision) for line in describe(session.settings))
    shown = (_of_the_preset(line, in_force.decision) for line in describe(in_force))
    lines = [
        line if line.value == now.value else replace(line, value=now.value, origin="index")
        for line, now in zip(own, shown, strict=True)
    ]
    output.emit({"settings": lines, "differences": differences, "problem": problem})
    output.table(("setting", "value", "values", "from", "shapes features", "meaning"), map(_row, lines))
    for each in (*differences, *filter(None, [problem])):
        output.line(f"{session.place}: {each}")


def _row(line: SettingLine) -> tuple[str, ...]:
    from es_dedup.settings.loading import written

    values = line.bounds or ", ".join(filter(None, line.choices))
    return line.key, written(line.value), values, line.origin, "yes" if line.shapes else "", line.description


def _of_the_preset(line: SettingLine, decision: DecisionConfig) -> SettingLine:
    """A threshold that is not set has the value of the preset."""
    from es_dedup.decision.thresholds import thresholds_of

    section, _, name = line.key.rpartition(".")
    if section != "decision.thresholds" or line.value is not None:
        return line
    value = getattr(thresholds_of(decision), name)
    return replace(line, value=value, origin=f"preset {decision.preset}")


def _compared(session: Session) -> tuple[Settings, list[Difference], str]:
    """The settings, as the index records them where nobody has given one; which given ones differ; and why that is not known."""
    from es_dedup.settings.loading import setting_fields, shapes_features, value_of
    from es_dedup.settings.recorded import adopted, decision_settings

    settings = session.settings
    if not session.exists:
        return settings, [], ""
    try:
        with session.read(quiet=True) as dedup:
            differ, own = dedup.settings_differ, dedup.settings_with({})
    except SettingsMismatch as mismatch:
        return settings, list(mismatch.differences), ""
    except IndexError_ as error:
        return settings, [], str(error)
    features = {key: value_of(own, key) for key, field, _ in setting_fields() if shapes_features(field)}
    in_force = adopted(settings, features | decision_settings(own))
    return in_force, [] if differ is None else [*differ.features, *differ.decisions], ""
