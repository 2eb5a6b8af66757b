"""Who wrote a page: the declared author, or the name in a byline."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from es_dedup.extraction.document import clean

if TYPE_CHECKING:
    from es_dedup.extraction.document import Document

MAX_NAME_CHARS: Final = 80
_KEYS: Final = (
    "author",
    "article:author",
    "byl",
    "dc.creator",
    "sailthru.author",
    "parsely-author",
    "twitter:creator",
)
_BLOCKS: Final = 150
_LINE_CHARS: Final = 80
_CHINESE: Final = re.compile(
    r"(?:(?:^|[\s|｜（(，。；》」】])(?:作者|撰文|文字)(?:\s?[:：丨|/／]\s?|\s)|(?:^|[\s|｜（(])文[/／]|记者(?:\s?[:：]\s?|\s))"
    r"([\u4e00-\u9fff·]{2,8})(?![\u4e00-\u9fff·])"
)
_MONTH: Final = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
_ENGLISH: Final = re.compile(
    r"^(?:[Bb]y|BY|[Ww]ritten by|[Pp]osted by|[Ww]ords(?: by|:))\s+([A-Z][\w.'’-]+(?:\s(?:[A-Z][\w.'’-]*|de|van|von|der|la|al)){1,3}?)\.?"
    rf"(?=$|\s*[,|·•(–/]|\s[-—]\s|\s+(?:on|in|at|for)\s|\s+{_MONTH}\b|\s+\d)"
)
_NOBODY: Final = re.compile(
    r"^(?:admin(?:istrator)?|guest|anonymous|unknown|user|editor|staff|web ?master|未知|佚名|匿名(?:用户)?|网络|本站|小编|编辑|管理员|投稿|转载|"
    r"最新文章|所有|观点|平台|本人|原创)$|\b(?:discuz|comsenz|phpbb|vbulletin|wordpress|flaskbb|xenforo|mybb)\b",
    re.IGNORECASE,
)


def author_of(document: Document, metas: dict[str, str]) -> str:
    """The first declared name that is no address and no name of nobody, else the name behind a label in a short line; may be empty."""
    declared = (metas[key] for key in _KEYS if key in metas)
    for name in (*document.structured.authors, *declared):
        if (
            (name := clean(name))
            and len(name) <= MAX_NAME_CHARS
            and "://" not in name
            and not name.startswith("@")
            and not _NOBODY.search(name)
        ):
            return name
    for block in document.blocks[:_BLOCKS]:
        if block.chars <= _LINE_CHARS and (name := _named(block.text)):
            return name
    return ""


def _named(text: str) -> str:
    if "作者" in text or "文" in text or "记者" in text:
        found = _CHINESE.search(text)
    elif text[:1] in "BbWwPp":
        found = _ENGLISH.search(text)
    else:
        return ""
    return found[1] if found and not _NOBODY.search(found[1]) else ""
