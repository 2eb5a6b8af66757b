"""Who wrote a page: the declared authors, those that elements are marked with, or the names in a byline."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Final

from lxml import etree

from es_dedup.extraction.white_space import clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lxml.etree import _Element

    from es_dedup.extraction.reading.document import Document

MAX_NAME_CHARS: Final = 80
MAX_AUTHORS: Final = 10

_KEYS: Final = (
    "author", "article:author", "article:author_name", "article_author", "byl", "dc.creator", "dc:creator", "dcterms.creator", "sailthru.author",
    "parsely-author", "weibo:article:author", "citation_author", "twitter:creator",
)  # fmt: skip
_BLOCKS: Final = 150
_LINE_CHARS: Final = 80
_MAX_WORDS: Final = 6  # of one name
_MAX_MARKED: Final = 12
_HAN: Final = "[\u4e00-\u9fff·]"
_CHINESE: Final = re.compile(
    r"(?:(?:^|[\s|｜（(，。；》」】])(?:作者|撰文|文字)(?:\s?[:：丨|/／]\s?|\s)|(?:^|[\s|｜（(])文[/／]|记者(?:\s?[:：]\s?|\s))"
    rf"({_HAN}{{2,8}}(?:\s?、\s?{_HAN}{{2,4}})*(?:\s{_HAN}{{2,4}}(?=$|[\s、，）)|｜]))*)(?!{_HAN})"
)
_CHINESE_CUES: Final = ("作者", "文", "记者")
_NOT_A_NAME: Final = re.compile(
    r"^(?:来源|报道|摄影|编辑|责编|发布|发布于|时间|日期|阅读|评论|通讯员|实习生|实习|记者|综合|整理|原创|文章|作者|图片|校对|审核|发自|本报讯?)"
)
_MONTH: Final = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
_NAME: Final = r"[A-ZÀ-ÞŁŠŽ][\w.'’-]+(?:\s(?:[A-ZÀ-ÞŁŠŽ][\w.'’-]*|de|van|von|der|la|al)){1,3}?"
_ENGLISH: Final = re.compile(
    rf"^(?:[Bb]y|BY|[Ww]ritten by|[Pp]osted by|[Ww]ords(?: by|:)|[Aa]uthors?:|[Pp]ar|[Vv]on|[Pp]or)\s+({_NAME}(?:(?:,\s|\s(?:and|et|und|y|&)\s){_NAME})*)\.?"
    rf"(?=$|\s*[,|·•(–/]|\s[-—]\s|\s+(?:on|in|at|for|am|le)\s|\s+{_MONTH}\b|\s+\d)"
)
_INITIALS: Final = frozenset("BbWwPpVvAa")
_OPENING: Final = re.compile(
    r"^(?:(?:post\s?)?#\s?\d+,?\s*)?(?:(?:post|posted|written|published|words|story|text|reviewed|opinion|analysis|report)\s+(?:by|:)|by|authors?|par|von|por|текст|автор|作者|撰文|记者|文)(?:\s*[:：/|]\s*|\s+(?:by\s+)?)",
    re.IGNORECASE,
)
_BETWEEN: Final = re.compile(r"\s*(?:[;；、|]|,?\s(?:and|und|et|&)\s)\s*|\s*,\s+")
_ROLE: Final = re.compile(
    r"\b(?:staff|writer|correspondents?|editor|reporter|contributor|columnist|journalist|producer)\b|^for\s",
    re.IGNORECASE,
)
_OF_TIME: Final = re.compile(r"\b(?:published|updated|posted|ago|edited by)\b", re.IGNORECASE)
_OTHER_LABEL: Final = re.compile(
    r"\s*(?:(?:责任)?编辑|责编|来源|时间|校对|审核)\s*[:：].*|(?<=\S)\s*\+?关注$"
)
_DAY_BEHIND: Final = re.compile(
    rf"(?:\s+(?:on\s+)?|(?<=[a-z])(?=\d))(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b|{_MONTH}\s+\d|\d{{1,2}}\s+{_MONTH}\b).*$",
    re.DOTALL,
)
_DIGIT: Final = re.compile(r"\d")
_FULL_STOP: Final = re.compile(r"(?<=\w{4})\.$")
_IDEOGRAPH: Final = re.compile(r"[\u4e00-\u9fff]")
_NOBODY: Final = re.compile(
    r"^(?:admin(?:istrator)?|guest|anonymous|unknown|user|editor|staff|web ?master|by|author|authors|home|follow|follow author|profile|view profile|more|null|none|undefined|name|гость|"
    r"未知|佚名|匿名(?:用户)?|网络|本站|小编|编辑|管理员|投稿|转载|最新文章|所有|观点|平台|本人|原创|作者|楼主|网络整理|互联网|综合)$|"
    r"\b(?:discuz|comsenz|phpbb|vbulletin|wordpress|flaskbb|xenforo|mybb|taboola|outbrain)\b",
    re.IGNORECASE,
)
_NO_NAME: Final = re.compile(
    r"://|@|^www\.|\.txt$|\d{1,2}[:.]\d{2}|(?:19|20)\d{2}\b.*\d|^[\d\W]+$|[!?。！？<>{}=]|\.\s.*\.\s|^follow\s",
    re.IGNORECASE,
)
_NEAR_LEVELS: Final = 3
_MAX_EVENTS: Final = 60
_LINE_TAGS: Final = frozenset("br div p li h1 h2 h3 h4 h5 h6 time ul dd td tr".split())
_MARK: Final = re.compile(
    r"(?:^|[-_])(?:authors?|bylines?)(?:$|[-_]{1,2}(?:names?|links?|info|text|wrap(?:per)?|vcard|item|fn)$)",
    re.IGNORECASE,
)
_OF_OTHERS: Final = re.compile(
    r"comment|related|sidebar|widget|avatar|quote|reply|review|desc", re.IGNORECASE
)


def author_of(document: Document, site_name: str = "", *, is_list: bool = False) -> str:
    """Who wrote the page.

    Args:
        document: the page.
        site_name: is no author.
        is_list: names in the text are those of other pages' authors; only JSON-LD and meta elements count.

    Returns:
        The first that names people: JSON-LD, meta elements, elements marked as author (``rel``, ``itemprop``, class), a short line
        behind a label ("By …", 作者：…). Several names with a comma and a space between; addresses, sentences and names of nobody
        (``admin``) do not count. May be empty.
    """
    metas = document.metas
    listed = (*document.structured.authors, *([metas[key]] for key in _KEYS if key in metas))
    for names in listed:
        if people := _people(names, site_name):
            return people
    if is_list:
        return ""
    if people := _first_names(filter(_is_declared, document.declaring), site_name):
        return people
    line = _line(document, site_name)
    if line and _IDEOGRAPH.match(
        line
    ):  # says who wrote it; what is only called author may be the account that spreads it
        return line
    return _first_names(document.marked(_is_called), site_name) or line


def _line(document: Document, site_name: str) -> str:
    """Names behind a label in one of the first short lines."""
    lines = [text for text in document.lines[:_BLOCKS] if 0 < len(text) <= _LINE_CHARS]
    named = filter(None, map(_named, lines))
    return next((people for names in named if (people := _people([names], site_name))), "")


def _people(written: Iterable[str], site_name: str) -> str:
    """Names out of what is written where names are expected."""
    found: list[str] = []
    for text in written:
        whole = _OPENING.sub("", clean(text))
        if not whole.isascii():
            whole = _OTHER_LABEL.sub("", whole)
        if "day" in whole or _DIGIT.search(whole):
            whole = _DAY_BEHIND.sub("", whole)
        for part in _BETWEEN.split(whole) if len(whole) <= MAX_NAME_CHARS * 4 else ():
            name = _FULL_STOP.sub("", part.strip(" ,·•-–—:：«»"))
            if _OF_TIME.search(name) or (
                found and (_ROLE.search(name) or name.casefold() in _ends(site_name))
            ):
                break  # what follows is no name
            if name and name not in found and _is_name(name):
                found.append(name)
    return ", ".join(found[:MAX_AUTHORS])


def _ends(site_name: str) -> tuple[str, ...]:
    return (site_name.casefold(), *site_name.casefold().split()[:1])


def _is_name(name: str) -> bool:
    return (
        len(name) <= MAX_NAME_CHARS
        and len(name.split()) <= _MAX_WORDS
        and any(char.isalpha() for char in name)
        and not _NO_NAME.search(name)
        and not _NOBODY.search(name)
    )


def _is_declared(element: _Element) -> bool:
    """Marked as author for machines, by ``rel`` or ``itemprop``."""
    is_marked = "author" in element.get("rel", "").lower().split() or element.get("itemprop") == "author"
    return is_marked and not _OF_OTHERS.search(element.get("class", ""))


def _is_called(classes: str) -> bool:
    """A class says author."""
    return any(map(_MARK.search, classes.split())) and not _OF_OTHERS.search(classes)


def _first_names(elements: Iterable[_Element], site_name: str) -> str:
    """Names in the first of some elements, and in those right behind it: of one text."""
    found: list[str] = []
    first: _Element | None = None
    for element in islice(elements, _MAX_MARKED):
        if first is not None and not _is_near(first, element):
            break
        text = _first_line(element) or element.get("content") or ""
        is_new = text and text != site_name and not any(text in other for other in found)
        if is_new and _people([text], site_name):
            found.append(text)
            first = element
    return _people(found, site_name)


def _is_near(first: _Element, other: _Element) -> bool:
    """The second element begins in an element that stands little above the first."""
    near = {first, *islice(first.iterancestors(), _NEAR_LEVELS)}
    return any(element in near for element in islice(other.iterancestors(), _NEAR_LEVELS))


def _first_line(element: _Element) -> str:
    """Text inside an element up to the first break of a line behind a name."""
    inner = next((part for part in element.iter() if part.get("itemprop") == "name"), element)
    line = ""
    for event, part in islice(etree.iterwalk(inner, events=("start", "end")), _MAX_EVENTS):
        if part.tag in _LINE_TAGS and part is not inner and len(_OPENING.sub("", clean(line))) > 1:
            break
        line += (part.text if event == "start" else part.tail if part is not inner else "") or ""
        if len(line) > MAX_NAME_CHARS * 4:
            break
    return clean(line)


def _named(text: str) -> str:
    if any(map(text.__contains__, _CHINESE_CUES)):
        found = _CHINESE.search(text)
        return "、".join(_chinese_names(found[1])) if found else ""
    found = _ENGLISH.search(text) if text[0] in _INITIALS else None
    return found[1] if found else ""


def _chinese_names(text: str) -> Iterator[str]:
    for name in re.split(r"[、\s]+", text):
        if _NOT_A_NAME.match(name):
            return
        yield name
