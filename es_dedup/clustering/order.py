"""Canonical order: which page comes first when one has to stand for a cluster."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from es_dedup.clustering.constraints import ClusterRules
    from es_dedup.index.records import FeatureRecord
    from es_dedup.settings.loading import ClusterConfig

NEVER: Final = 2**63 - 1
"""Place of a page that lacks what the order looks at: after every page that has it."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class PageKey(NamedTuple):
    """What the canonical order looks at; a tuple, because every page has one.

    Attributes:
        page_id: the page; unique, never empty.
        published: ISO 8601 date or time; empty when unknown.
        site: host without ``www.``; empty when unknown.
        url: may be empty.
        length: characters of the normalised main text, at least 0.
    """

    page_id: str
    published: str = ""
    site: str = ""
    url: str = ""
    length: int = 0

    @classmethod
    def of(cls, record: FeatureRecord) -> Self:
        """The key of a stored page."""
        return cls(record.page_id, record.published, record.site, record.url, record.length)


def sort_key(config: ClusterConfig) -> Callable[[PageKey], tuple[int, int, int, str]]:
    """The function to sort pages with: preferred site, then the measure, then length (longer first), then page id.

    The keys of two different pages always differ, so the order is total and does not depend on the input's
    order.
    """
    places = {_host(site): place for place, site in reversed(list(enumerate(config.preferred_sites)))}
    others = len(config.preferred_sites)
    measure = _MEASURES[config.order]

    def key(page: PageKey) -> tuple[int, int, int, str]:
        place = places.get(_host(page.site), others) if places else others
        return place, measure(page), -page.length, page.page_id

    return key


def canonical_order(pages: Iterable[PageKey], rules: ClusterRules) -> list[PageKey]:
    """Pages, first choice for a canonical document first.

    Args:
        pages: each page once.
        rules: the order; pages decided to be canonical documents come before all others.

    Raises:
        ValueError: a page id occurs twice.
    """
    ordered = sorted(pages, key=sort_key(rules.config))
    if chosen := rules.constraints.canonical:
        ordered.sort(key=lambda page: page.page_id not in chosen)
    if len({page.page_id for page in ordered}) != len(ordered):
        raise ValueError("a page id occurs twice among the pages to cluster: pass each page once")
    return ordered


def instant(published: str) -> int:
    """Microseconds since 1970 (UTC); ``NEVER`` for a text that is empty or no ISO 8601 time.

    A time without zone counts as UTC, a date as its midnight: any fixed rule will do, as long as every run
    uses it.
    """
    if not published:
        return NEVER
    try:
        moment = datetime.fromisoformat(published)
    except ValueError:
        return NEVER
    span = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH
    return (span.days * 86_400 + span.seconds) * 1_000_000 + span.microseconds


_FIRST: Final = instant("1990-01-01")
_AFTER_LAST: Final = instant("9999-01-01")
_DAY: Final = 86_400_000_000
_DAY_CHARS: Final = len("1990-01-01")
_MIDNIGHT: Final = ("T00:00", "T00:00:00")


def _earliest(page: PageKey) -> int:
    """A day without a time (or midnight without zone, as it is stored) counts as the end of that day."""
    moment = instant(page.published)
    if not _FIRST <= moment < _AFTER_LAST:
        return NEVER
    only_day = len(page.published) == _DAY_CHARS or page.published.endswith(_MIDNIGHT)
    return moment + _DAY - 1 if only_day else moment


def _latest(page: PageKey) -> int:
    """A day without a time counts as its beginning: pages whose time is known come before it."""
    moment = instant(page.published)
    return -moment if _FIRST <= moment < _AFTER_LAST else NEVER


def _host(site: str) -> str:
    return site.lower().removeprefix("www.")


_MEASURES: Final[dict[str, Callable[[PageKey], int]]] = {
    "earliest": _earliest,
    "latest": _latest,
    "longest": lambda page: -page.length,
    "shortest-url": lambda page: len(page.url) or NEVER,
}
