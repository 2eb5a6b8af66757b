"""Reference of CCDet: period signatures, pruning by site label, containment similarity.

Source: algorithms note, section 1 and readings 1, 2, 3, 5 and 21 of section 9.

A *page* is the frozenset of its signatures; *pages* maps page id to page; *sites* maps page id to site
label. Every threshold accepts equality.
"""

import math
from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

FULL_STOP: Final = "。"

Relation = Literal["undecided", "different", "duplicate", "left_in_right", "right_in_left"]


class Limits(NamedTuple):
    """Thresholds of the decision; each accepts equality.

    ``min_ccs`` and ``min_clr`` are in [0, 1]; ``min_features`` holds for the page with fewer features.
    """

    min_ccs: float = 0.6
    min_clr: float = 0.5
    min_features: int = 3
    min_common: int = 2


DEFAULT_LIMITS: Final = Limits()


class Decision(NamedTuple):
    """Outcome for one pair and the numbers it came from.

    ``undecided`` means that a guard failed and another detector has to decide; ``left_in_right`` that the
    left page has fewer features and is inside the right one. ``ccs`` and ``clr`` are in [0, 1].
    """

    relation: Relation
    common: int
    ccs: float
    clr: float


def period_signatures(text: str, window: int = 10) -> frozenset[str]:
    """The at most ``window`` characters before each U+3002, as a set.

    White space (``str.isspace``) is removed first. A signature never reaches over the previous stop;
    between two stops in a row, or before a stop that opens the text, there is nothing, hence no
    signature. Text after the last stop gives none. ``window`` is at least 1.
    """
    dense = "".join(c for c in text if not c.isspace())
    pieces = dense.split(FULL_STOP)
    before_a_stop = pieces[:-1]
    return frozenset(piece[-window:] for piece in before_a_stop if piece)


def posting_lists(pages: Mapping[str, frozenset[str]]) -> dict[str, set[str]]:
    """For each signature the ids of the pages that carry it; no list is empty."""
    lists: dict[str, set[str]] = {}
    for page_id, signatures in pages.items():
        for signature in signatures:
            lists.setdefault(signature, set()).add(page_id)
    return lists


def pruned_by_site(
    pages: Mapping[str, frozenset[str]], sites: Mapping[str, str], n_min: int = 3, s_min: float = 1.0
) -> frozenset[str]:
    """Signatures dropped as template noise of one site.

    A signature is dropped iff at least ``n_min`` pages carry it and the share of its most frequent site
    among them is at least ``s_min`` (in [0, 1]). ``n_min=2`` is the literal rule.

    Settled:
        A page that ``sites`` does not name is a site of its own.
    """
    dropped = set()
    for signature, page_ids in posting_lists(pages).items():
        pages_of_site: dict[tuple[str, str], int] = {}
        for page_id in page_ids:
            site = ("site", sites[page_id]) if page_id in sites else ("page", page_id)
            pages_of_site[site] = pages_of_site.get(site, 0) + 1
        share = max(pages_of_site.values()) / len(page_ids)
        if len(page_ids) >= n_min and share >= s_min:
            dropped.add(signature)
    return frozenset(dropped)


def pruned_by_idf(pages: Mapping[str, frozenset[str]], min_idf: float) -> frozenset[str]:
    """Signatures dropped because their idf, ln(pages / pages that carry it), is below ``min_idf``.

    Settled:
        The source names no idf formula; the plain natural logarithm is taken. ``min_idf`` is at least 0,
        and 0 drops nothing.
    """
    return frozenset(
        signature
        for signature, page_ids in posting_lists(pages).items()
        if math.log(len(pages) / len(page_ids)) < min_idf
    )


def ccs(common: int, left: int, right: int) -> float:
    """Containment similarity ``common / min(left, right)``, in [0, 1]; 0.0 when a page has no feature."""
    smaller = min(left, right)
    return common / smaller if smaller else 0.0


def clr(left: int, right: int) -> float:
    """Length ratio ``min / max`` of two feature counts, in [0, 1]; 0.0 when both are 0."""
    larger = max(left, right)
    return min(left, right) / larger if larger else 0.0


def decide(common: int, left: int, right: int, limits: Limits = DEFAULT_LIMITS) -> Decision:
    """Decide a pair from its number of common features and the two feature counts.

    ``common`` is at most the smaller count; no argument is negative.

    Settled:
        The guards come first: with fewer than ``min_features`` on the smaller side, or fewer than
        ``min_common`` in common, the pair is ``undecided`` whatever the similarity, also when it is 0.
    """
    similarity, ratio = ccs(common, left, right), clr(left, right)
    relation: Relation
    if min(left, right) < limits.min_features or common < limits.min_common:
        relation = "undecided"
    elif similarity < limits.min_ccs:
        relation = "different"
    elif ratio >= limits.min_clr:
        relation = "duplicate"
    elif left < right:
        relation = "left_in_right"
    else:
        relation = "right_in_left"
    return Decision(relation, common, similarity, ratio)


def decide_pages(
    left: frozenset[str],
    right: frozenset[str],
    dropped: frozenset[str] = frozenset(),
    *,
    recount: bool = True,
    limits: Limits = DEFAULT_LIMITS,
) -> Decision:
    """Decide two pages after ``dropped`` signatures were taken out of the index.

    Common features are counted among the surviving ones. With ``recount`` a page counts its surviving
    features, without it all features it had before pruning.

    Settled:
        The counts so chosen are used throughout: in both measures, in the feature guard and in the
        direction of containment.
    """
    kept_left, kept_right = left - dropped, right - dropped
    counted_left, counted_right = (kept_left, kept_right) if recount else (left, right)
    return decide(len(kept_left & kept_right), len(counted_left), len(counted_right), limits)
