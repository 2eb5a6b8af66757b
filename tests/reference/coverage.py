"""Reference of the coverage features: tokens, grams, clauses, sketches and two-way cover.

All texts are meant to be normalised (``normalise.normalise``) but nothing here requires it.
"""

from collections.abc import Collection, Mapping
from typing import Final, NamedTuple, TypeVar

Gram = tuple[str, ...]
Clause = tuple[str, ...]

_SINGLE_TOKEN_RANGES: Final = (
    (0x3400, 0x4DBF),  # ideographs, extension A
    (0x4E00, 0x9FFF),  # ideographs
    (0xF900, 0xFAFF),  # compatibility ideographs
    (0x20000, 0x3FFFF),  # ideographs, supplementary planes
    (0x3040, 0x30FF),  # kana
    (0xAC00, 0xD7A3),  # hangul syllables
)
_CLAUSE_ENDS: Final = "。！？；，：…,.!?;:\n"
_CHINESE_NUMERALS: Final = "〇零一二三四五六七八九十百千万亿两"
_COUNTED: Final = "年月日时分秒号点个名例人元岁米度倍成期届次"
MASK: Final = "#"

_Feature = TypeVar("_Feature")


def is_cjk(char: str) -> bool:
    """Whether one character is a token of its own: by code range alone.

    Settled:
        The ranges are taken whole, with their punctuation (U+30A0, U+30FB) and unassigned codes. The
        numeral U+3007 and the mark U+3005 lie outside them, are alphanumeric, and so belong to runs.
    """
    return any(first <= ord(char) <= last for first, last in _SINGLE_TOKEN_RANGES)


def tokens(text: str) -> list[str]:
    """Tokens in order: each CJK character, and each maximal run of other ``str.isalnum`` characters."""
    found: list[str] = []
    run = ""
    for char in text:
        if is_cjk(char):
            if run:
                found.append(run)
            found.append(char)
            run = ""
        elif char.isalnum():
            run += char
        else:
            if run:
                found.append(run)
            run = ""
    if run:
        found.append(run)
    return found


def grams(text: str, cjk_n: int = 5, word_n: int = 4) -> list[Gram]:
    """The gram that starts at each token, in text order, repeats kept.

    A gram is ``cjk_n`` tokens long when its first token is CJK, else ``word_n``; it reaches over
    punctuation and line ends and may mix kinds. Where fewer tokens are left there is no gram.
    """
    sequence = tokens(text)
    found = []
    for i, token in enumerate(sequence):
        n = cjk_n if is_cjk(token[0]) else word_n
        if i + n <= len(sequence):
            found.append(tuple(sequence[i : i + n]))
    return found


def _ends_clause(text: str, i: int) -> bool:
    char = text[i]
    if char not in _CLAUSE_ENDS:
        return False
    before = text[i - 1] if i > 0 else ""
    after = text[i + 1] if i + 1 < len(text) else ""
    if char in ".,:" and before.isdigit() and after.isdigit():
        return False
    return not (char == "." and _is_ascii_alnum(before) and _is_ascii_alnum(after))


def _is_ascii_alnum(char: str) -> bool:
    return char.isascii() and char.isalnum()


def clause_texts(text: str) -> list[str]:
    """The stretches of ``text`` between clause ends that hold at least one token, in text order.

    Clause ends are the characters ``。！？；，：…,.!?;:`` and newline, except ASCII ``.`` ``,`` ``:``
    directly between two digits (``str.isdigit``) and ``.`` directly between two ASCII letters or digits.
    """
    stretches = [""]
    for i, char in enumerate(text):
        if _ends_clause(text, i):
            stretches.append("")
        else:
            stretches[-1] += char
    return [stretch for stretch in stretches if tokens(stretch)]


def clauses(text: str) -> list[Clause]:
    """The token sequence of each clause, in text order, repeats kept, none empty."""
    return [tuple(tokens(stretch)) for stretch in clause_texts(text)]


def clause_length(clause: Clause) -> int:
    """Number of characters of the tokens of a clause; at least 1 for a clause of ``clauses``."""
    return sum(len(token) for token in clause)


