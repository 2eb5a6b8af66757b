"""Terms of titles, and where they occur in the body."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from es_dedup.text.hashing import mix64
from es_dedup.text.normalise import normalise_many
from es_dedup.text.ragged import find, heads, offsets_of, owners_of, rank_within, sorted_distinct
from es_dedup.text.tokens import TokenBatch, tokenise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


MAX_TERMS: Final = 32  # one bit each in a mask
UNTITLED_TOKENS: Final = 24  # without a title, the page's first tokens are compared in its place
_SEPARATOR: Final = re.compile(r"\s[-–—|·»/]+\s|[|｜_＿]+|——+|(?<=[^\x00-\x7f])-(?=[^\x00-\x7f])")
_PREFIX: Final = re.compile(r"^\s*(?:[\[【(（][^\]】)）]{1,12}[\]】)）]\s*)+")
_FUNCTION_WORDS: Final = (
    "a about after all an and are as at be been but by can could did do does for from had has have he her his how if in "
    "into is it its may more my new no not of off on or our out over s she so than that the their them they this to up "
    "us was we were what when where which who why will with would you your"
)
_PAGE_BASE: Final = np.uint64(0xD6E8FEB86659FD93)
_PAIR_BASE: Final = np.uint64(0xA0761D6478BD642F)


def headline(title: str) -> str:
    """The part of a title that names the article: its longest segment, without a bracketed mark in front.

    Sites add their own name, section or tags behind separators; the longest segment is nearly always the headline.
    """
    if not title:
        return ""
    longest = max(map(str.strip, _SEPARATOR.split(title)), key=len)
    return _PREFIX.sub("", longest) or longest


def title_terms(
    titles: Sequence[str], body: TokenBatch
) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.bool_]]:
    """Terms of each page's headline: pairs of neighbouring characters, and single words.

    Args:
        titles: as given.
        body: tokens of the same pages.

    Returns:
        Term hashes (distinct within a page, in order of appearance, at most ``MAX_TERMS`` a page), page offsets of
        shape (pages + 1,), and per page whether it had a title at all; a page without one is given the first
        ``UNTITLED_TOKENS`` tokens of its body.
    """
    tokens = tokenise(normalise_many([headline(title) for title in titles]))
    pages = len(titles)
    titled = np.diff(tokens.offsets) > 0
    hashes, owner = _term_hashes(tokens)
    head_hashes, head_owner = _head_terms(body, titled)
    hashes = np.concatenate((hashes, head_hashes))
    owner = np.concatenate((owner, head_owner))
    order = np.argsort(owner, kind="stable")
    hashes, owner = hashes[order], owner[order]
    first = np.sort(np.unique(_page_keys(hashes, owner), return_index=True)[1])
    hashes, owner = hashes[first], owner[first]
    keep = rank_within(owner, pages) < MAX_TERMS
    return hashes[keep], offsets_of(owner[keep], pages), titled


def term_masks(body: TokenBatch, terms: NDArray[np.uint64], offsets: NDArray[np.int64]) -> NDArray[np.uint32]:
    """Per body token, bit ``j`` set where the page's ``j``-th title term begins; shape (tokens,)."""
    masks = np.zeros(len(body), dtype=np.uint32)
    owner = owners_of(offsets)
    wanted = _page_keys(terms, owner)
    order = np.argsort(wanted)
    at, place = find(wanted[order], _page_keys(_start_terms(body), body.pages), 64)
    found = order[place]
    masks[at] = np.uint32(1) << (found - offsets[owner[found]]).astype(np.uint32)
    return masks


def _page_keys(hashes: NDArray[np.uint64], pages: NDArray[Any]) -> NDArray[np.uint64]:
    """Hashes combined with the page number, still spread over all bits."""
    return hashes ^ (pages.astype(np.uint64) * _PAGE_BASE)


def _start_terms(tokens: TokenBatch) -> NDArray[np.uint64]:
    """The term that begins at each token; a single character at the end of its clause gives a term of its own."""
    hashes = tokens.hashes.copy()
    at = np.flatnonzero(_begins_pair(tokens))
    hashes[at] = mix64(tokens.hashes[at] * _PAIR_BASE + tokens.hashes[at + 1])
    return hashes


def _begins_pair(tokens: TokenBatch) -> NDArray[np.bool_]:
    """Whether a token and the next one of its clause are both single characters."""
    begins = np.zeros(len(tokens), dtype=np.bool_)
    begins[:-1] = tokens.single[:-1] & tokens.single[1:] & (tokens.clause[1:] == tokens.clause[:-1])
    return begins


def _term_hashes(tokens: TokenBatch) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    hashes = _start_terms(tokens)
    keep = _begins_pair(tokens) | (~tokens.single & ~np.isin(hashes, function_words()))
    return hashes[keep], tokens.pages[keep].astype(np.int64)


@cache
def function_words() -> NDArray[np.uint64]:
    """Hashes of words that do not name a title's subject, ascending."""
    return sorted_distinct(tokenise(normalise_many([_FUNCTION_WORDS])).hashes)


def _head_terms(body: TokenBatch, titled: NDArray[np.bool_]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    at, _ = heads(body.offsets, np.minimum(np.diff(body.offsets), UNTITLED_TOKENS) * ~titled)
    word = ~body.single[at] & ~np.isin(body.hashes[at], function_words())
    at = at[_begins_pair(body)[at] | word]
    return _start_terms(body)[at], body.pages[at].astype(np.int64)
