"""What every section of the settings is made of; a section of a method may stand in a module of its own."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from pydantic import BaseModel, ConfigDict

SHAPES: Final[dict[str, Any]] = {"shapes": True}
"""Marks a setting that stored features depend on: it is part of the fingerprint."""


class Section(BaseModel):
    """Settings that belong together: immutable, unknown keys refused.

    Attributes:
        detector: the method, or the methods, that the section belongs to; None for all others.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    detector: ClassVar[str | tuple[str, ...] | None] = None

    @classmethod
    def serves(cls, detectors: tuple[str, ...]) -> bool:
        """Whether the section matters when these methods are enabled."""
        names = (cls.detector,) if isinstance(cls.detector, str) else cls.detector
        return names is None or not set(names).isdisjoint(detectors)
