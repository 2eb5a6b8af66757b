"""Features in named fields, as an index keeps them for people and their queries; each method says which are its own.

``of_page`` has all features of one page: what ``es-dedup explain --features`` and the report show.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from es_dedup.detectors.features import FeatureTable, features_of, featurise
from es_dedup.detectors.registry import create_detectors
from es_dedup.model import Content, Skipped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from es_dedup.detectors.port import Detector
    from es_dedup.settings import Settings

STORED: Final = "stored"
FROM_TEXT: Final = "made from the stored text"
FROM_FEATURES: Final = "stored features; the text is not kept"
GIVEN: Final = "made from the page; it is not stored"


def named_fields(
    texts: Sequence[str | None],
    titles: Sequence[str],
    settings: Settings,
    table: FeatureTable | None = None,
    *,
    also: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """Named features of pages: values by field name, as they are stored and shown, JSON-ready.

    Args:
        texts: main texts; None where it is not at hand: of the fields those are made that need only the table.
        titles: of the same pages.
        settings: whose enabled methods are read.
        table: features of the same pages with the same settings, where they have been made already.
        also: further methods that are read, whether enabled or not.

    Returns:
        One dictionary a page; a field without a value is left out.
    """
    if table is None:
        table = featurise([text or "" for text in texts], titles, settings)
    contents = [
        None if text is None else Content(text=text, title=title)
        for text, title in zip(texts, titles, strict=True)
    ]
    found: list[dict[str, Any]] = [{} for _ in contents]
    for name, detector in _readable(settings, tuple(also)).items():
        features = (
            features_of(table, detector) if name in settings.detectors else _featurised(detector, contents)
        )
        for page, fields in zip(found, detector.fields(contents, features), strict=True):
            page.update(fields)
    return found


def field_types(settings: Settings, *, also: Sequence[str] = ()) -> dict[str, str]:
    """Names of all fields of the enabled methods, and of those in ``also``, with their types, see ``Detector.field_types``."""
    readable = _readable(settings, tuple(also)).values()
    return {name: kind for detector in readable for name, kind in detector.field_types.items()}


def nameless(settings: Settings, methods: Sequence[str]) -> list[str]:
    """Those of some methods that name no features, so that nothing of them can be stored for people."""
    named = _readable(settings, tuple(methods))
    return [name for name in methods if name not in named]


def term_fields(settings: Settings) -> dict[int, tuple[str, ...]]:
    """Fields that hold the terms of the enabled methods, by tag, see ``Detector.term_fields``."""
    detectors = create_detectors(settings).values()
    return {tag: fields for detector in detectors for tag, fields in detector.term_fields.items()}


def labels_of(
    table: FeatureTable, named: Sequence[Mapping[str, Any]], settings: Settings
) -> list[dict[int, str]]:
    """For each page its terms that an index may store as text, with that text.

    Args:
        table: features of the pages.
        named: named fields of the same pages; a page without any has no labels.
        settings: whose enabled methods are read.
    """
    found: list[dict[int, str]] = [{} for _ in named]
    for detector in _readable(settings, ()).values():
        own = detector.labels(named, features_of(table, detector))
        for labels, more in zip(found, own, strict=True):
            labels.update(more)
    return found


def skipped_by(text: str, title: str, settings: Settings, *, also: Sequence[str] = ()) -> dict[str, str]:
    """The enabled methods, and those in ``also``, that have nothing to compare on a page, each with the reason."""
    content = Content(text=text, title=title)
    features = {
        name: detector.featurise(content) for name, detector in _readable(settings, tuple(also)).items()
    }
    return {
        name: f"{each.reason}: {each.detail}" if each.detail else each.reason
        for name, each in features.items()
        if isinstance(each, Skipped)
    }


def _featurised(detector: Detector[Any], contents: Sequence[Content | None]) -> list[Any]:
    """Features of pages; None for one that was skipped or is None itself."""
    features = iter(detector.featurise_many([content for content in contents if content is not None]))
    of_pages = (None if content is None else next(features) for content in contents)
    return [None if isinstance(each, Skipped) else each for each in of_pages]


@lru_cache(maxsize=8)
def _readable(settings: Settings, also: tuple[str, ...]) -> dict[str, Detector[Any]]:
    """The methods that name their features."""
    names = tuple(dict.fromkeys((*settings.detectors, *also)))
    detectors = create_detectors(settings.model_copy(update={"detectors": names}))
    return {name: detector for name, detector in detectors.items() if detector.field_types}


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
        also: methods whose features are shown although they are not enabled.
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
