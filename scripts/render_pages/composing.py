"""Articles, threads and sites drawn from a corpus: lengths, blocks, posts and names vary by seed."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from scripts.render_pages import vocabulary
from scripts.render_pages.model import SPACED, Block, Comment, Document, Site, Text, plain, text

if TYPE_CHECKING:
    from random import Random

    from scripts.render_pages.corpus import Corpus
    from scripts.render_pages.model import Style

SYLLABLES: Final = "ka mi to ra ne lo vi sa du be chi po an el ri su ma jo ti fe zu wa".split()
ENDINGS: Final = "com org net info cn com.cn tw jp de fr ru io".split()
STYLES: Final[tuple[Style, ...]] = ("strong", "em", "code", "link", "link", "strong")
CODE: Final = (
    (
        "python",
        "def {0}({1}, limit=10):\n    total = 0\n    for item in {1}:\n        total += item\n    return total % limit",
    ),
    ("sql", "SELECT {0}, COUNT(1)\nFROM {1}\nWHERE {0} > 20\nGROUP BY {0}\nORDER BY 2 DESC;"),
    ("bash", "cd /srv/{0}\nmake {1}\nsudo systemctl restart {0}.service"),
    (
        "javascript",
        "function {0}({1}) {{\n  const {0}s = [];\n  for (const x of {1}) {0}s.push(x + 1);\n  return {0}s;\n}}",
    ),
    ("yaml", "{0}:\n  name: {1}\n  replicas: 3\n  enabled: true"),
    ("c", "int {0}(int {1})\n{{\n    if ({1} < 2)\n        return 1;\n    return {1} + {0}({1} - 1);\n}}"),
)
IMAGE: Final = "https://img.example.org/{}.jpg"


@dataclass(frozen=True, slots=True)
class Shape:
    """What a program can show.

    Attributes:
        kind: articles or threads.
        blocks: kinds of blocks beside paragraphs.
        posts: most posts of a thread, or comments below an article.
        signatures, quotes, polls: whether posts may have them.
        inline: whether runs may be styled.
    """

    kind: str = "article"
    blocks: frozenset[str] = frozenset({"heading", "list", "ordered", "table", "code", "quote", "image"})
    posts: int = 0
    signatures: bool = True
    quotes: bool = True
    polls: bool = False
    inline: bool = True


class Composer:
    """Draws documents of one language; the same seed gives the same documents."""

    def __init__(self, corpus: Corpus, rng: Random, shape: Shape) -> None:
        self.corpus = corpus
        self.rng = rng
        self.shape = shape
        self.separator = " " if corpus.language in SPACED else ""
        self.sections = vocabulary.sections(corpus.language)
        self.plainness = rng.choice((0.2, 0.5, 0.8))

    def document(self, slug: str) -> Document:
        """An article or a thread, by the shape."""
        title, date, author = self.title(), self.date(), self.name()
        thread = self.shape.kind == "thread"
        document = Document(
            "thread" if thread else "article",
            slug,
            title,
            author,
            date,
            self.rng.choice(self.sections),
            tuple(self.rng.sample(self.corpus.phrases[:300], self.rng.randint(0, 5))),
        )
        if thread:
            poll = (
                tuple(self.rng.sample(self.corpus.phrases, 5))
                if self.shape.polls and self.rng.random() < 0.1
                else ()
            )
            return replace(document, posts=self.posts(author, date, opening=True), poll=poll)
        comments = (
            self.posts(author, date, opening=False) if self.shape.posts and self.rng.random() < 0.6 else ()
        )
        return replace(document, blocks=self.article(), posts=comments)

    def title(self) -> str:
        """A title of the corpus."""
        return self.rng.choice(self.corpus.titles)

    def date(self) -> datetime:
        """A moment of 2009 to 2026."""
        return datetime(2009, 1, 1, tzinfo=UTC) + timedelta(minutes=self.rng.randrange(17 * 365 * 1440))

    def name(self) -> str:
        """A user name: Latin syllables, or characters of the corpus."""
        if self.corpus.language in {"zh", "zh-hant", "ja"} and self.rng.random() < 0.6:
            return self.rng.choice(self.corpus.phrases)[:4].replace(" ", "")
        word = "".join(self.rng.choice(SYLLABLES) for _ in range(self.rng.randint(2, 4)))
        return word + (str(self.rng.randint(1, 99)) if self.rng.random() < 0.3 else "")

    def paragraphs(self, count: int) -> list[str]:
        """So many paragraphs; they follow each other in one text as far as it reaches."""
        found: list[str] = []
        while len(found) < count:
            source = self.rng.choice(self.corpus.texts)
            start = self.rng.randrange(max(1, len(source) - count + 1))
            found.extend(source[start : start + count - len(found)])
        return found

    def runs(self, value: str) -> Text:
        """The text as runs, sometimes with a word or clause in a style."""
        if not self.shape.inline or self.rng.random() < self.plainness or len(value) < 24:
            return text(value)
        if self.separator:
            words = value.split(" ")
            start = self.rng.randrange(1, max(2, len(words) - 3))
            end = min(len(words) - 1, start + self.rng.randint(1, 4))
            if end <= start or not all(word.isalnum() for word in words[start:end]):
                return text(value)
            before, inside, after = (
                " ".join(part) for part in (words[:start], words[start:end], words[end:])
            )
            return ((f"{before} ", ""), (inside, self.rng.choice(STYLES)), (f" {after}", ""))
        start = self.rng.randrange(2, len(value) - 10)
        end = start + self.rng.randint(2, 8)
        if not all(char.isalpha() for char in value[start - 1 : end + 1]):
            return text(value)
        return ((value[:start], ""), (value[start:end], self.rng.choice(STYLES)), (value[end:], ""))

    def article(self) -> tuple[Block, ...]:
        """Blocks of an article of one sentence to sixty paragraphs."""
        length = (
            round(math.exp(self.rng.uniform(0, math.log(60))))
            if self.rng.random() < 0.7
            else self.rng.randint(4, 14)
        )
        if self.rng.random() < 0.03:
            return (Block("paragraph", (text(self.sentence()),)),)
        extras = [kind for kind in sorted(self.shape.blocks) if self.rng.random() < 0.35]
        rate = self.rng.uniform(0.08, 0.4)
        level = self.rng.choice((2, 2, 3))
        blocks: list[Block] = []
        for at, paragraph in enumerate(self.paragraphs(length)):
            if extras and at and self.rng.random() < rate:
                kind = self.rng.choice(extras)
                deeper = level + (
                    self.rng.random() < 0.25 and any(block.kind == "heading" for block in blocks)
                )
                blocks.append(self.block(kind, deeper))
            blocks.append(Block("paragraph", (self.runs(paragraph),)))
        return tuple(blocks)

    def sentence(self) -> str:
        """One short sentence."""
        return self.rng.choice(self.corpus.replies)

    def block(self, kind: str, level: int = 2) -> Block:
        """A block other than a paragraph."""
        rng = self.rng
        if kind == "heading":
            return Block("heading", (text(rng.choice(self.corpus.titles)[:40].strip()),), level=level)
        if kind in {"list", "ordered"}:
            items = (
                self.sentence() if rng.random() < 0.7 else rng.choice(self.corpus.phrases)
                for _ in range(rng.randint(2, 9))
            )
            return Block("list" if kind == "list" else "ordered", tuple(self.runs(item) for item in items))
        if kind == "table":
            width, height = rng.randint(2, 5), rng.randint(3, 12)
            return Block("table", tuple(text(self.cell()) for _ in range(width * height)), width=width)
        if kind == "code":
            language, pattern = rng.choice(CODE)
            names = ["".join(rng.sample(SYLLABLES, 2)) for _ in range(2)]
            return Block(
                "code", tuple(text(line) for line in pattern.format(*names).split("\n")), source=language
            )
        if kind == "image":
            caption = (text(self.sentence()),) if rng.random() < 0.6 else ()
            return Block("image", caption, source=IMAGE.format(rng.randrange(10**6)))
        return Block("quote", tuple(text(line) for line in self.paragraphs(rng.randint(1, 2))))

    def cell(self) -> str:
        """The text of a table's cell: a phrase or a number."""
        if self.rng.random() < 0.4:
            return f"{self.rng.uniform(0, 5000):.{self.rng.randint(0, 2)}f}"
        return self.rng.choice(self.corpus.phrases)

    def posts(self, author: str, date: datetime, *, opening: bool) -> tuple[Comment, ...]:
        """Posts of a thread (the first one by its author), or comments below an article."""
        rng = self.rng
        count = round(math.exp(rng.uniform(0, math.log(max(2, self.shape.posts)))))
        names = [author, *(self.name() for _ in range(max(2, count // 3)))]
        signs = {name: self.sentence() for name in names if self.shape.signatures and rng.random() < 0.25}
        found: list[Comment] = []
        for at in range(count):
            name = author if opening and at == 0 else rng.choice(names)
            date += timedelta(minutes=rng.randint(1, 600))
            first = opening and at == 0
            parent = -1 if first else (rng.randrange(at) if at and rng.random() < 0.5 else 0)
            blocks = self.post(found[parent] if found and parent >= 0 else None, first=first)
            found.append(Comment(name, date, blocks, signs.get(name, ""), parent))
        return tuple(found)

    def post(self, answered: Comment | None, *, first: bool) -> tuple[Block, ...]:
        """The blocks of one post; one in five quotes the post that it answers."""
        rng = self.rng
        blocks: list[Block] = []
        if self.shape.quotes and answered is not None and rng.random() < 0.2:
            quoted = plain(
                next((block.texts[0] for block in answered.blocks if block.kind == "paragraph"), text(""))
            )
            if quoted:
                blocks.append(Block("quote", (text(quoted),), source=answered.author))
        if first:
            lines = self.paragraphs(rng.randint(1, 6)) if rng.random() < 0.7 else [self.sentence()]
        elif rng.random() < 0.7:
            lines = [self.sentence() for _ in range(rng.choice((1, 1, 1, 2, 3)))]
        else:
            lines = self.paragraphs(rng.choice((1, 1, 2, 4)))
        if not first and rng.random() < 0.2:
            lines = [rng.choice(vocabulary.replies(self.corpus.language))]
        blocks.extend(Block("paragraph", (self.runs(line),)) for line in lines)
        extras = sorted(self.shape.blocks & {"code", "list", "ordered", "image"})
        if extras and rng.random() < 0.1:
            blocks.append(self.block(rng.choice(extras)))
        return tuple(blocks)


def site(program: str, theme: str, corpus: Corpus, shape: Shape, rng: Random, pages: int) -> Site:
    """A site of so many documents in the corpus's language."""
    composer = Composer(corpus, rng, shape)
    host = f"{composer.rng.choice(('www', 'blog', 'bbs', 'm', 'docs'))}.{''.join(rng.choice(SYLLABLES) for _ in range(4))}"
    documents = [
        composer.document(f"{rng.choice(SYLLABLES)}{at:03d}{rng.choice(SYLLABLES)}") for at in range(pages)
    ]
    documents.sort(key=lambda document: document.date)
    return Site(
        program,
        theme,
        f"{host}.{rng.choice(ENDINGS)}",
        corpus.language,
        rng.choice(corpus.phrases),
        rng.choice(corpus.replies),
        composer.name(),
        tuple(rng.sample([*composer.sections, *rng.sample(corpus.phrases, 25)], 25 + len(composer.sections))),
        tuple(rng.sample(corpus.replies, 20)),
        tuple(documents),
        rng,
    )
