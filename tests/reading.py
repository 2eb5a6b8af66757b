"""What tests of readers share: small inputs, and what a reader makes of them."""

import bz2
import gzip
import json
import lzma
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import zstandard

from es_dedup.model import Page
from es_dedup.readers import InputFailure, ReadOptions, read_pages

LINE: Final = b'{"id": "1", "text": "t"}\n'
PACKERS: Final[dict[str, Callable[[bytes], bytes]]] = {
    "gz": gzip.compress,
    "xz": lzma.compress,
    "bz2": bz2.compress,
    "zst": zstandard.compress,
}
RANDOM: Final = random.Random(3).randbytes(4000)


def read(*paths: Path | str, **options: Any) -> tuple[list[str], list[str]]:
    """Ids of the pages that paths give, and their failures."""
    items = list(read_pages(paths, ReadOptions(**options)))
    ids = [item.id for item in items if isinstance(item, Page)]
    return ids, [str(item) for item in items if isinstance(item, InputFailure)]


def warc(url: str, body: bytes) -> bytes:
    """An archive with one answer of a server, a page."""
    block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + body
    head = f"WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:1>\r\nWARC-Target-URI: {url}\r\n"
    kind = f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(block)}\r\n\r\n"
    return (head + kind).encode() + block + b"\r\n\r\n"


def lines_of(*records: Any) -> bytes:
    """JSON lines; bytes are lines as they are."""
    return (
        b"\n".join(each if isinstance(each, bytes) else json.dumps(each).encode() for each in records) + b"\n"
    )
