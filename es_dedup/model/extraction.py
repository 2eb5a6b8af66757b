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
        probability: of the block to be main text, in [0, 1]; None where the method has none.
    """

    text: str
    path: str
    kept: bool
    reason: str
    probability: float | None = None


@dataclass(frozen=True, slots=True)
class Why:
    """Why the main text is what it is.

    Attributes:
        rule: what decided: ``block model``, ``data in a script``, ``the whole page`` …
        chosen: path of the innermost container of all chosen blocks, innermost first; empty when none was chosen.
        score: mean probability of the chosen blocks by their length, in [0, 1].
        kept, dropped: number of blocks.
        dropped_chars: characters in the dropped blocks, without white space.
        doubt: what makes it likely that the text is not the main text, or not all of it; mostly empty.
        blocks: a note for each block in page order; only when an explanation was requested.
    """

    rule: str
    chosen: str = ""
    score: float = 0.0
    kept: int = 0
    dropped: int = 0
    dropped_chars: int = 0
    doubt: str = ""
    blocks: tuple[BlockNote, ...] = ()
