"""How page ids, terms and hashes look in documents."""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING, Final

import numpy as np

from es_dedup.errors import DamagedData
from es_dedup.index.validation import encodable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

TOKEN_CHARS: Final = 8  # of a term: 48 bits, six a character
MAX_KEY_BYTES: Final = 480  # of a document's ``_id`` that is the page id itself; Elasticsearch allows 512
LONG: Final = "~sha256:"  # begins the ``_id`` of a page whose id is longer


def tokens_of(terms: NDArray[np.uint64]) -> list[str]:
    """Terms as eight characters each, in order; the first names the detector.

    Args:
        terms: each in [0, 2^48).
    """
    high_first = terms.astype(">u8").view(np.uint8).reshape(-1, 8)[:, 2:]
    packed = base64.b64encode(high_first.tobytes()).decode()
    return [packed[at : at + TOKEN_CHARS] for at in range(0, len(packed), TOKEN_CHARS)]


def hash_token(value: int) -> str:
    """A 64-bit hash as eleven characters."""
    return base64.urlsafe_b64encode(value.to_bytes(8, "big")).decode().rstrip("=")


def hash_of(token: str) -> int:
    """The hash of which ``hash_token`` made ``token``.

    Raises:
        DamagedData: other text.
    """
    try:
        return int.from_bytes(base64.b64decode(token + "=", altchars=b"-_", validate=True), "big")
    except ValueError as error:
        raise DamagedData("content hashes", str(error)) from error


def key_of(page_id: str) -> str:
    """The document's ``_id``: the page id itself, or its hash when that is too long for Elasticsearch."""
    data = page_id.encode()
    if len(data) <= MAX_KEY_BYTES and not page_id.startswith(LONG):
        return page_id
    return LONG + hashlib.sha256(data).hexdigest()


def pair_key(left: str, right: str) -> str:
    """The ``_id`` of the edge between two pages."""
    digest = hashlib.sha256(f"{left}\0{right}".encode()).digest()[:18]
    return "~edge:" + base64.urlsafe_b64encode(digest).decode()


def storable(page_ids: Iterable[str]) -> list[str]:
    """The distinct ids of which a page may be stored, in order; a server refuses to look for others."""
    return [page_id for page_id in dict.fromkeys(page_ids) if page_id and encodable(page_id)]
