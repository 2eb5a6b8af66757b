"""What an index records of the settings it was made with, and how current settings differ from it.

Feature settings shape what is stored of a page; pages of one index all have the same. Decision settings shape which pages are
duplicates and how they are clustered; they may change, and take effect when everything is clustered again.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import xxhash

from es_dedup import settings as config
from es_dedup.errors import Difference, reading_stored
from es_dedup.model.values import put_nested
from es_dedup.settings.files import made_of_file

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from es_dedup.settings import Settings

STATISTICS: Final = "statistics"
"""Name of the note that says what the clusters of an index were made with; see ``clustered_with``."""
DETECTORS: Final = "detectors"
VOTERS: Final = "decision.voters"
PRESET: Final = "decision.preset"
METHOD: Final = "decision.method"
ALSO_STORED: Final = "elastic.also_stored"
DECIDING_SECTIONS: Final = frozenset({"decision", "cluster"})
"""Sections of which every setting shapes decisions, beside the thresholds of the enabled methods."""
DECIDING: Final = frozenset({"index.limit", "index.max_df"})
"""Further settings that shape decisions: they limit candidate retrieval."""


def feature_settings(
    settings: Settings, text_version: int, detector_versions: Mapping[str, int], also: Collection[str] = ()
) -> dict[str, Any]:
    """The settings that stored features depend on, by name, with the versions of the code that makes them.

    Sections of methods that are not enabled and the order of ``detectors`` do not count.

    Args:
        settings: all settings.
        text_version: version of text processing (normalising, hashing), from ``es_dedup.text``.
        detector_versions: version of the features of each enabled method, from ``es_dedup.detectors``.
        also: methods whose named features are stored beside those of the enabled ones; their versions must be given too.

    Returns:
        JSON-ready values; two settings with equal ones make comparable features.
    """
    stored = tuple(dict.fromkeys((*settings.detectors, *also)))
    versions = {f"version of {name}": detector_versions[name] for name in stored}
    found = {"version of text processing": text_version, **versions, DETECTORS: sorted(settings.detectors)}
    if further := set(stored) - set(settings.detectors):
        found[ALSO_STORED] = sorted(further)
    for key, field, section in config.loading.setting_fields():
        if (
            key not in (DETECTORS, ALSO_STORED)
            and config.loading.shapes_features(field)
            and section.serves(stored)
        ):
            found[key] = config.loading.value_of(settings, key)
    return dict(sorted(found.items()))


def file_contents(settings: Settings, also: Collection[str] = ()) -> dict[str, str]:
    """What is in the files that feature settings name, by ``content of`` and the name of the setting; JSON-ready.

    Args:
        settings: all settings.
        also: methods that are stored beside the enabled ones.

    Raises:
        ConfigError: a file cannot be read.
    """
    digest = xxhash.xxh3_64_hexdigest
    named = named_files(settings, also).items()
    return {f"content of {key}": made_of_file(key, value, digest) for key, value in named}


def named_files(settings: Settings, also: Collection[str] = ()) -> dict[str, str]:
    """The files that feature settings name, by the name of the setting; arguments as of ``file_contents``."""
    methods = (*settings.detectors, *also)
    files = {}
    for key, field, section in config.loading.setting_fields():
        extra: Any = field.json_schema_extra or {}
        value = config.loading.value_of(settings, key)
        if section.serves(methods) and value not in extra.get("no file", [value]):
            files[key] = value
    return files


def decision_settings(settings: Settings) -> dict[str, Any]:
    """The settings that decisions and clusters depend on, but not features, by name; JSON-ready."""
    return {
        key: config.loading.value_of(settings, key)
        for key, field, section in config.loading.setting_fields()
        if section.serves(settings.detectors)
        and not config.loading.shapes_features(field)
        and (section.detector is not None or key.partition(".")[0] in DECIDING_SECTIONS or key in DECIDING)
    }


def differences(recorded: Mapping[str, Any], current: Mapping[str, Any]) -> tuple[Difference, ...]:
    """The settings whose recorded and current values differ, by name; None stands for one that is not there."""
    return tuple(
        Difference(name, recorded.get(name), current.get(name))
        for name in sorted(recorded.keys() | current.keys())
        if recorded.get(name) != current.get(name)
    )


def given(settings: Settings, key: str) -> bool:
    """Whether a value was given: by a file, the environment, an option or a caller; a preset gives all of section ``decision``."""
    if key != PRESET and key.startswith("decision.") and given(settings, PRESET):
        return True
    section: Any = settings
    for name in key.split("."):
        if name not in section.model_fields_set:
            return False
        section = getattr(section, name)
    return True


def adopted(settings: Settings, recorded: Mapping[str, Any]) -> Settings:
    """Settings with recorded values in the place of those that nobody has given; errors as ``with_recorded``."""
    return with_recorded(
        settings, {key: value for key, value in recorded.items() if not given(settings, key)}
    )


def with_recorded(settings: Settings, recorded: Mapping[str, Any]) -> Settings:
    """Settings with recorded values in the place of their own; what is recorded and no setting is left out.

    Where methods are recorded and not who decides, those that are not among them decide nothing.

    Raises:
        ConfigError: a recorded value is not allowed, or no longer.
    """
    known = {key for key, _, _ in config.loading.setting_fields()}
    changed = {
        key: value for key, value in recorded.items() if key in known and not _same(settings, key, value)
    }
    if not changed:
        return settings
    values = settings.model_dump(exclude_unset=True)  # what nobody has given stays so
    put_nested(values, changed)
    methods, decision = values.get(DETECTORS, settings.detectors), values.setdefault("decision", {})
    if VOTERS not in recorded and "voters" in decision:
        decision["voters"] = tuple(name for name in decision["voters"] if name in methods)
    if decision.get("method") in set(settings.detectors).difference(methods) and METHOD not in recorded:
        del decision["method"]
    return config.loading.settings_of_index(values)


def _same(settings: Settings, key: str, value: Any) -> bool:
    own = config.loading.value_of(settings, key)
    return sorted(own) == sorted(value) if key in (DETECTORS, ALSO_STORED) else bool(own == value)


def clustered_with(statistics: str, pages: int, settings: Settings) -> str:
    """The text of the note ``STATISTICS``, for clusters made with these statistics (their version, and from how many pages) and settings."""
    known = {"statistics": statistics, "pages": pages, "settings": decision_settings(settings)}
    return json.dumps(known, sort_keys=True)


def pages_learned(note: str | None) -> int:
    """From how many pages the statistics that a note ``STATISTICS`` names were learned."""
    with reading_stored("notes on clusters"):
        return int(json.loads(note)["pages"]) if note else 0


def decisions_in(note: str | None) -> dict[str, Any]:
    """The decision settings that a note ``STATISTICS`` names; none where there is no note."""
    with reading_stored("notes on clusters"):
        return dict(json.loads(note)["settings"]) if note else {}


def decision_differences(recorded: Mapping[str, Any], settings: Settings) -> tuple[Difference, ...]:
    """How the settings that were given differ from recorded decision settings; one that a release has added or removed does not count."""
    current = decision_settings(settings)
    common = {name for name in recorded.keys() & current.keys() if given(settings, name)}
    return differences({name: recorded[name] for name in common}, {name: current[name] for name in common})
