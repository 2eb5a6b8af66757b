"""Equal pages that come at once, to one process or to several: each content is claimed by one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from es_dedup.detectors.features import unpack
from es_dedup.errors import IndexUnavailable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from es_dedup.batch.featurise import Chunk
    from es_dedup.index.claims import Claims
    from es_dedup.index.port import Index

TRIES: Final = 5  # while claims of pages that have changed are taken back


def first_with(index: Index, claims: Claims, chunk: Chunk) -> list[list[str]]:
    """For each page of a batch the other stored page that was first with the same content; mostly none.

    The features of the batch must be stored before the call: then of two equal pages the one that is too late with its claim
    reads the features of the other. A claim of a page that is gone, or says something else now, is taken back and made anew.

    Raises:
        IndexError_: the store failed; to repeat the call is safe.
    """
    hashes = chunk.records.content_hashes
    waiting: dict[int, str] = {}
    for digest, name in zip(hashes, chunk.records.ids, strict=True):
        if digest:
            waiting.setdefault(int(digest), name)
    holders: dict[int, str] = {}
    for _ in range(TRIES):
        if not waiting:
            break
        held = claims.claim(waiting)
        others = {digest: each.page_id for digest, each in held.items() if each.page_id != waiting[digest]}
        stale = others.keys() - _true(index, others) if others else set()
        holders.update((digest, each.page_id) for digest, each in held.items() if digest not in stale)
        claims.release(held[digest] for digest in stale)
        waiting = {digest: name for digest, name in waiting.items() if digest in stale}
    if waiting:
        raise IndexUnavailable("claims", "pages with claims are being changed all the time")
    return [
        [holders[digest]] if digest and holders[digest] != name else []
        for digest, name in zip(hashes, chunk.records.ids, strict=True)
    ]


def _true(index: Index, claimed: Mapping[int, str]) -> set[int]:
    """Those of the hashes whose page is stored with that content."""
    stored = index.payloads(claimed.values())
    names = list(stored)
    table = unpack([stored[name][0] for name in names])
    says = dict(zip(names, table.hashes.tolist(), strict=True))
    return {digest for digest, name in claimed.items() if says.get(name) == digest}
