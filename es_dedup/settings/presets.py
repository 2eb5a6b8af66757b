"""Named sets of values for several sections at once; ``decision.preset`` chooses one.

A preset fills in values that are given nowhere else; what a file, the environment or a caller says comes before it. The presets that
only choose thresholds of the decision rules (``strict`` and others) set nothing here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from es_dedup.settings.decision import DecisionConfig

VOTES: Final = ("any", "majority", "all", "ordered")
"""In ``decision.method``: rules by which the verdicts of several methods decide together."""
PAPERS: Final = "papers"
VOTERS: Final = "decision.voters"
PRESETS: Final[Mapping[str, Mapping[str, Any]]] = {
    PAPERS: {
        "detectors": ("ccdet", "simhash", "dwdcs"),
        "extraction.extractor": "topic",
        "simhash.features": "words-tfidf",
        "dwdcs.query": "leading",
        "decision.method": "any",
        VOTERS: ("ccdet", "simhash", "dwdcs"),
    }
}
"""Preset to the values that it gives settings, by dotted key; what is not named keeps its default."""


def filled(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values of settings, nested as ``Settings`` takes them, with those of their preset where they name none.

    Args:
        values: sections as mappings or as section objects; other keys as they are.
    """
    found = dict(values)
    decision = found.get("decision")
    preset = decision.get("preset") if isinstance(decision, Mapping) else getattr(decision, "preset", None)
    detectors = values.get("detectors")
    for key, given_value in PRESETS.get(preset, {}).items() if isinstance(preset, str) else ():
        value = given_value
        # of those of the preset, the enabled ones vote
        if key == VOTERS and isinstance(detectors, (list, tuple)):
            value = tuple(name for name in given_value if name in detectors)
        section, _, name = key.rpartition(".")
        if not section:
            found.setdefault(name, value)
            continue
        given = found.get(section, {})
        if isinstance(given, Mapping):
            found[section] = {name: value, **given}
        elif name not in getattr(given, "model_fields_set", {name}):
            found[section] = given.model_copy(update={name: value})
    return found


def origins(values: Mapping[str, Any]) -> dict[str, str]:
    """Where values come from that a preset fills in: dotted key to ``preset NAME``; ``values`` are those given, by dotted key."""
    preset = values.get("decision.preset")
    known = PRESETS.get(preset, {}) if isinstance(preset, str) else {}
    return {key: f"preset {preset}" for key in known if key not in values}


def problem_of(decision: DecisionConfig, detectors: tuple[str, ...]) -> str:
    """What is wrong with who decides, when these detectors are enabled; empty when nothing is."""
    names = ("rules", *detectors, *VOTES)
    if decision.method not in names:
        return f"decision.method: must be one of {', '.join(names)}, got {decision.method!r}"
    for voter in decision.voters:
        if voter not in detectors:
            return f"decision.voters: must be of {', '.join(detectors)}, got {voter!r}"
        if decision.voters.count(voter) > 1:
            return f"decision.voters: names {voter!r} more than once"
    return ""
