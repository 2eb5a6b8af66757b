"""Settings of the comparators: ranges are enforced, and every comparator has a section."""

from __future__ import annotations

from typing import Final

import pytest
from pydantic import ValidationError

from es_dedup.settings.sections import Section
from experiments.settings import COMPARATORS, ExperimentSettings, settings_of

SECTIONS: Final[dict[str, type[Section]]] = {
    name: field.annotation
    for name, field in ExperimentSettings.model_fields.items()
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


def test_a_value_beyond_its_range_is_refused() -> None:
    for key, value in beyond():
        with pytest.raises(ValidationError, match=key):
            settings_of({key: value})


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
