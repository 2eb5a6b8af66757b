"""Threads and sites drawn from a corpus: lengths, blocks, posts and names vary by seed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from scripts.render_pages.model import SPACED, Block, Post, Site, Text, Thread, plain, text

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
SECTIONS: Final = {
    "zh": "新闻 科技 生活 随笔 教程 财经 体育 娱乐 汽车 数码 旅游 摄影 读书 友情链接 留言板 关于我们 联系我们 专题 下载 论坛",
    "zh-hant": "新聞 科技 生活 隨筆 教學 財經 體育 娛樂 汽車 數位 旅遊 攝影 讀書 友站連結 留言板 關於我們 聯絡我們 專題 下載 論壇",
    "en": "News Technology Life Notes Tutorials Business Sports Culture Cars Travel Photos Books Links Guestbook About Contact Archive Downloads Forum",
    "ja": "ニュース 技術 生活 日記 入門 経済 スポーツ 文化 旅行 写真 読書 リンク 掲示板 会社概要 お問い合わせ 特集 ダウンロード フォーラム",
    "de": "Nachrichten Technik Leben Notizen Anleitungen Wirtschaft Sport Kultur Reisen Fotos Bücher Links Gästebuch Impressum Kontakt Archiv Forum",
    "fr": "Actualités Technique Vie Notes Tutoriels Économie Sport Culture Voyages Photos Livres Liens Contact Archives Forum Mentions",
    "ru": "Новости Техника Жизнь Заметки Уроки Экономика Спорт Культура Путешествия Фото Книги Ссылки Контакты Архив Форум",
}
"""Names of sections, which the texts of the corpus do not have."""
REPLIES: Final = {
    "zh": "顶|支持楼主|谢谢分享|沙发|路过看看|同意楼上|学习了|请问解决了吗|已收藏，感谢|不明觉厉|这个方法我试过，可以用|楼主好人|好文章，转走了|坐等更新",
    "zh-hant": "推|支持樓主|謝謝分享|頭香|路過看看|同意樓上|學到了|請問解決了嗎|已收藏，感謝|這個方法我試過，可以用|好文章，借轉|坐等更新",
    "en": "Thanks!|+1|Same here.|Any update on this?|Works for me, thank you.|I agree.|Great post|Bump|Could you post the log?|Solved, thanks everyone",
    "ja": "ありがとうございます|同じです|解決しました|参考になりました|なるほど|私も同じ症状です|続きが気になります",
    "de": "Danke!|Bei mir auch.|Gibt es etwas Neues?|Hat geklappt, vielen Dank|Stimme zu|Gute Frage",
    "fr": "Merci !|Pareil ici.|Des nouvelles ?|Ça marche, merci beaucoup|Je suis d'accord|Bonne question",
    "ru": "Спасибо!|Аналогично.|Есть новости?|Помогло, большое спасибо|Согласен|Хороший вопрос",
}
"""Short replies to a post."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What a program can show.

    Attributes:
        posts: most posts of a thread.
        signatures: whether posts may have them.
        inline: whether runs may be styled.
    """

    posts: int
    signatures: bool = True
    inline: bool = True


class Composer:
    """Draws threads of one language; the same seed gives the same threads."""

    def __init__(self, corpus: Corpus, rng: Random, shape: Shape) -> None:
        self.corpus = corpus
        self.rng = rng
        self.shape = shape
        self.separator = " " if corpus.language in SPACED else ""
        self.sections = SECTIONS[corpus.language].split()
        self.unstyled = rng.choice((0.2, 0.5, 0.8))

    def thread(self, slug: str) -> Thread:
        """A thread with its posts."""
        title = self.rng.choice(self.corpus.titles)
        date = datetime(2009, 1, 1, tzinfo=UTC) + timedelta(minutes=self.rng.randrange(17 * 365 * 1440))
        author = self.name()
        category = self.rng.choice(self.sections)
        tags = tuple(self.rng.sample(self.corpus.phrases[:300], self.rng.randint(0, 5)))
        return Thread(slug, title, author, date, category, tags, self.posts(author, date))

    def name(self) -> str:
        """A user name: Latin syllables, or characters of the corpus."""
        if self.corpus.language in {"zh", "zh-hant", "ja"} and self.rng.random() < 0.6:
            return self.rng.choice(self.corpus.phrases)[:4].replace(" ", "")
        word = "".join(self.rng.choice(SYLLABLES) for _ in range(self.rng.randint(2, 4)))
        return word + (str(self.rng.randint(1, 99)) if self.rng.random() < 0.3 else "")

    def paragraphs(self, count: int) -> list[str]:
        """So many paragraphs; they follow each other in one text as far as it reaches."""
        lines: list[str] = []
        while len(lines) < count:
            source = self.rng.choice(self.corpus.texts)
            start = self.rng.randrange(max(1, len(source) - count + 1))
            lines.extend(source[start : start + count - len(lines)])
        return lines

    def runs(self, value: str) -> Text:
        """The text as runs, sometimes with a word or clause in a style."""
        if not self.shape.inline or self.rng.random() < self.unstyled or len(value) < 24:
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

    def sentence(self) -> str:
        """One short sentence."""
        return self.rng.choice(self.corpus.replies)

    def list_or_code(self) -> Block:
        """A list or a piece of code."""
        rng = self.rng
        kind = rng.choice(("code", "list", "ordered"))
        if kind == "code":
            language, pattern = rng.choice(CODE)
            names = ["".join(rng.sample(SYLLABLES, 2)) for _ in range(2)]
            return Block("code", tuple(map(text, pattern.format(*names).split("\n"))), source=language)
        items = (
            self.sentence() if rng.random() < 0.7 else rng.choice(self.corpus.phrases)
            for _ in range(rng.randint(2, 9))
        )
        return Block("list" if kind == "list" else "ordered", tuple(self.runs(item) for item in items))

    def posts(self, author: str, date: datetime) -> tuple[Post, ...]:
        """Posts of a thread; the first one is by its author."""
        rng = self.rng
        count = round(math.exp(rng.uniform(0, math.log(max(2, self.shape.posts)))))
        names = [author, *(self.name() for _ in range(max(2, count // 3)))]
        signatures = {
            name: self.sentence() for name in names if self.shape.signatures and rng.random() < 0.25
        }
        posts: list[Post] = []
        for at in range(count):
            name = rng.choice(names) if at else author
            date += timedelta(minutes=rng.randint(1, 600))
            parent = -1 if not at else rng.randrange(at) if rng.random() < 0.5 else 0
            blocks = self.post(posts[parent] if at else None)
            posts.append(Post(name, date, blocks, signatures.get(name, ""), parent))
        return tuple(posts)

    def post(self, answered: Post | None) -> tuple[Block, ...]:
        """The blocks of one post; one in five quotes the post that it answers."""
        rng = self.rng
        blocks: list[Block] = []
        if answered is not None and rng.random() < 0.2:
            quoted = next((plain(each.texts[0]) for each in answered.blocks if each.kind == "paragraph"), "")
            if quoted:
                blocks.append(Block("quote", (text(quoted),), source=answered.author))
        if answered is None:
            lines = self.paragraphs(rng.randint(1, 6)) if rng.random() < 0.7 else [self.sentence()]
        elif rng.random() < 0.7:
            lines = [self.sentence() for _ in range(rng.choice((1, 1, 1, 2, 3)))]
        else:
            lines = self.paragraphs(rng.choice((1, 1, 2, 4)))
        if answered is not None and rng.random() < 0.2:
            lines = [rng.choice(REPLIES[self.corpus.language].split("|"))]
        blocks.extend(Block("paragraph", (self.runs(line),)) for line in lines)
        if rng.random() < 0.1:
            blocks.append(self.list_or_code())
        return tuple(blocks)


def site(program: str, theme: str, corpus: Corpus, shape: Shape, rng: Random, pages: int) -> Site:
    """A site of so many threads in the corpus's language."""
    composer = Composer(corpus, rng, shape)
    host = f"{rng.choice(('www', 'blog', 'bbs', 'm', 'docs'))}.{''.join(rng.choice(SYLLABLES) for _ in range(4))}"
    threads = [
        composer.thread(f"{rng.choice(SYLLABLES)}{at:03d}{rng.choice(SYLLABLES)}") for at in range(pages)
    ]
    sections = composer.sections
    # the draws are evaluated in this order, so that a seed names the same site
    return Site(
        program=program,
        theme=theme,
        host=f"{host}.{rng.choice(ENDINGS)}",
        language=corpus.language,
        title=rng.choice(corpus.phrases),
        tagline=rng.choice(corpus.replies),
        owner=composer.name(),
        phrases=tuple(rng.sample([*sections, *rng.sample(corpus.phrases, 25)], 25 + len(sections))),
        phrasing=tuple(rng.sample(corpus.replies, 20)),
        threads=tuple(sorted(threads, key=lambda thread: thread.date)),
        rng=rng,
    )
