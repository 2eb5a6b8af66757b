"""Which charset a page is in: byte order mark, validity and the look of the text before any declaration.

Declarations lie: GBK bytes are served as UTF-8, UTF-8 pages carry ``charset=gb2312``, servers add ``ISO-8859-1`` to
everything. Bytes that are strictly valid UTF-8 are UTF-8; everything else is decoded with each likely charset, and the
decoding with few replacement characters and many common characters wins. A declaration only breaks near-ties.
"""

from __future__ import annotations

import codecs
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

_BOMS: Final = (  # the four-byte marks first: UTF-32-LE starts with the mark of UTF-16-LE
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_META: Final = re.compile(
    rb"""<meta[^<>]{0,300}?charset\s{0,9}=\s{0,9}["']?\s{0,9}([a-zA-Z0-9_.:-]{2,40})""", re.IGNORECASE
)
_XML: Final = re.compile(
    rb"""<\?xml[^>]{0,100}?encoding\s{0,9}=\s{0,9}["']([a-zA-Z0-9_.:-]{2,40})""", re.IGNORECASE
)
_HIGH_RUN: Final = re.compile(rb"[\x80-\xff]+")
_BEYOND_ASCII: Final = re.compile(r"[^\x00-\x7f]+")
_CJK: Final = re.compile(r"[\u3400-\u9fff]+")

_SUPERSETS: Final = {
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "iso2022_jp": "iso2022_jp_2",
}
_LATIN: Final = frozenset({"iso8859-1", "latin_1", "cp1252", "iso8859-15", "ascii"})
_SEVEN_BIT: Final = frozenset({"iso2022_jp_2", "iso2022_kr", "hz"})
"""Bytes of ASCII alone, so they would pass as valid UTF-8."""

_MULTI_BYTE: Final = frozenset(
    "utf-8 gb18030 big5hkscs cp950 euc_tw cp932 shift_jisx0213 euc_jp euc_jisx0213 euc_jis_2004 cp949 johab".split()
)
_UNUSABLE: Final = frozenset(
    {"utf_7", "idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined"}
)
_COMMON: Final = frozenset(
    "的一是不了在人有我他中大上个来到时和地为子说生国年着就那会要出也得里后自以家可下过天去能对小多然于心学么之都好看起发当没成只如事把还用第样道想作种开這們個來時為說國會過對學後發沒還樣開種經點將與，。、；：？！“”《》（）"
)
_DECLARED_BONUS: Final = 0.05  # breaks near-ties, never outweighs a wrong look
_GOOD_ENOUGH: Final = 0.2  # common characters are about 40 % of real Chinese, below 5 % in misread text
_PLAUSIBLE: Final = 0.1  # of declared letters, which stand together where they are not Latin
_SAMPLE_CHARS: Final = 10_000  # beyond ASCII
_SAMPLE_BYTES: Final = 400_000


@dataclass(frozen=True, slots=True)
class Decoded:
    """Text of a page.

    Attributes:
        text: the decoded characters; replacement characters stand for what could not be read.
        charset: the charset used, in Python's name for it.
        notes: what was odd, in plain words.
    """

    text: str
    charset: str
    notes: tuple[str, ...] = ()


def normal_name(label: str | None) -> str | None:
    """Python's name for a declared charset, widened to the superset that browsers use.

    Returns:
        For instance ``gb18030`` for ``GBK``; None for an empty, unknown or unusable label.
    """
    if not label:
        return None
    label = label.strip().strip("\"'").lower()
    info = None
    for name in (label, label.removeprefix("x-").removesuffix("-i").replace("windows-", "cp")):
        with suppress(LookupError, ValueError):
            info = info or codecs.lookup(name)
    if info is None:
        return None
    if info.name.replace("-", "_") in _UNUSABLE or not getattr(info, "_is_text_encoding", True):
        return None
    if not _reads_markup(info.name):
        return None
    return _SUPERSETS.get(info.name, info.name)


def _reads_markup(name: str) -> bool:
    """False for EBCDIC and for UTF-16: a page whose ASCII markup could be read is in neither."""
    try:
        return b"<p>1</p>".decode(name, "replace") == "<p>1</p>"
    except (ValueError, LookupError, OSError):
        return False


def declared_in_markup(data: bytes) -> str | None:
    """The charset named by a ``<meta>``, wherever it stands, as for browsers, or by an XML declaration; else None."""
    for pattern in (_META, _XML):
        if found := pattern.search(data):
            return normal_name(found[1].decode("ascii"))
    return None


def decode(data: bytes, http_charset: str | None = None) -> Decoded:
    """Decode a page.

    Args:
        data: bytes as served; may be empty, and may end inside a character.
        http_charset: charset of the HTTP header, if known; ``text/html; charset=gbk`` is accepted too.

    Returns:
        The text and its charset. Never raises for what the bytes hold.
    """
    for mark, name in _BOMS:
        if data.startswith(mark):
            return Decoded(data[len(mark) :].decode(name, "replace"), name)
    declared = [
        name
        for name in (normal_name((http_charset or "").rpartition("=")[2]), declared_in_markup(data))
        if name
    ]
    seven_bit = [name for name in declared if name in _SEVEN_BIT]
    if seven_bit and data.isascii() and (b"\x1b$" in data or b"~{" in data):
        return Decoded(data.decode(seven_bit[0], "replace"), seven_bit[0])
    try:
        text, name = codecs.utf_8_decode(data, "strict")[0], "utf-8"
    except UnicodeDecodeError:
        text, name = _best(data, [name for name in declared if name not in _LATIN | _SEVEN_BIT])
    return Decoded(text, name, _lied(name, declared))


def _lied(used: str, declared: list[str]) -> tuple[str, ...]:
    wrong = sorted({name for name in declared if name != used and name not in _LATIN})
    return (f"declared {', '.join(wrong)}, read as {used}",) if wrong else ()


def _best(data: bytes, declared: list[str]) -> tuple[str, str]:
    """The text that looks most natural, and its charset."""
    best: tuple[float, str, str] = (float("-inf"), "", "")
    for name in dict.fromkeys([*declared, "gb18030", "utf-8", "big5hkscs", "cp1252"]):
        text = data.decode(name, "replace")
        score = _look(text, name, data) + (_DECLARED_BONUS if name in declared else 0.0)
        if name in declared and name not in _MULTI_BYTE and "\ufffd" not in text:
            score = max(score, _PLAUSIBLE)
        if score > best[0]:
            best = (score, text, name)
        if name in declared and score > _GOOD_ENOUGH:
            break
    return best[1:]


def _look(text: str, name: str, data: bytes) -> float:
    """How natural a decoding looks: about 0.4 for right Chinese, near or below 0 for misread text; at most 1."""
    if name not in _MULTI_BYTE:
        return _look_single_byte(data, text)
    sample = "".join(_BEYOND_ASCII.findall(text))[:_SAMPLE_CHARS]
    wide = len(sample)
    if not wide:
        return 0.0
    broken = sample.count("\ufffd") / wide
    common = sum(map(_COMMON.__contains__, sample)) / wide
    private = sum("\ue000" <= char <= "\uf8ff" for char in sample) / wide
    other_script = 0.3 if name not in ("gb18030", "big5hkscs") and not _CJK.search(sample) else 0.0
    return common + other_script - 3 * broken - 2 * private


def _look_single_byte(data: bytes, text: str) -> float:
    """Accented letters stand alone between ASCII letters; the bytes of East Asian text come in pairs."""
    runs = _HIGH_RUN.findall(data[:_SAMPLE_BYTES])
    if not runs:
        return 0.0
    alone = sum(len(run) == 1 for run in runs) / len(runs)
    return alone - 0.5 - 3 * text.count("\ufffd") / len(runs)
