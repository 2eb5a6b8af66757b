"""The opaque cursor of cursor paging: the state of a search as one string."""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from pydantic import TypeAdapter

from es_dedup.collapse.model import Total  # noqa: TC001 - pydantic reads the types of fields
from es_dedup.collapse.search_bodies import MATCHING, ORDERING
from es_dedup.errors import SearchRefused

if TYPE_CHECKING:
    from es_dedup.collapse.search_request import Request

MOST_BYTES: Final = 1_000_000
"""Of an unpacked cursor; a longer one was not made here."""
_PAGING: Final = frozenset({"from", "size", "pit", "search_after"})


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where a search on a point in time stands.

    Attributes:
        pit: id of the point in time.
        search: digest of the search, so that it is not continued by another one.
        after: sort values of the last hit shown.
        documents, groups: totals, which are counted for the first page only.
    """

    pit: str
    search: str
    after: tuple[Any, ...]
    documents: Total | None = None
    groups: Total | None = None


_CURSOR: Final = TypeAdapter(Cursor)


def pack(cursor: Cursor) -> str:
    """The cursor as letters, digits, ``-``, ``_`` and ``=``."""
    return base64.urlsafe_b64encode(zlib.compress(json.dumps(asdict(cursor)).encode())).decode()


def unpack(text: str) -> Cursor:
    """The cursor that ``pack`` made.

    Raises:
        SearchRefused: the text is no cursor.
    """
    try:
        opened = zlib.decompressobj()
        data = opened.decompress(base64.b64decode(text, altchars=b"-_", validate=True), MOST_BYTES)
        return _CURSOR.validate_python(json.loads(data if opened.eof else b""))
    except (ValueError, RecursionError, zlib.error) as error:
        raise SearchRefused(
            "the cursor is damaged", "pass on what the page before gave, unchanged"
        ) from error


def digest_of(request: Request) -> str:
    """What identifies a search: index, mode, what matches and in which order; 16 hexadecimal characters."""
    parts = {
        name: value
        for name, value in request.body.items()
        if name in (MATCHING | ORDERING) and name not in _PAGING
    }
    said = json.dumps(
        [request.index, request.options.mode, dict(request.header), parts], sort_keys=True, default=str
    )
    return hashlib.sha256(said.encode()).hexdigest()[:16]
