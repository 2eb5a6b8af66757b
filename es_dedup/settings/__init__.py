"""Typed settings: their sections, presets, loading, and what an index records of them."""

from typing import TYPE_CHECKING

from es_dedup import lazy

if TYPE_CHECKING:
    from es_dedup.settings.loading import Settings, load_settings

__all__ = ["Settings", "load_settings"]

if not TYPE_CHECKING:
    __getattr__ = lazy.attributes(__name__)
