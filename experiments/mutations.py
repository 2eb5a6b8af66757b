"""Pages edited as editors edit what they take over, from a seed: pairs that are related by construction.

What is done and how often follows what occurs between published copies of one article: most get another headline and
a line of their own at the head or the end, all get small edits, some lose or gain a block, some are cut, many are cut
into other paragraphs or punctuated anew. What a mutant shares with its original is known without a reader.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

CHINESE_HEADS: Final = (
    "来源：本网综合",
    "本报讯（记者 李明）",
    "【编者按】以下为转载内容。",
    "点击上方关注我们",
)
CHINESE_TAILS: Final = (
    "责任编辑：王芳",
    "（完）",
    "本文仅代表作者观点，与本站无关。",
    "更多精彩内容，请下载客户端。",
)
ENGLISH_HEADS: Final = (
    "By our staff reporter",
    "This story was first published elsewhere.",
    "Listen to this article",
)
ENGLISH_TAILS: Final = ("All rights reserved.", "Sign up for our newsletter.", "Follow us for more stories.")
BLOCK_CHARS: Final = 50  # a block that is lost or gained has at least so many
PARAGRAPH_ENDS: Final = 0.3  # share of sentences that end a paragraph after recutting
LEAST_CHARS: Final = 40  # of a page that is edited at all
_SENTENCE: Final = re.compile(r"[^。！？!?\n]*?(?:[。！？!?]+[”」』’\"]?|\.(?=\s)|\n|$)", re.DOTALL)
_HAN: Final = re.compile(r"[\u4e00-\u9fff]")
_WIDE: Final = str.maketrans({"，": ",", "：": ":", "；": ";", "！": "!", "？": "?", "（": "(", "）": ")"})
_QUOTES: Final = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'"})


@dataclass(frozen=True, slots=True)
class Rates:
    """How often each edit is made, in [0, 1], and how many small ones.

    Attributes:
        title: another headline.
        head, tail: a line of the site's own before or after the text.
        block: a block of at least ``BLOCK_CHARS`` characters lost, or one of another page gained.
        cut: only the first 40 to 90 % kept.
        recut: paragraphs joined and cut elsewhere.
        punctuation: marks in another width, quotes straightened.
        small: least and most small edits: a character or a word replaced, left out or put in twice.
        apart: no two small edits share a stretch of so many characters, so that a short text gets few.
    """

    title: float = 0.78
    head: float = 0.5
    tail: float = 0.5
    block: float = 0.3
    cut: float = 0.25
    recut: float = 0.5
    punctuation: float = 0.3
    small: tuple[int, int] = (2, 20)
    apart: int = 40


@dataclass(frozen=True, slots=True)
class Mutant:
    """An edited page.

    Attributes:
        text, title: of the edited page.
        kinds: names of the edits made, as in ``Rates``.
        kept: share of the original's characters that were not cut off or lost as a block, in (0, 1].
    """

    text: str
    title: str
    kinds: tuple[str, ...]
    kept: float


def mutate(
    text: str, title: str, source: random.Random, spare: Sequence[str] = (), rates: Rates | None = None
) -> Mutant:
    """An edited copy of a page; the same arguments and the same state of ``source`` give the same one.

    Args:
        text: main text, at least ``LEAST_CHARS`` characters.
        title: its title; an untitled page stays so.
        source: of all choices.
        spare: texts of other pages, for blocks that are gained; without them blocks are only lost.
        rates: how often what is done.

    Raises:
        ValueError: the text is too short to be edited.
    """
    rates = rates or Rates()
    if len(text) < LEAST_CHARS:
        raise ValueError(f"a text of {len(text)} characters is too short, {LEAST_CHARS} are needed")
    chinese = len(_HAN.findall(text[:1000])) * 4 > len(text[:1000])
    sentences = [match for match in _SENTENCE.findall(text) if match]
    kinds = [
        name
        for name in ("title", "cut", "block", "punctuation", "recut", "head", "tail")
        if source.random() < getattr(rates, name)
    ]
    before = sum(map(len, sentences))
    if "cut" in kinds:
        sentences = _cut(sentences, source)
    if "block" in kinds:
        sentences = _block(sentences, source, spare)
    kept = min(1.0, sum(map(len, sentences)) / before)
    body = _small("".join(sentences), source, rates, chinese=chinese)
    if "punctuation" in kinds:
        body = body.translate(_WIDE if chinese and source.random() < 0.5 else _QUOTES)
    if "recut" in kinds:
        body = _recut(body, source)
    heads, tails = (CHINESE_HEADS, CHINESE_TAILS) if chinese else (ENGLISH_HEADS, ENGLISH_TAILS)
    lines = [source.choice(heads)] if "head" in kinds else []
    lines.append(body)
    if "tail" in kinds:
        lines.append(source.choice(tails))
    new = _title(title, sentences, source, chinese=chinese) if title and "title" in kinds else title
    return Mutant("\n".join(lines), new, (*kinds, "small"), kept)


def _cut(sentences: list[str], source: random.Random) -> list[str]:
    """The first 40 to 90 % by characters, in whole sentences."""
    wanted = source.uniform(0.4, 0.9) * sum(map(len, sentences))
    kept, size = [], 0
    for sentence in sentences:
        kept.append(sentence)
        size += len(sentence)
        if size >= wanted:
            break
    return kept


def _block(sentences: list[str], source: random.Random, spare: Sequence[str]) -> list[str]:
    """Without a run of sentences, or with one of another page; never less than half is left."""
    if spare and source.random() < 0.5:
        foreign = [match for match in _SENTENCE.findall(source.choice(spare)) if match]
        block = _run(foreign, source, sum(map(len, sentences)) // 3)
        place = source.randrange(len(sentences) + 1)
        return [*sentences[:place], *block, *sentences[place:]]
    block = _run(sentences, source, sum(map(len, sentences)) // 3)
    if 2 * sum(map(len, block)) > sum(map(len, sentences)):
        return sentences
    start = next(at for at in range(len(sentences)) if sentences[at : at + len(block)] == block)
    return [*sentences[:start], *sentences[start + len(block) :]]


def _run(sentences: list[str], source: random.Random, most: int) -> list[str]:
    """Neighbouring sentences of at least ``BLOCK_CHARS`` characters, and about ``most`` at most."""
    start = source.randrange(len(sentences)) if sentences else 0
    wanted = source.randint(BLOCK_CHARS, max(BLOCK_CHARS, most))
    run: list[str] = []
    for sentence in sentences[start:]:
        run.append(sentence)
        if sum(map(len, run)) >= wanted:
            break
    return run


def _small(text: str, source: random.Random, rates: Rates, *, chinese: bool) -> str:
    """Some characters or words replaced by others of the text, left out, or written twice."""
    units = list(text) if chinese else re.split(r"(?<=\s)", text)
    most = max(1, len(text) // rates.apart)
    for _ in range(min(source.randint(*rates.small), most)):
        place = source.randrange(len(units))
        if not units[place].strip():
            continue
        units[place] = source.choice((units[source.randrange(len(units))], "", units[place] * 2))
    return "".join(units)


def _recut(text: str, source: random.Random) -> str:
    """Other paragraphs: line ends taken out, and put in after some sentences."""
    flat = re.sub(r"\s*\n\s*", "" if _HAN.search(text) else " ", text)
    return re.sub(
        r"([。！？]|[.!?](?=\s))",
        lambda mark: mark[1] + ("\n" if source.random() < PARAGRAPH_ENDS else ""),
        flat,
    )


def _title(title: str, sentences: list[str], source: random.Random, *, chinese: bool) -> str:
    """Another headline: shortened, turned round, with a site's name, or a clause of the text in its place."""
    parts = [part for part in re.split(r"[，,：:！!？?\s]+" if chinese else r"\s+", title) if part]
    half = max(1, len(parts) // 2)
    space = "" if chinese else " "
    lead = re.split(r"[，,。；;：:\n]", "".join(sentences[:3]).strip())
    clauses = [clause for clause in lead if 8 <= len(clause) <= 60]
    ways = [
        title + (" - 每日要闻网" if chinese else " | Daily Courier"),
        space.join((*parts[half:], *parts[:half])),
        space.join(parts[: max(1, 2 * len(parts) // 3)])
        if len(parts) > 1
        else title[: max(4, 2 * len(title) // 3)],
    ]
    if clauses:
        ways.append(source.choice(clauses))
    return source.choice(ways)
