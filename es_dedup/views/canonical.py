"""Why a page is the canonical document of its cluster, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from es_dedup.batch.corpus import key_of
from es_dedup.clustering.order import Criterion, decisive
from es_dedup.model.overrides import OverrideKind
from es_dedup.model.translations import translate
from es_dedup.views.compare import title_of
from es_dedup.views.frame import anchor, path
from es_dedup.views.markup import element, escape
from es_dedup.views.templates import short, when

if TYPE_CHECKING:
    from collections.abc import Mapping

    from es_dedup.deduplicator.index_reader import IndexReader
    from es_dedup.index.records import FeatureRecord
    from es_dedup.model import Cluster

_WORDS: Final = {
    Criterion.SITE: "its site, {site}, is preferred to the site of the next page",
    Criterion.EARLIEST: "published first: {published}; the next page {next_published}",
    Criterion.LONGEST: "the longest text: {length} characters; the next page {next_length}",
    Criterion.SHORTEST_URL: "the shortest address",
    Criterion.LENGTH: "equal to the next page in what goes before; its text is longer: {length} characters and {next_length}",
    Criterion.ID: "equal to the next page in all that the order looks at; its id comes first",
    Criterion.NONE: "another page of the cluster comes before it in the order; overrides of other pages made it canonical",
}


def because(reader: IndexReader, language: str, found: Cluster, records: Mapping[str, FeatureRecord]) -> str:
    """A paragraph on what decided; nothing for a page that is alone.

    Args:
        reader: has the order and the overrides.
        language: of the words.
        found: the cluster.
        records: of all its pages that are stored.
    """
    if len(records) < 2 or found.canonical not in records:  # noqa: PLR2004 - it and another
        return ""
    for override in reader.overrides_of((found.canonical,)).get(found.canonical, ()):
        if override.kind is not OverrideKind.CANONICAL:
            continue
        said = translate(language, "decided by {author}: {reason}")
        text = said.format(author=short(override.author), reason=short(override.reason))
        return _paragraph(language, escape(text))
    keys = {name: key_of(record) for name, record in records.items()}
    config = reader.settings_with({}).cluster
    criterion, name = decisive(keys.pop(found.canonical), keys.values(), config)
    own, following = records[found.canonical], records.get(name)
    unknown = translate(language, "without a time")
    given = {
        "site": short(own.site),
        "published": when(own.published) or unknown,
        "length": f"{own.length:,}",
        "next_published": (when(following.published) if following else "") or unknown,
        "next_length": f"{following.length:,}" if following else "–",
    }
    text = escape(translate(language, _WORDS[criterion]).format(**given))
    link = f" ({anchor(short(title_of(following)), path('pages', name))})" if following else ""
    return _paragraph(language, text + link)


def _paragraph(language: str, markup: str) -> str:
    return element("p", escape(translate(language, "Canonical because")), ": ", markup, class_="note")
