"""Settings of the comparators: ranges are enforced, and stored features depend on those that shape them."""

from __future__ import annotations

from typing import Any, Final

import pytest

from es_dedup.detectors.registry import create_detectors, detector_versions
from es_dedup.errors import ConfigError
from es_dedup.settings.comparators import COMPARATORS
from es_dedup.settings.loading import Settings, describe, load_settings
from es_dedup.settings.recorded import feature_settings
from es_dedup.settings.sections import Section

SECTIONS: Final[dict[str, type[Section]]] = {
    name: field.annotation
    for name, field in Settings.model_fields.items()
    if isinstance(field.annotation, type)
    and issubclass(field.annotation, Section)
    and field.annotation.detector is not None
    and field.annotation.serves(COMPARATORS)
}


def beyond() -> list[tuple[str, float]]:
    """Each bound of each setting, and a value just beyond it."""
    found = []
    for section, kind in SECTIONS.items():
        for name, field in kind.model_fields.items():
            step = 1 if field.annotation is int else 1e-6
            for rule in field.metadata:
                for bound, out in (("ge", -step), ("le", step), ("gt", 0), ("lt", 0)):
                    if hasattr(rule, bound):
                        found.append((f"{section}.{name}", getattr(rule, bound) + out))
    return found


@pytest.mark.parametrize(("key", "value"), beyond(), ids=str)
def test_a_value_beyond_its_range_is_refused(key: str, value: float) -> None:
    with pytest.raises(ConfigError, match=key):
        load_settings(None, {key: value}, {})


def test_every_comparator_has_a_section_and_every_number_has_a_range() -> None:
    served: set[str] = set()
    for kind in SECTIONS.values():
        served |= {kind.detector} if isinstance(kind.detector, str) else set(kind.detector or ())
        for name, field in kind.model_fields.items():
            bounds = {
                bound for rule in field.metadata for bound in ("ge", "gt", "le", "lt") if hasattr(rule, bound)
            }
            assert field.annotation not in (int, float) or len(bounds) == 2, name
    assert served == set(COMPARATORS)
    assert len(beyond()) > 50


def shaping(detectors: tuple[str, ...], **changed: Any) -> dict[str, Any]:
    """The settings that shape features with these methods enabled."""
    overrides = {key.replace("__", "."): value for key, value in changed.items()}
    settings = load_settings(None, {**overrides, "detectors": detectors}, {})
    return feature_settings(settings, 1, detector_versions(settings))


def test_only_sections_of_enabled_methods_shape_an_index() -> None:
    assert shaping(("ccdet",), shingling__modulus=3) == shaping(("ccdet",))
    for name in ("shingling", "shingling_containment", "supershingles"):
        assert shaping((name,), shingling__modulus=3) != shaping((name,))
        assert shaping((name,), shingling__min_resemblance=0.9) == shaping((name,))
    assert shaping(("lsh_s",), spotsigs__chain=3) != shaping(("lsh_s",))
    assert shaping(("lsh_p",), spotsigs__chain=3) == shaping(("lsh_p",))


def test_all_comparators_are_built_and_described() -> None:
    assert tuple(create_detectors(Settings(detectors=COMPARATORS))) == COMPARATORS
    lines = [line for line in describe(Settings()) if line.key.partition(".")[0] in SECTIONS]
    assert len(lines) > 35
    assert all(line.description for line in lines)
