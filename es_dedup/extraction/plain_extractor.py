"""All visible text of a page: the last resort, and the baseline that every other extractor must beat."""

from __future__ import annotations

from typing import TYPE_CHECKING

from es_dedup.extraction.blocks import HIDDEN_CONTEXT

if TYPE_CHECKING:
    from es_dedup.extraction.reading.document import Document
    from es_dedup.settings.loading import ExtractionConfig


def plain_text(document: Document, config: ExtractionConfig) -> str:  # noqa: ARG001 - a method has both
    """Every visible block on a line of its own; hidden blocks only when nothing else is there."""
    blocks = document.blocks
    visible = [
        line
        for line, holder in zip(document.lines, blocks.holders, strict=True)
        if line and not blocks.contexts[holder] & HIDDEN_CONTEXT
    ]
    return "\n".join(visible or filter(None, document.lines))
