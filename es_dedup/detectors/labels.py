"""Terms that an index may store as text: which text stands for which term."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from es_dedup.detectors import ccdet
from es_dedup.detectors.features import features_of
from es_dedup.detectors.port import Labelled
from es_dedup.detectors.registry import create_detectors

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from es_dedup.config import Settings
    from es_dedup.detectors.features import FeatureTable


def labels_of(
    table: FeatureTable, named: Sequence[Mapping[str, Any]], settings: Settings
) -> list[dict[int, str]]:
    """For each page its terms that have a text, with that text.

    Args:
        table: features of the pages.
        named: named fields of the same pages; a page without any has no labels.
        settings: whose enabled methods are asked.
    """
    found: list[dict[int, str]] = [{} for _ in named]
    for detector in create_detectors(settings).values():
        if detector.name == ccdet.Ccdet.name:
            pages = [list(page.get("period_signatures", ())) for page in named]
            for labels, strings, terms in zip(found, pages, ccdet.terms_of(pages), strict=True):
                labels.update(zip(terms, strings, strict=True))
        elif isinstance(detector, Labelled):
            for labels, page, features in zip(found, named, features_of(table, detector), strict=True):
                if features is not None and detector.label_field in page:
                    labels.update(zip(detector.terms(features), page[detector.label_field], strict=True))
    return found
