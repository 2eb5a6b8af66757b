"""Features in named fields, as an index keeps them for people and their queries; each method says which are its own."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from es_dedup.detectors.features import FeatureTable, features_of, featurise
from es_dedup.detectors.port import Readable
from es_dedup.detectors.registry import create_detectors
from es_dedup.model import Content

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_dedup.config import Settings


def named_fields(
    texts: Sequence[str], titles: Sequence[str], settings: Settings, table: FeatureTable | None = None
) -> list[dict[str, Any]]:
    """Named features of pages: values by field name, as they are stored and shown, JSON-ready.

    Args:
        texts: main texts.
        titles: of the same pages.
        settings: whose enabled methods are asked.
        table: features of the same pages with the same settings, where they have been made already.

    Returns:
        One dictionary a page; a field without a value is left out.
    """
    if table is None:
        table = featurise(texts, titles, settings)
    contents = [Content(text=text, title=title) for text, title in zip(texts, titles, strict=True)]
    found: list[dict[str, Any]] = [{} for _ in contents]
    for detector in create_detectors(settings).values():
        if isinstance(detector, Readable):
            for page, fields in zip(
                found, detector.fields(contents, features_of(table, detector)), strict=True
            ):
                page.update(fields)
    return found


@lru_cache(maxsize=8)
def field_types(settings: Settings) -> dict[str, str]:
    """Names of all fields of the enabled methods with their types, see ``Readable``."""
    readable = [each for each in create_detectors(settings).values() if isinstance(each, Readable)]
    return {name: kind for detector in readable for name, kind in detector.field_types.items()}
