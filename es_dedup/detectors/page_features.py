"""All features of one page in a form that people read: what ``es-dedup explain --features`` and the report show."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final

from es_dedup.detectors.named_fields import field_types, named_fields, skipped_by

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from es_dedup.detectors.features import FeatureTable
    from es_dedup.settings import Settings

STORED: Final = "stored"
FROM_TEXT: Final = "made from the stored text"
FROM_FEATURES: Final = "stored features; the text is not kept"
GIVEN: Final = "made from the page; it is not stored"


@dataclass(frozen=True, slots=True)
class PageFeatures:
    """Features of one page.

    Attributes:
        page_id, title: of the page.
        origin: where ``fields`` come from, in words.
        length: characters of the normalised main text.
        content_hash: what exact copies share, 16 hexadecimal digits; empty for an empty page.
        fields: named features, see ``named_fields``.
        coverage: how many units, clauses, samples, numbers and title terms ``coverage`` compares; its features are hashes.
        skipped: methods that have nothing to compare on the page, with the reason; of the methods asked for.
        missing: fields that cannot be given, because the text is not kept.
    """

    page_id: str
    title: str
    origin: str
    length: int
    content_hash: str
    fields: Mapping[str, Any]
    coverage: Mapping[str, int] = field(default_factory=dict)
    skipped: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return asdict(self)


def of_page(
    page_id: str,
    table: FeatureTable,
    named: Mapping[str, Any] | None,
    content: tuple[str, str],
    settings: Settings,
    also: Sequence[str],
) -> PageFeatures:
    """Features of a page.

    Args:
        page_id: of the page.
        table: its features, one row.
        named: its stored named fields, empty where the index keeps none; None: it is not stored.
        content: main text, empty where it is not kept, and title.
        settings: those the features were made with.
        also: methods beside the enabled ones.
    """
    text, title = content
    wanted = field_types(settings, also=also).keys()
    made: dict[str, Any] = {}
    if named is None or not wanted <= named.keys():
        (made,) = named_fields([text or None], [title], settings, table, also=also)
    both = {**made, **(named or {})}
    origin = STORED if named else FROM_TEXT if text else FROM_FEATURES
    digest, covered = int(table.hashes[0]), table.coverage
    return PageFeatures(
        page_id,
        title,
        GIVEN if named is None else origin,
        int(table.lengths[0]),
        f"{digest:016x}" if digest else "",
        fields={name: both[name] for name in (*wanted, *(named or ())) if name in both},
        coverage={
            "units": int(covered.tokens[0]),
            "clauses": int(covered.clause_offsets[1]),
            "samples": int(covered.gram_offsets[1]),
            "numbers": int(covered.number_offsets[1]),
            "title_terms": int(covered.title_offsets[1]),
        },
        skipped=skipped_by(text, title, settings, also=also) if text or named is None else {},
        missing=() if text or not table.lengths[0] else tuple(sorted(wanted - both.keys())),
    )
