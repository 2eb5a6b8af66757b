"""One page, and two pages compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from es_dedup.views import overrides
from es_dedup.views.compare import CHARS, PageView, pair_of
from es_dedup.views.features import feature_rows
from es_dedup.views.frame import Visitor, path
from es_dedup.views.templates import console_page

if TYPE_CHECKING:
    from es_dedup.deduplicator.index_reader import IndexReader

CANDIDATES: Final = 20
"""Candidates of a page that are decided and shown."""


def pair(
    reader: IndexReader,
    visitor: Visitor,
    left: str,
    right: str,
    done: str,
    features: bool,  # noqa: FBT001 - sent to a process by position
) -> bytes:
    """Two pages with their texts aligned and all evidence; who may write can decide that they are the same or different.

    Without two ids a form that asks for them. ``features``: with the named ones, for which dictionaries are loaded.

    Raises:
        UnknownPage: an id that is not stored.
    """
    if not (left and right):
        return console_page("compare_form", visitor, left=left, right=right)
    return console_page(
        "compare",
        visitor,
        pair=pair_of(reader, left, right, visitor.language, features=features),
        all_features="" if features else path("compare", left=left, right=right, features="true"),
        decided=overrides.of_pages(reader, (left, right)),
        notice=overrides.just_decided(reader, done),
        back=path("compare", left=left, right=right),
    )


def page(reader: IndexReader, visitor: Visitor, page_id: str, done: str, features: bool) -> bytes:  # noqa: FBT001 - sent to a process by position
    """A page: its text, on request its features, and what was decided of its candidates; who may write can make it canonical.

    Raises:
        UnknownPage: it is not stored.
    """
    candidates = []
    for name in reader.candidates(page_id)[:CANDIDATES]:
        decision = reader.explain(page_id, name)
        said = decision.explained(visitor.language)[2 if decision.overrides else 0]
        candidates.append((reader.record(name), str(decision.relation), said))
    return console_page(
        "page",
        visitor,
        page=PageView(reader.record(page_id), reader.text(page_id)),
        chars=CHARS,
        cluster=reader.cluster(page_id, evidence_of=()),
        candidates=candidates,
        features=feature_rows(reader.features(page_id), language=visitor.language) if features else (),
        all_features=path("pages", page_id, features="true"),
        decided=overrides.of_pages(reader, (page_id,)),
        notice=overrides.just_decided(reader, done),
        back=path("pages", page_id),
    )
