"""What a method answers: which blocks are the main text, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from es_dedup.model import PageKind
from es_dedup.model.extraction import BlockNote, Why

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from es_dedup.extraction.reading.document import Document

_PATH_LEVELS: Final = 5
_NOTE_CHARS: Final = 200
_WORD_CHARS: Final = 40


@dataclass(slots=True)
class Choice:
    """Blocks chosen as main text.

    Attributes:
        places: places in ``Document.blocks``, ascending.
        kind: what the page is.
        rule: what decided, in one phrase.
        score: how sure the method is, in its own measure.
        text: the text, where it does not come from the blocks.
        doubt: what makes it likely that this is not the main text, or not all of it.
        probabilities: of each block to be main text, in [0, 1]; empty where the method has none.
        reason: says of a block why it was chosen or not, in one phrase.
    """

    places: Sequence[int]
    kind: PageKind = PageKind.ARTICLE
    rule: str = ""
    score: float = 0.0
    text: str = ""
    doubt: str = ""
    probabilities: Sequence[float] = ()
    reason: Callable[[int], str] | None = None

    def main_text(self, document: Document) -> str:
        """One line for each block, and for each line of preformatted text."""
        return self.text or "\n".join(filter(None, (document.lines[place] for place in self.places)))


def why_of(document: Document, choice: Choice, *, explain: bool) -> Why:
    """The reasons as values; with ``explain`` a note for each block."""
    selected = set(choice.places)
    lengths = [len(line) - line.count(" ") for line in document.lines]
    notes: tuple[BlockNote, ...] = ()
    if explain:
        notes = tuple(_note(document, choice, place, kept=place in selected) for place in range(len(lengths)))
    return Why(
        rule=choice.rule,
        chosen=_path(document, _around(document, choice.places)),
        score=round(choice.score, 3),
        kept=len(selected),
        dropped=len(lengths) - len(selected),
        dropped_chars=sum(lengths) - sum(lengths[place] for place in selected),
        doubt=choice.doubt,
        blocks=notes,
    )


def _note(document: Document, choice: Choice, place: int, *, kept: bool) -> BlockNote:
    return BlockNote(
        text=document.lines[place][:_NOTE_CHARS],
        path=_path(document, document.blocks.holders[place]),
        kept=kept,
        reason=choice.reason(place) if choice.reason else choice.rule if kept else "not chosen",
        probability=round(float(choice.probabilities[place]), 3) if len(choice.probabilities) else None,
    )


def _around(document: Document, places: Sequence[int]) -> int:
    """The innermost container that holds all of some blocks; -1 for no blocks."""
    blocks = document.blocks
    if not places:
        return -1
    holder = blocks.holders[places[0]]
    while holder > 0 and not blocks.first[holder] <= places[0] <= places[-1] < blocks.last[holder]:
        holder = blocks.parents[holder]
    return holder


def _path(document: Document, holder: int) -> str:
    """Tags and first class words of a container and of those around it, innermost first."""
    blocks = document.blocks
    parts: list[str] = []
    while holder >= 0 and len(parts) < _PATH_LEVELS:
        words = blocks.names[blocks.signatures[holder]].split(None, 1)
        tag = blocks.tags[holder]
        parts.append(f"{tag}.{words[0].lstrip('#=@')[:_WORD_CHARS]}" if words else tag)
        holder = blocks.parents[holder]
    return " < ".join(parts)
