"""Other words and other paragraphs for the same story."""

from __future__ import annotations

import re
from functools import cache

from scripts.samplesupport.stories import Para
from scripts.samplesupport.tables import read_lines

CLOSERS = "”’」』）)"
SENTENCE_END = {"zh": f"[。！？][{CLOSERS}]*", "en": f"[.!?][{CLOSERS}]* "}


def split_para(para: Para, lang: str) -> list[Para]:
    """Cut a paragraph in two at the sentence end nearest to its middle."""
    ends = [m.end() for m in re.finditer(SENTENCE_END[lang], para.text)]
    ends = [e for e in ends if 15 < e < len(para.text) - 15]
    if para.kind != "p" or not ends:
        return [para]
    cut = min(ends, key=lambda e: abs(e - len(para.text) // 2))
    return [Para("p", para.text[:cut].strip()), Para("p", para.text[cut:].strip())]


def recut(paras: list[Para], how: str, lang: str) -> list[Para]:
    """Split every paragraph (``split``), join pairs (``merge``) or join all but the ends (``block``)."""
    if how == "split":
        return [part for para in paras for part in split_para(para, lang)]
    glue = " " if lang == "en" else ""
    if how == "merge":
        groups = [paras[i : i + 2] for i in range(0, len(paras), 2)]
    else:
        groups = [paras[:1], paras[1:-1], paras[-1:]]
    return [Para("p", glue.join(p.text for p in group)) for group in groups]


@cache
def synonyms(lang: str) -> list[tuple[str, str]]:
    """Replacement pairs, the longest left side first."""
    pairs = [line.partition("=")[::2] for line in read_lines(f"synonyms-{lang}.txt")]
    return sorted(pairs, key=lambda pair: (-len(pair[0]), pair[0]))


def replace_words(text: str, lang: str) -> str:
    """Replace words by synonyms; a replaced word is not replaced again."""
    table = dict(synonyms(lang))
    words = "|".join(re.escape(left) for left, _ in synonyms(lang))
    pattern = rf"\b(?:{words})\b" if lang == "en" else words

    def swap(match: re.Match[str]) -> str:
        new = table[match[0].lower()]
        return new.capitalize() if match[0][0].isupper() else new

    return re.sub(pattern, swap, text, flags=re.IGNORECASE if lang == "en" else 0)
