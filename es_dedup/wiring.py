"""Settings to objects; the only module that picks adapters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from es_dedup.config import fingerprint
from es_dedup.detectors.registry import detector_versions
from es_dedup.index.embedded import EmbeddedIndex, compress_text
from es_dedup.text.hashing import SIGNATURE_VERSION
from es_dedup.text.normalise import normalise
from es_dedup.text.segment import search_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from es_dedup.config import Settings
    from es_dedup.index.port import Index


def open_index(path: str | Path, settings: Settings, *, read_only: bool = False) -> Index:
    """The embedded index at a path, or in memory for ``:memory:``.

    Raises:
        ConfigError: the settings name an unknown detector.
        IndexError_: as ``EmbeddedIndex``.
    """
    return EmbeddedIndex(
        path,
        fingerprint=settings_fingerprint(settings),
        segment=words_for_search,
        lock_seconds=settings.index.lock_seconds,
        read_only=read_only,
    )


def settings_fingerprint(settings: Settings) -> str:
    """What stored features depend on: text steps, detectors with their versions, settings; 16 hexadecimal characters.

    Raises:
        ConfigError: the settings name an unknown detector.
    """
    return fingerprint(settings, SIGNATURE_VERSION, detector_versions(settings))


def words_for_search(text: str) -> str:
    """Words of a text or query, in the form that full text is indexed in."""
    return search_text(normalise(text))


def text_codec(settings: Settings) -> Callable[[str], bytes] | None:
    """How worker processes pack texts for the index; None when texts are not kept."""
    return compress_text if settings.index.keep_text else None
