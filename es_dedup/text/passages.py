"""Passages that are left out of a text before features are made of it."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

_LETTERS: Final = "[0-9A-Za-z]"
_GAP: Final = re.compile("\n{3,}")


def without_passages(text: str, passages: Sequence[str]) -> str:
    """A text with each occurrence of some passages replaced by as many line breaks as it has characters.

    Places of what remains do not change, and clauses before and after a passage do not run together.

    Args:
        text: any.
        passages: with a word each. Any run of white space matches any other; a passage that begins or ends with a Latin letter or a
            digit is not found inside a longer word. Of passages that overlap, the one that begins first and is longest is left out.
    """
    return _pattern(tuple(passages)).sub(_blank, text) if passages else text


def has_passage(text: str, passages: Sequence[str]) -> bool:
    """Whether ``without_passages`` would change the text."""
    return bool(passages) and _pattern(tuple(passages)).search(text) is not None


def closed_up(text: str) -> str:
    """The text with runs of blank lines, as ``without_passages`` leaves them, reduced to one."""
    return _GAP.sub("\n\n", text)


@lru_cache(maxsize=1024)
def _pattern(passages: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(_one, sorted(passages, key=lambda each: (-len(each), each)))))


def _one(passage: str) -> str:
    words = passage.split()
    before = f"(?<!{_LETTERS})" if re.match(_LETTERS, words[0]) else ""
    after = f"(?!{_LETTERS})" if re.match(_LETTERS, words[-1][-1]) else ""
    return before + r"\s+".join(map(re.escape, words)) + after


def _blank(found: re.Match[str]) -> str:
    return "\n" * len(found[0])
