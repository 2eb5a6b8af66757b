"""Text that is neither UTF-8 nor Chinese and of which nobody says in which charset it is; UTF-8 with parts in another; UTF-8 encoded twice.

Each is taken only where its look leaves no doubt: nearly all letters are of one script, and the script's commonest letters are common.
"""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_SAMPLE_BYTES: Final = 100_000
_FEW_LETTERS: Final = 10
_MOST: Final = 0.95  # of the letters beyond ASCII
_KANA_SHARE: Final = 0.25  # running Japanese has about a half
_COMMON_SHARE: Final = 0.5  # the ten commonest Russian letters are 0.65 of a text
_WIDE_UTF8: Final = re.compile(rb"[\xe1-\xef][\x80-\xbf]{2}")
_BROKEN_RUN: Final = re.compile(
    rb"[\x80-\xff](?:(?!(?:[\xe1-\xef][\x80-\xbf]{2}){2})[\x80-\xff]|[\x40-\x7e](?=[\x80-\xff]))*"
)
_MIN_RUN_BYTES: Final = 4  # two ideographs; less is a broken character
_TWICE: Final = re.compile(
    rb"\xc3[\x82-\xb4](?:\xc2[\x80-\xbf]|[\xc5\xc6\xcb][\x80-\xbf]|\xe2[\x80-\x84][\x80-\xbf])"
)
_MOSTLY_TWICE: Final = 0.5  # of the characters beyond ASCII
_LEAST_TWICE: Final = 0.15  # a character of three bytes gives three, of which the first is found
_FEW_BYTES: Final = 200
_MANY_RUNS: Final = (
    3  # or characters of one run; one pair alone can be chance: ``ß“`` reads like a character encoded twice
)
_KANA: Final = re.compile("[\u3041-\u3096\u30a1-\u30fa]")
_HANGUL: Final = re.compile("[\uac00-\ud7a3]")
_BEYOND: Final = re.compile(r"[^\x00-\xbf\u2010-\u2044\u3000-\u303f\uff00-\uff20]")
_JAPANESE: Final = re.compile("[\u3041-\u30fe\u3400-\u9fff\uff00-\uffef]")
_RUSSIAN: Final = re.compile("[\u0410-\u044f\u0451\u0401\u0454\u0456\u0457\u0491\u045e]")
_SMALL: Final = re.compile("[\u0430-\u044f\u0451\u0454\u0456\u0457\u0491\u045e]")
_COMMON: Final = frozenset("оеаинтсрвл")


def other_charset(data: bytes) -> str | None:
    """The charset of text that looks like Japanese, Korean or Russian and like nothing else; None where there is doubt."""
    sample = data[:_SAMPLE_BYTES]
    return next((name for name, looks_right in _LOOKS if looks_right(sample.decode(name, "replace"))), None)


def _is_japanese(text: str) -> bool:
    letters = _BEYOND.findall(text)
    kana = len(_KANA.findall(text))
    return (
        len(letters) >= _FEW_LETTERS
        and kana >= _KANA_SHARE * len(letters)
        and len(_JAPANESE.findall(text)) >= _MOST * len(letters)
    )


def _is_korean(text: str) -> bool:
    letters = _BEYOND.findall(text)
    return len(letters) >= _FEW_LETTERS and len(_HANGUL.findall(text)) >= _MOST * len(letters)


def _is_russian(text: str) -> bool:
    letters = _BEYOND.findall(text)
    small = _SMALL.findall(text)
    return (
        len(letters) >= _FEW_LETTERS
        and len(_RUSSIAN.findall(text)) >= _MOST * len(letters)
        and 2 * len(small) > len(letters)
        and sum(letter in _COMMON for letter in small) >= _COMMON_SHARE * len(small)
    )


_LOOKS: Final[tuple[tuple[str, Callable[[str], bool]], ...]] = (
    ("cp932", _is_japanese),
    ("euc_jp", _is_japanese),
    ("cp949", _is_korean),
    ("cp1251", _is_russian),
    ("koi8-r", _is_russian),
    ("cp866", _is_russian),
)


def mostly_utf8(data: bytes) -> str | None:
    """UTF-8 of which parts are in GB18030, each part read as what it is; None where most of the text is not UTF-8, or there are no such parts.

    Args:
        data: not valid as UTF-8.
    """
    wide = len(_WIDE_UTF8.findall(data, 0, _SAMPLE_BYTES))
    if not wide or wide <= data[:_SAMPLE_BYTES].decode("utf-8", "replace").count("\ufffd"):
        return None
    text = data.decode("utf-8", _HANDLER)
    return None if text.count("\ufffd") >= data.decode("utf-8", "replace").count("\ufffd") else text


def _as_gb18030(error: UnicodeError) -> tuple[str, int]:
    """For ``codecs.register_error``: the run of bytes from the first that is no UTF-8, as GB18030."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    run = _BROKEN_RUN.match(error.object, error.start)
    end = run.end() if run else error.end
    text = error.object[error.start : end].decode("gb18030", "replace")
    return (text if end - error.start >= _MIN_RUN_BYTES and "\ufffd" not in text else "\ufffd"), end


_HANDLER: Final = "es_dedup.as_gb18030"
codecs.register_error(_HANDLER, _as_gb18030)


def encoded_once(data: bytes, text: str) -> str | None:
    """The text of UTF-8 that was taken for Windows-1252 or Latin-1 and encoded again; None for text encoded once.

    Args:
        data: valid UTF-8.
        text: what it says.
    """
    twice = _count_twice(data)
    if not twice:
        return None
    beyond = len(text) - len(text.encode("ascii", "ignore"))
    if twice < _LEAST_TWICE * beyond:
        return None
    read = [run for run in _TWICE_RUN.findall(text) if _once(run) != run]
    if (len(read) < _MANY_RUNS and max(map(len, read), default=0) < _MANY_RUNS) or sum(
        map(len, read)
    ) < _MOSTLY_TWICE * beyond:
        return None
    return _TWICE_RUN.sub(lambda match: _once(match[0]), text)


def _count_twice(data: bytes) -> int:
    """How often ``_TWICE`` stands there; its first byte alone is found ten times as fast, where there are few of it."""
    count, at = 0, -1
    for _ in range(_FEW_BYTES):
        at = data.find(b"\xc3", at + 1)
        if at < 0:
            return count
        count += _TWICE.match(data, at) is not None
    return count + len(_TWICE.findall(data, at + 1))


def _once(run: str) -> str:
    try:
        return run.translate(_BYTES_OF).encode("latin-1").decode("utf-8")
    except UnicodeError:
        return run


_BYTES_OF: Final = {
    ord(char): byte for byte in range(0x80, 0xA0) if (char := bytes([byte]).decode("cp1252", "ignore"))
}
_TWICE_RUN: Final = re.compile(f"[\\x80-\\xff{''.join(map(chr, _BYTES_OF))}]{{2,}}")
