"""Reference of what the word methods read: words with the sentence each stands in.

A sentence ends at ``。!?;…``, at a line end, and at a point that no letter or digit follows (the normalised form is
meant). A word is a piece of the segmenter's output that holds a letter or digit.
"""

from collections.abc import Sequence
from typing import NamedTuple

from tests.reference.coverage import is_cjk


class PlacedWord(NamedTuple):
    """A word, the number of its sentence, and its place in the text."""

    word: str
    sentence: int
    start: int


def is_letter(character: str) -> bool:
    """Whether a character is part of a token: of a script of its own kind, or a letter or digit."""
    return is_cjk(character) or character.isalnum()


def ends_sentence(text: str, place: int) -> bool:
    """Whether a sentence ends with the character at ``place``."""
    if text[place] == ".":
        return place + 1 == len(text) or not is_letter(text[place + 1])
    return text[place] in "。!?;…\n"


def without_plural(word: str) -> str:
    """An English word without the ending of its plural (Harman's S stemmer); any other word as it is."""
    if len(word) <= 3 or not all("a" <= letter <= "z" for letter in word):
        return word
    if word[-3:] == "ies" and word[-4] not in "ea":
        return word[:-3] + "y"
    if word[-3:] == "ies":
        return word
    if word[-2:] == "es":
        return word if word[-3] in "aeo" else word[:-1]
    return word[:-1] if word[-1] == "s" and word[-2] not in "us" else word


def placed_words(pieces: Sequence[str]) -> list[PlacedWord]:
    """Words of one text, given the segmenter's pieces (joined they are the text)."""
    text = "".join(pieces)
    found, sentence, place = [], 0, 0
    for piece in pieces:
        if any(map(is_letter, piece)):
            found.append(PlacedWord(piece, sentence, place))
        for _ in piece:
            sentence += ends_sentence(text, place)
            place += 1
    return found


def sentence_text(pieces: Sequence[str], number: int) -> str:
    """The sentence of this number without white space, its end mark included."""
    text = "".join(pieces)
    found, sentence = "", 0
    for place, character in enumerate(text):
        if sentence == number and not character.isspace():
            found += character
        sentence += ends_sentence(text, place)
    return found
