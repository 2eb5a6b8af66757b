"""Numbers of a whole page, for its kind: a thread of many people's posts, or the text of one."""

from __future__ import annotations

from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup.extraction.block_features import PAGE_FEATURES, page_features
from es_dedup.extraction.containers import MIN_RECORDS, Columns
from es_dedup.extraction.page_columns import DATES, FREE, PROSE, Page
from es_dedup.extraction.page_hints import HINTS
from es_dedup.extraction.token_odds import CACHED, Odds, part_tokens

if TYPE_CHECKING:
    from numpy.typing import NDArray


_TALK: Final = frozenset(
    "post posts reply replies comment comments answer answers message msg thread topic forum discussion floor".split()
)
_BODY: Final = frozenset("article entry story content".split())
NAMES: Final = (
    *PAGE_FEATURES, *HINTS, "records", "records_share", "records_prose", "records_dated", "records_with_prose", "records_free", "records_largest",
    "records_talk", "records_odds", "talk_share", "talk_deep_share", "body_share", "dated_records", "dated_records_share", "dates", "paragraphs",
    "odds_names", "odds_words", "odds_best",
)  # fmt: skip


def page_numbers(page: Page, columns: Columns, odds: Odds) -> NDArray[np.float32]:
    """Numbers of a page, in the order of ``NAMES``; one row.

    Args:
        page: with its blocks.
        columns: numbers of its blocks, with what they were made of.
        odds: of tokens of threads.
    """
    structure = columns.structure
    blocks, whole = page.blocks, np.maximum(columns.total[:, -1], 1e-9)
    free = np.maximum(structure.group_sums[FREE], 0) / whole[FREE]
    prose = structure.group_sums[PROSE] / whole[PROSE]
    many = structure.group_counts >= MIN_RECORDS
    splits = [name.split() for name in blocks.names]
    parts = dict.fromkeys(chain.from_iterable(splits))
    flagged = ({part for part in parts if _says(part)[which]} for which in (0, 1))
    talk, body = ([not words.isdisjoint(split) for split in splits] for words in flagged)
    records = [0.0] * 9
    if many.any():
        top = int(np.where(many, free, -1).argmax())
        inside = np.flatnonzero(structure.record_groups == top)
        own, first = structure.sums[FREE, inside], int(inside[0])
        records = [
            float(np.log1p(structure.group_counts[top])), free[top], prose[top], structure.group_dated[top], structure.group_prose[top],
            float(np.log1p(own.mean())), float(own.max() / max(own.sum(), 1e-9)), float(talk[blocks.signatures[first]]), structure.chain_sum[first],
        ]  # fmt: skip
    dated = many & (structure.group_dated >= 0.7) & (structure.group_prose >= 0.3)
    numbers = [
        *page_features(whole, len(blocks.texts)), *(page.about.hints or (0.0,) * len(HINTS)), *records,
        _share(talk, page, columns, 1.0), _share(talk, page, columns, 0.5), _share(body, page, columns, 1.0),
        float(np.log1p(structure.group_counts[dated].max(initial=0))), float(free[dated].max(initial=0)),
        float(np.log1p(whole[DATES])), blocks.tags.count("p") / len(blocks.tags), *odds.of_page(parts, page.characters.words),
    ]  # fmt: skip
    return np.array([numbers], np.float32)


@lru_cache(CACHED)
def _says(part: str) -> tuple[bool, bool]:
    """A part of a name says talk, or body of a text."""
    tokens = part_tokens(part)
    return not tokens.isdisjoint(_TALK), not tokens.isdisjoint(_BODY)


def _share(flags: list[bool], page: Page, columns: Columns, most: float) -> float:
    """Share of the page's unlinked text in containers with flagged names that hold less than a share of it each."""
    structure, whole = columns.structure, columns.total[FREE, -1]
    selected = np.array(flags)[page.blocks.signatures] & (structure.sums[FREE] <= most * whole)
    count = len(page.blocks.texts) + 1
    begins, ends = (
        np.bincount(edges[selected], minlength=count) for edges in (structure.first, structure.last)
    )
    covered = np.cumsum((begins - ends)[:-1]) > 0
    return float(np.diff(columns.total[FREE])[covered].sum() / max(whole, 1e-9))
