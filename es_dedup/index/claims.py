"""Who was first with a content: a durable claim per content hash, so that equal pages that come at once meet.

A search sees a write only after a refresh; a claim is seen at once, by all processes, and outlives each of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from es_dedup.index.jobs import Version


@dataclass(frozen=True, slots=True)
class Claim:
    """A content hash (64 bit, not 0), the page that claimed it, and the version of the claim (opaque)."""

    content_hash: int
    page_id: str
    version: Version


class Claims(Protocol):
    """Claims of content hashes. Of several callers that claim one hash at once, all are given the same page."""

    def claim(self, wanted: Mapping[int, str]) -> dict[int, Claim]:
        """Claim hashes for pages, and give for each the claim that holds: this one, or the one that was there before.

        Raises:
            IndexUnavailable, IndexInterrupted: no answer; some may be claimed, and to repeat the call is safe.
        """

    def release(self, claims: Iterable[Claim]) -> None:
        """Take claims back; one that was changed since it was read, or is gone, is left as it is."""

    def forget(self, before: int) -> int:
        """Remove claims made before a time in milliseconds since 1970; how many there were.

        A claim is of use only until searches see its page, so that those of the last hour are enough.
        """

    def close(self) -> None:
        """Let go of the connections; may be called twice."""
