"""Reference of the two string methods: longest common subsequence, feature sentence, punctuation string.

Source: the patent on character frequency strings, background; readings in docs/algorithms.
"""

from collections import Counter
from collections.abc import Collection, Sequence

from tests.reference.words import is_letter, placed_words, sentence_text


def common_subsequence(left: str, right: str) -> int:
    """Length of the longest common subsequence, by the table of all prefixes."""
    row = [0] * (len(right) + 1)
    for a in left:
        before = 0
        for place, b in enumerate(right, 1):
            above = row[place]
            row[place] = before + 1 if a == b else max(above, row[place - 1])
            before = above
    return row[-1]


def feature_sentence(
    pieces: Sequence[str],
    title: Collection[str],
    stop_words: Collection[str],
    weights: tuple[float, float, float, float],
    min_chars: int,
) -> str | None:
    """The sentence in which the weightiest word first stands; None without a candidate.

    Args:
        pieces: the segmenter's pieces of the text.
        title: words of the title.
        stop_words: never candidates.
        weights: of frequency, location, title and length.
        min_chars: characters without white space that a sentence needs.

    Settled:
        Of equally heavy words (to nine places) the first in the text is taken.
    """
    words = placed_words(pieces)
    chars = {number: len(sentence_text(pieces, number)) for number in {word.sentence for word in words}}
    usable = [
        (place, word)
        for place, word in enumerate(words)
        if len(word.word) > 1 and word.word not in stop_words and chars[word.sentence] >= min_chars
    ]
    if not usable:
        return None
    count = Counter(word.word for _, word in usable)
    most = max(count.values())
    frequency, location, in_title, length = weights

    def weight(place: int, word: str) -> float:
        return round(
            frequency * count[word] / most
            + location * (1 - place / len(words))
            + in_title * (word in title)
            + length * min(len(word), 4) / 4,
            9,
        )

    first: dict[str, int] = {}
    for place, word in usable:
        first.setdefault(word.word, place)
    best = max(first, key=lambda word: (weight(first[word], word), -first[word]))
    return sentence_text(pieces, words[first[best]].sentence)


def punctuation_string(text: str, marks: Collection[str], before: int, after: int) -> str:
    """For each mark the ``before`` letters before it and the ``after`` letters after it, one after the other.

    Only characters of tokens count. Marks between the same two letters are one; a
    mark with too few letters on a side is passed over.
    """
    letters = "".join(filter(is_letter, text))
    found, done, passed = "", -1, 0
    for character in text:
        if is_letter(character):
            passed += 1
        elif character in marks and passed != done:
            done = passed
            if passed >= before and passed + after <= len(letters):
                found += letters[passed - before : passed + after]
    return found
