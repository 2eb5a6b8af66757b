"""Why the main text of a page is what it is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BlockNote:
    """What became of one block of text.

    Attributes:
        text: the block's text, at most 200 characters of it.
        path: tags and first class words of the elements around it, innermost first.
        kept: it is part of the main text.
        reason: why it was kept or dropped, in one phrase.
    """

    text: str
    path: str
    kept: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Why:
    """Why the main text is what it is.

    Attributes:
        rule: the rule that decided: ``densest part``, ``posts of one kind``, ``structured data`` …
        chosen: path of the chosen element, innermost first; empty when no element was chosen.
        score: sum of weights of the chosen element, in units (ideographs, or three Latin letters).
        kept, dropped: number of blocks.
        dropped_chars: characters in the dropped blocks, without white space.
        doubt: what makes it likely that the text is not the main text, or not all of it; mostly empty.
        blocks: a note for each block in page order; only when an explanation was asked for.
    """

    rule: str
    chosen: str = ""
    score: float = 0.0
    kept: int = 0
    dropped: int = 0
    dropped_chars: int = 0
    doubt: str = ""
    blocks: tuple[BlockNote, ...] = ()
