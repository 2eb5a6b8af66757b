"""Damage: to bytes, to texts and to JSON values."""

import copy
import json
import random
from collections.abc import Sequence
from typing import Any, Final

TOKENS: Final = (
    b"\0", b"\xff", b"\xff" * 8, b"\x80", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\xed\xa0\x80", b"\xf4\x90\x80\x80",
    b"\x1b$B", b"\x0e", b"\r", b"\n", b"\r\n\r\n", b"\t", b'"', b"'", b"\\", b"\\u0000", b"\\ud800", b"{", b"}", b"[", b"]", b",",
    b":", b"=", b"null", b"NaN", b"-Infinity", b"1e999", b"-1", b"0", b"99999999999999999999", b"9" * 5000, b"true", b"[" * 200,
    b"<", b">", b"</", b"<!--", b"<![CDATA[", b"<?", b"&#x110000;", b"&#0;", b"&", b"<script>", b"<plaintext>", b"<table>",
    b"<meta charset=utf-7>", b"<meta charset=punycode>", b"<base href='http://['>", b"<title>", b"</html>", b"<svg>", b"<template>",
    b"<time datetime='9999-99-99'>", b"<textarea>", b"<p hidden>", b"</div>" * 30, b"<div>" * 300, b"charset=", b"Content-Length: ",
    b"Transfer-Encoding: chunked\r\n", b"Content-Encoding: gzip\r\n", b"WARC/1.0\r\n", b"\x1f\x8b\x08", b"PAR1", b"PK\x03\x04",
    b"\xe2\x80\xae", b"\xe4\xb8\xad", b"\xf0\x9f\x98\x80", b"%00", b"../../", b"http://[::1", b"\x00\x00\x00\x80", b"\xff\xff\xff\x7f",
)  # fmt: skip
VALUES: Final[tuple[Any, ...]] = (
    None, True, False, 0, 1, -1, 2**31, 2**63, 2**64, -(2**63) - 1, 10**30, 1.5, -0.0, 1e308, float("inf"), float("nan"), "", " ",
    "0", "-1", "x", "\0", "\ud800", "中文", "a" * 5000, "../x", "http://[", "_id", "2026-13-45", "9999-12-31T23:59:59Z", "[", "{}",
    [], [[]], [None], ["x"], [0], [{}], {}, {"": None}, {"x": {}}, {"type": None}, {"error": {"type": 1}}, {"value": None},
)  # fmt: skip
"""What stands in the place of a JSON value."""


def damaged(rng: random.Random, data: bytes, others: Sequence[bytes] = (), most: int = 8) -> bytes:
    """The bytes with one or more kinds of damage."""
    made = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, most))):
        start = rng.randrange(len(made) + 1)
        end = min(len(made), start + rng.choice((0, 1, 1, 4, 40, 400)))
        match rng.randrange(9):
            case 0:
                for _ in range(rng.choice((1, 1, 4, 30))):
                    if made:
                        made[rng.randrange(len(made))] ^= 1 << rng.randrange(8)
            case 1:
                made[start:end] = rng.choice(TOKENS)
            case 2:
                token = rng.choice(TOKENS)
                made[start:start] = token * rng.choice((1, 1, 3, 50 if len(token) < 100 else 1))
            case 3:
                made[start:end] = rng.randbytes(rng.randrange(1, 9))
            case 4:
                del made[start:end]
            case 5:
                made[start:start] = made[start : start + rng.randrange(1, 2000)]
            case 6:
                del made[start:]
            case 7 if others:
                other = rng.choice(others)
                cut = rng.randrange(len(other) + 1)
                made[start:] = other[cut:]
            case _:
                made[start:end] = made[start:end][::-1]
    return bytes(made)


def window(rng: random.Random, data: bytes, most: int) -> bytes:
    """The whole, or a piece of at most ``most`` bytes."""
    if len(data) <= most:
        return data
    start = rng.randrange(len(data) - most)
    return data[start : start + most]


def value_of(rng: random.Random, depth: int = 3) -> Any:
    """Any JSON value."""
    if depth and rng.random() < 0.3:
        if rng.random() < 0.5:
            return [value_of(rng, depth - 1) for _ in range(rng.randrange(4))]
        keys = [
            rng.choice(("a", "", "id", "_id", "type", "value", "hits", "中")) for _ in range(rng.randrange(4))
        ]
        return {key: value_of(rng, depth - 1) for key in keys}
    return copy.copy(rng.choice(VALUES))


def damaged_json(rng: random.Random, value: Any, most: int = 4) -> Any:
    """A copy of a JSON value in which keys are missing, values are of other types, or parts are repeated or nested."""
    made = [_copied(value)]
    for _ in range(rng.randrange(1, most + 1)):
        holder, key = _somewhere(rng, made)
        match rng.randrange(8):
            case 0 | 1 if holder is not made:
                del holder[key]
            case 2 if isinstance(holder, dict):
                holder[rng.choice(("", "x", f"{key}s", "error", "_source"))] = holder.pop(key)
            case 3 if isinstance(holder[key], list) and holder[key]:
                holder[key] *= rng.choice((2, 3))
            case 4:
                holder[key] = [holder[key]] if rng.random() < 0.5 else {"x": holder[key]}
            case 5:
                holder[key], other = value_of(rng), holder[key]
                place, name = _somewhere(rng, made)
                place[name] = _copied(other)
            case 6:
                holder[key] = (
                    as_bytes(rng, holder[key])[:1000].decode("utf-8", "replace")
                    if rng.random() < 0.8
                    else nested(rng)
                )
            case _:
                holder[key] = value_of(rng)
    return made[0]


def nested(rng: random.Random, most: int = 2_000) -> Any:
    """A list or object that is nested deeply."""
    value: Any = None
    for _ in range(rng.choice((20, 200, most))):
        value = [value] if rng.random() < 0.5 else {"bool": value}
    return value


def _copied(value: Any) -> Any:
    try:
        return copy.deepcopy(value)
    except RecursionError:
        return None


def _somewhere(rng: random.Random, root: list[Any]) -> tuple[Any, Any]:
    """A random place in a JSON value: what holds it, and its key."""
    holder: Any = root
    key: Any = 0
    while True:
        inner = holder[key]
        if not isinstance(inner, dict | list) or not inner or rng.random() < 0.15:
            return holder, key
        holder = inner
        key = rng.choice(list(inner)) if isinstance(inner, dict) else rng.randrange(len(inner))


def as_bytes(rng: random.Random, value: Any) -> bytes:
    """A JSON value as a file may hold it."""
    try:
        written = json.dumps(value, ensure_ascii=rng.random() < 0.5)
    except (RecursionError, ValueError):
        written = "[" * 5_000
    return written.encode("utf-8", "replace" if rng.random() < 0.9 else "surrogatepass")
