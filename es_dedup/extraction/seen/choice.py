"""What a method answers: which blocks are the main text, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from es_dedup.model import PageKind
from es_dedup.why import BlockNote, Why

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from es_dedup.extraction.reading.document import Document

_PATH_LEVELS: Final = 5
_NOTE_CHARS: Final = 200


@dataclass(slots=True)
class Choice:
    """Blocks chosen as main text.

    Attributes:
        places: places in ``Document.blocks``, ascending.
        kind: what the page is.
        rule: the rule that decided, in one phrase.
        node: index of the chosen element, -1 for none.
        score: its sum of weights.
        text: the text, where it does not come from the blocks.
        doubt: what makes it likely that this is not the main text, or not all of it.
        reason: says of a place that was not chosen why, in one phrase.
    """

    places: Sequence[int]
    kind: PageKind = PageKind.ARTICLE
    rule: str = ""
    node: int = -1
    score: float = 0.0
    text: str = ""
    doubt: str = ""
    reason: Callable[[int], str] | None = None

    def main_text(self, document: Document) -> str:
        """One line for each block."""
        return self.text or "\n".join(document.blocks[place].text for place in self.places)


def path_of(document: Document, node: int) -> str:
    """Tags and first class words of an element and of those around it, innermost first."""
    parts: list[str] = []
    while node >= 0 and len(parts) < _PATH_LEVELS:
        element = document.nodes[node]
        words = element.names.split(None, 1)
        parts.append(f"{element.tag}.{words[0][:40]}" if words else element.tag)
        node = element.parent
    return " < ".join(parts)


def _kept_as(document: Document, node: int, rule: str) -> str:
    """Captions are told from what was chosen by the rule: who wants the text alone can leave them out."""
    while node >= 0 and document.nodes[node].tag not in ("figure", "body"):
        if document.nodes[node].tag == "figcaption":
            return "caption of a figure in the text"
        node = document.nodes[node].parent
    return rule


def why_of(document: Document, choice: Choice, *, explain: bool) -> Why:
    """The reasons as values; with ``explain`` a note for each block."""
    chosen = set(choice.places)
    kept_chars = sum(document.blocks[place].chars for place in choice.places)
    notes: tuple[BlockNote, ...] = ()
    if explain:
        reason = choice.reason or (lambda _: "not chosen")
        notes = tuple(
            BlockNote(
                block.text[:_NOTE_CHARS],
                path_of(document, block.node),
                place in chosen,
                _kept_as(document, block.node, choice.rule) if place in chosen else reason(place),
            )
            for place, block in enumerate(document.blocks)
        )
    return Why(
        rule=choice.rule,
        chosen=path_of(document, choice.node),
        score=round(choice.score, 1),
        kept=len(chosen),
        dropped=len(document.blocks) - len(chosen),
        dropped_chars=sum(block.chars for block in document.blocks) - kept_chars,
        doubt=choice.doubt,
        blocks=notes,
    )