def mask_digits(text: str) -> str:
    """``text`` with numbers replaced by ``#``.

    Replaced are, each by one ``#``: a maximal run of digits (``str.isdigit``) of any length; a maximal
    run of two or more Chinese numerals; a Chinese numeral that stands alone and is directly followed by
    one of the counted characters, which itself stays.

    Settled:
        Digits and Chinese numerals form separate runs. "Of length at least 2" binds the Chinese
        numerals only. A run is broken by any other character, also by a space or a decimal point.
    """
    out = []
    i = 0
    while i < len(text):
        end = i
        if text[i].isdigit():
            while end < len(text) and text[end].isdigit():
                end += 1
            out.append(MASK)
        elif text[i] in _CHINESE_NUMERALS:
            while end < len(text) and text[end] in _CHINESE_NUMERALS:
                end += 1
            counted = end < len(text) and text[end] in _COUNTED
            out.append(MASK if end - i >= 2 or counted else text[i])
        else:
            end = i + 1
            out.append(text[i])
        i = end
    return "".join(out)


def masked_clauses(text: str) -> list[Clause]:
    """Digit-masked form of each clause of ``text``: same number and order as ``clauses``.

    Settled:
        Masking looks at the text of the clause, so "directly followed" means in the text. In the
        sequence each ``#`` is a token of its own; a ``#`` of the text itself is no token, as ever.
    """
    found = []
    for stretch in clause_texts(text):
        masked: list[str] = []
        for i, part in enumerate(mask_digits(stretch.replace(MASK, " ")).split(MASK)):
            if i > 0:
                masked.append(MASK)
            masked.extend(tokens(part))
        found.append(tuple(masked))
    return found


class Sketch(NamedTuple):
    """The smallest hashes of a set, ascending, and the largest one kept; None = the set is complete."""

    hashes: tuple[int, ...]
    threshold: int | None


def sketch_cover(
    left: Sketch, right: Sketch, weights: Mapping[int, float] | None = None
) -> tuple[float, float]:
    """Estimated shares of ``left`` found in ``right`` and of ``right`` found in ``left``, each in [0, 1].

    Both sides are cut at the smaller threshold (None = infinite). The cover of a side is the weight of its
    shared hashes over the weight of all its hashes. Weights are in [0, 1], a hash without an entry weighs
    1. A zero denominator gives 0.0.

    Settled:
        A weight discounts a hash whether it is shared or not: boilerplate that is known as template must not
        count as missing content when the other page has other boilerplate.
    """
    thresholds = [t for t in (left.threshold, right.threshold) if t is not None]
    cut = min(thresholds) if thresholds else None
    in_left = {h for h in left.hashes if cut is None or h <= cut}
    in_right = {h for h in right.hashes if cut is None or h <= cut}
    shared = sum(_weight(h, weights) for h in sorted(in_left & in_right))
    missing_left = sum(_weight(h, weights) for h in sorted(in_left - in_right))
    missing_right = sum(_weight(h, weights) for h in sorted(in_right - in_left))
    return _share(shared, missing_left), _share(shared, missing_right)


def clause_cover(
    inner: Collection[Clause], outer: Collection[Clause], weights: Mapping[Clause, float] | None = None
) -> float:
    """Share of ``inner``'s text, by length, whose clauses occur in ``outer``; in [0, 1].

    Distinct clauses count once, each with ``clause_length`` times its weight, in the denominator whether
    shared or not. Weights are in [0, 1], a clause without an entry weighs 1. A zero denominator gives 0.0.

    Settled:
        As in ``sketch_cover``, a clause that is known as template is discounted on both sides of the share.
    """
    mine, other = set(inner), set(outer)
    shared = sum(_weight(c, weights) * clause_length(c) for c in sorted(mine & other))
    missing = sum(_weight(c, weights) * clause_length(c) for c in sorted(mine - other))
    return _share(shared, missing)


def _weight(feature: _Feature, weights: Mapping[_Feature, float] | None) -> float:
    return 1.0 if weights is None else weights.get(feature, 1.0)


def _share(shared: float, missing: float) -> float:
    return shared / (shared + missing) if shared + missing else 0.0
