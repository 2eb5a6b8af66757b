"""Typed settings: their sections, presets, loading, and what an index records of them."""

from es_dedup.settings.loading import Settings, load_settings

__all__ = ["Settings", "load_settings"]
