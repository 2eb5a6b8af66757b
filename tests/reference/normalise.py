"""Reference of text normalisation.

Order of the steps, each over the whole text:

1. newline unification: CRLF and CR become newline;
2. removal of lone surrogates (Cs), of control characters (Cc) except newline and tab, and of format
   characters (Cf: zero width, BOM, soft hyphen, directional marks);
3. Unicode NFKC (the ideographic full stop U+3002 has no decomposition, so it needs no protection);
4. lower case (``str.lower``), before the quotes: whether a sigma ends a word depends on the characters beside it;
5. quotes and dashes to ASCII;
6. traditional to simplified, OpenCC ``t2s``, phrase level;
7. white space: every run of white space other than newline becomes one space, lines are stripped,
   empty lines dropped, the rest joined by newline.

Settled:
    Step 2 as a whole stands where the definition puts "surrogates removed", before NFKC: a zero-width
    character between a letter and its accent must not keep the two apart.
    VT, FF, FS-US and NEL are category Cc, so they vanish; they neither split lines nor leave a space.
    U+2028 and U+2029 (Zl, Zp) are white space other than newline, so they become a space.

Traps:
    ``normalise`` is idempotent on ordinary text, not on every string. Known exceptions: an upper-case
    letter with an accent that only the lower-case letter composes with (H, T, W, Y, J with a combining
    mark), the character U+85B4, which ``t2s`` converts in two hops, and traditional phrases whose
    simplified form is again a key of the ``t2s`` tables.
"""

import re
import unicodedata
from typing import Final

import opencc

_TO_DOUBLE_QUOTE: Final = "“”„‟「」『』"
_TO_SINGLE_QUOTE: Final = "‘’‚‛"
_TO_HYPHEN: Final = "‐‑‒–—―─"

_T2S: Final = opencc.OpenCC("t2s")
_DESCRIPTION: Final = re.compile("([\u2ff0-\u2fff])")


def unify_newlines(text: str) -> str:
    """``text`` with every CRLF and every remaining CR turned into one newline."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def remove_invisible(text: str) -> str:
    """``text`` without surrogates, format characters, and control characters but newline and tab."""
    return "".join(c for c in text if c in "\n\t" or unicodedata.category(c) not in ("Cs", "Cc", "Cf"))


def map_quotes_and_dashes(text: str) -> str:
    """``text`` with the listed quotes as ``"`` or ``'`` and the listed dashes as ``-``.

    Book-title marks (U+3008 to U+300B) and all other punctuation stay.
    """
    out = []
    for c in text:
        if c in _TO_DOUBLE_QUOTE:
            out.append('"')
        elif c in _TO_SINGLE_QUOTE:
            out.append("'")
        elif c in _TO_HYPHEN:
            out.append("-")
        else:
            out.append(c)
    return "".join(out)


def to_simplified(text: str) -> str:
    """``text`` in simplified characters, converted phrase by phrase with OpenCC ``t2s``.

    ``text`` must hold no lone surrogates. What stands behind a sign of an ideographic description is converted, too; OpenCC leaves
    what it describes as it is.
    """
    return "".join(map(_T2S.convert, _DESCRIPTION.split(text)))


def collapse_white_space(text: str) -> str:
    """Non-empty lines of ``text``, words one space apart, no space at either end of a line."""
    lines = []
    for line in text.split("\n"):
        words = line.split()  # any run of white space; a newline cannot occur here
        if words:
            lines.append(" ".join(words))
    return "\n".join(lines)


def normalise(text: str) -> str:
    """The canonical form of ``text``; any string is accepted, the result may be empty.

    Returns:
        Text without CR, tab, control, format and surrogate characters; no two white-space characters
        stand next to each other, none stands at either end.
    """
    text = unify_newlines(text)
    text = remove_invisible(text)
    text = unicodedata.normalize("NFKC", text)
    text = text.lower()
    text = map_quotes_and_dashes(text)
    text = to_simplified(text)
    return collapse_white_space(text)
