"""The opaque cursor of cursor paging: the state of a search as one string."""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from es_dedup.collapse.model import Bound, Total
from es_dedup.collapse.search_bodies import MATCHING, ORDERING
from es_dedup.errors import SearchRefused

if TYPE_CHECKING:
    from es_dedup.collapse.search_request import Request

VERSION: Final = 1
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


def pack(cursor: Cursor) -> str:
    """The cursor as letters, digits, ``-``, ``_`` and ``=``."""
    parts = [
        VERSION,
        cursor.pit,
        cursor.search,
        list(cursor.after),
        *(
            None if total is None else [total.value, total.bound]
            for total in (cursor.documents, cursor.groups)
        ),
    ]
    return base64.urlsafe_b64encode(zlib.compress(json.dumps(parts).encode())).decode()


def unpack(text: str) -> Cursor:
    """The cursor that ``pack`` made.

    Raises:
        SearchRefused: the text is no cursor.
    """
    try:
        opened = zlib.decompressobj()
        data = opened.decompress(base64.b64decode(text, altchars=b"-_", validate=True), MOST_BYTES)
        version, pit, search, after, *totals = json.loads(data)
        documents, groups = (None if each is None else Total(int(each[0]), Bound(each[1])) for each in totals)
        sound = version == VERSION and isinstance(pit, str) and isinstance(search, str) and opened.eof
        made = Cursor(pit, search, tuple(after), documents, groups)
    except (ValueError, TypeError, LookupError, OverflowError, RecursionError, zlib.error) as error:
        raise SearchRefused(
            "the cursor is damaged", "pass on what the page before gave, unchanged"
        ) from error
    if not sound:
        raise SearchRefused("the cursor is damaged", "pass on what the page before gave, unchanged")
    return made


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
