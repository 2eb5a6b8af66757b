"""All features of one page in a form that people read: what ``es-dedup explain --features`` and the report show."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final

from es_dedup.detectors.features import FeatureTable, featurise
from es_dedup.detectors.named_fields import field_types, named_fields, skipped_by

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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


def of_text(page_id: str, text: str, title: str, settings: Settings, also: Sequence[str]) -> PageFeatures:
    """Features of a page that is not stored.

    Args:
        page_id: what it is called.
        text: main text.
        title: its title.
        settings: whose enabled methods are computed.
        also: further methods.
    """
    table = featurise([text], [title], settings)
    (fields,) = named_fields([text], [title], settings, table, also=also)
    return _of(page_id, title, GIVEN, table, fields, skipped_by(text, title, settings, also=also))


def of_stored(
    page_id: str,
    table: FeatureTable,
    named: Mapping[str, Any],
    content: tuple[str, str],
    settings: Settings,
    also: Sequence[str],
) -> PageFeatures:
    """Features of a stored page.

    Args:
        page_id: of the page.
        table: its stored features, one row.
        named: its stored named fields; empty where the index keeps none.
        content: main text, empty where it is not kept, and title.
        settings: those the index was made with.
        also: methods beside the enabled ones.
    """
    text, title = content
    wanted = field_types(settings, also=also).keys()
    made: dict[str, Any] = {}
    if not wanted <= named.keys():
        (made,) = named_fields([text or None], [title], settings, table, also=also)
    both = {**made, **named}
    fields = {name: both[name] for name in (*wanted, *named) if name in both}
    origin = STORED if named else FROM_TEXT if text else FROM_FEATURES
    skipped = skipped_by(text, title, settings, also=also) if text else {}
    missing = () if text or not table.lengths[0] else tuple(sorted(wanted - fields.keys()))
    return _of(page_id, title, origin, table, fields, skipped, missing)


def _of(
    page_id: str,
    title: str,
    origin: str,
    table: FeatureTable,
    fields: Mapping[str, Any],
    skipped: Mapping[str, str],
    missing: tuple[str, ...] = (),
) -> PageFeatures:
    digest, covered = int(table.hashes[0]), table.coverage
    counts = {
        "units": int(covered.tokens[0]),
        "clauses": int(covered.clause_offsets[1]),
        "samples": int(covered.gram_offsets[1]),
        "numbers": int(covered.number_offsets[1]),
        "title_terms": int(covered.title_offsets[1]),
    }
    return PageFeatures(
        page_id,
        title,
        origin,
        int(table.lengths[0]),
        f"{digest:016x}" if digest else "",
        fields,
        counts,
        skipped,
        missing,
    )
