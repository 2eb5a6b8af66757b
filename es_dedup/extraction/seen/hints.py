"""Words that page authors use for parts of a page: tag names, class and id words, opening words of furniture."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

NEGATIVE_TAGS: Final = frozenset(
    {
        "nav",
        "aside",
        "footer",
        "menu",
        "dialog",
        "address",
        "form",
        "fieldset",
        "amp-ad",
        "amp-consent",
        "amp-sidebar",
        "amp-user-notification",
    }
)
POSITIVE_TAGS: Final = frozenset({"article", "main"})
HEADING_TAGS: Final = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
"""Their ids are made of their words, so they say nothing."""

HEADINGS: Final = frozenset({"h1", "h2", "h3"})  # those that can be a headline
BELOW_TITLE: Final = 0.3
"""Times the prose above the page's title that stands below it, where the text does."""

# Parts of class and id names, lower case; searched as they stand.
_NEGATIVE: Final = tuple(
    "nav menu footer header-top sidebar side-bar side_bar aside crumb copyright disclaim related relevant recommend recirc "
    "readmore read-more more-news more-stories more-from most-read popular trending share sharing social follow bdshare "
    "weibo wechat qrcode qr-code advert sponsor promo banner popup pop-up modal overlay "
    "tooltip cookie consent gdpr subscri newsletter signup sign-up login regist toolbar paginat pager "
    "print-only skip-link screen-reader visually-hidden sr-only ranking guess xiangguan tuijian caption credit byline "
    "taglist tag-list tags keywords legal statement shengming zeren editor".split()
)
# What readers say: furniture beside an article, the main text of a thread.
_TALK: Final = tuple("comment respond response disqus pinglun reply replies liuyan cmt cmmt cmnt".split())
_HIDDEN_WORDS: Final = frozenset(
    {"hidden", "hide", "d-none", "is-hidden", "visually-hidden"}
)  # as a whole class
_SIDE_WORDS: Final = frozenset({"side", "Side"})  # as a whole class
_SHOWN: Final = re.compile(
    r"^d-.*(?:block|flex|grid)|:(?:block|flex|grid|inline|visible)|visible"
)  # on some screens
# Like ``_NEGATIVE``, but only as a whole word of a name.
_NEGATIVE_WORDS: Final = frozenset(
    "ad ads adv gg foot bottom tips hot link links rank rules meta edit sign signature tag top".split()
)
# Of these, names of lists of links: furniture only where there are links.
_LISTS: Final = frozenset(
    "nav menu crumb toolbar readmore read-more paginat pager taglist tag-list tags keywords weibo".split()
)
_LIST_WORDS: Final = frozenset("hot link links rank tag top".split())
_POSITIVE: Final = tuple(
    "article content entry story body text detail main zhengwen newscon news-con answer question message rich post".split()
)
_WORDS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")

_SIGNS: Final = r"^[\s【\[（(<《■▲●◆★☆※→>▼*·—-]*"
_FURNITURE: Final = re.compile(
    _SIGNS + r"(?:"
    r"related (?:articles?|stories|posts|topics|content|news|links)|(?:related|similar) (?:articles?|posts|topics|questions?|threads|discussions)\s*(?:[:»>(]|$)|"
    r"customers also (?:bought|viewed)|people also (?:ask|bought|viewed)|read (?:more|next|also)\b|see also|more (?:from|on|stories|news)\b|most (?:read|popular)|"
    r"recommended|advert(?:isement)?s?\b.{0,12}$|sponsored|sign up|by signing up|get (?:our|the|more)\b.{0,40}(?:newsletter|inbox)|join our|subscribe|newsletter|share (?:this|on|via)|follow (?:us|@)|copyright|©|all rights reserved|"
    r"(?:this|our) (?:site|website) uses cookies|we use cookies|comments?\s*(?:\(\d+\))?$|leave a (?:comment|reply)|(?:photo(?:graph)?|image|picture|illustration|graphic)s?(?: (?:by|credit|caption|source|courtesy|via)\b|\s?[:/])|credits?\s?:|screenshot (?:by|via|from)\b|getty images|filed under|tags?\s?:|"
    r"related\s?:|also (?:read|see|on|watch)\b|also\s?:|don['’]t miss\s?:|you (?:may|might) also (?:like|be interested)|enjoyed this (?:story|article|post)|like this (?:story|article|post)\?|sharing is caring|"
    r"have an? (?:tip|story|correction)\b.{0,20}[?]|support (?:independent|our|local|quality)\b.{0,20}journalism|already an? (?:member|subscriber)|to continue reading|"
    r"this (?:slideshow|page|site|content|video) (?:requires|needs) javascript|last (?:changed|updated|modified|edited)\b|best viewed (?:with|in)\b|"
    r"you are here|powered by\b|[—–-]{1,3}\s?(?:end|完)\s?[—–-]{1,3}$|"
    r"continue reading|keep reading|subscribers? only|"
    r"log ?in(?: or [a-z]+ ?(?:up|in)?)? to (?:reply|post|comment|answer|leave|view|see|participate)\b|"
    r"sign ?(?:in|up)(?: or [a-z]+ ?(?:up|in)?)? to (?:reply|post|comment|answer|leave|view|see|participate)\b|"
    r"(?:note: )?you (?:must|need to|have to) (?:be (?:logged|signed) ?in\b|(?:log ?in|sign ?in|register)(?: (?:before|first|in order|to (?:reply|post|comment|answer|leave|view|see|participate))\b|[.!]?$))|"
    r"there (?:is|are) (?:currently )?\d+ (?:users?|members?|guests?) (?:(?:browsing|viewing|reading) this\b|online)|users (?:browsing|viewing) this\b|"
    r"th(?:is|e) (?:thread|topic|question|discussion|issue) (?:is|has been|was) (?:now )?(?:closed|locked|archived)(?: (?:to|for|by|and)\b|[.!]?$)|locked (?:thread|topic|question)\b|"
    r"(?:notice|disclaimer)\s?: (?:the|all|any) (?:content|views?|opinions?|information|text|article)s?\b|"
    r"please (?:enable|log ?in|sign)|your email|click here|terms of (?:use|service)|privacy policy)",
)
"""Of a text in lower case: an alternative of which the first letter differs costs nothing then."""

_FURNITURE_CHINESE: Final = re.compile(
    _SIGNS + r"(?:"
    r"(?:责任|本文|本期|值班|执行|新媒体|网络|视觉|图文|主)?(?:编辑|编审|校对|美编|责编|排版|监制|审核|初审|终审|编校|记者编辑|统筹)\s?[:：/丨|]|"
    r"(?:文章|稿件|信息|新闻|图片|本文|资料|内容)?来源\s?[:：/丨|]|(?:原)?(?:标题|题)\s?[:：]|作者\s?[:：]|发布(?:时间|日期|于)|更新时间|浏览次数|点击(?:数|量)?\s?[:：]|阅读\s?[:：(（]|"
    r"(?:免责|版权|郑重|特别|法律|重要)?(?:声明|提示|说明)\s?[:：]|免责(?:声明|条款)|版权(?:声明|所有|归)|著作权|未经(?:本网|授权|许可|书面)|凡本(?:网|站|报)|凡注明|"
    r"相关(?:阅读|新闻|链接|推荐|文章|报道|资讯|专题|标签)|延伸阅读|推荐阅读|更多(?:精彩|新闻|内容|资讯)|热门(?:推荐|文章|新闻|评论)|(?:相关|热门|最新|类似|其他|推荐)(?:类似|相关)?(?:问题|问答|提问|回答|帖子|贴子|主题|话题|讨论)\s*(?:[:：（(>»]|$)|大家(?:都)?在(?:看|搜|问)\s*(?:[:：]|$)|精彩推荐|猜你喜欢|上一篇|下一篇|返回(?:首页|顶部|列表)|"
    r"扫(?:一扫|码|描)|长按|微信(?:扫|公众号|号\s?[:：])|关注(?:我们|微信|公众号)|分享(?:到|至|给)?|收藏|打印|字(?:号|体)\s?[:：]|点击(?:进入|下载|查看|关注|上方|下方|蓝字|标题下)|"
    r"(?:您|你)?(?:现在|当前|所在)的?(?:所在|当前)?的?位置|个人签名|您需要登录|游客[，,]\s?如果[您你]|[本该此](?:帖|贴|主题|话题|问题)(?:子)?(?:已经?|已被)(?:关闭|锁定|结束)\s*[，。！,]?(?:不|$)|高级模式|网友评论|我要评论|发表评论|最新评论|标签\s?[:：]|关键[词字]\s?[:：]|本文(?:网址|链接|地址|转自|转载|系|仅代表)|举报(?:邮箱|电话)|(?:联系|投稿|新闻)(?:邮箱|热线|电话)|转载请|打开(?:app|微信)|下载(?:app|客户端)|"
    r"(?:最后|最近)(?:更新|修改|编辑)(?:于|时间|日期|\s?[:：])|(?:阅读|查看|展开)(?:原文|全文|更多)|(?:登录|注册)后(?:可|才|即|查看|你可)|[您你需必请](?:需|必)?[要须请]?\s?先?\s?登[录陆](?:\s?(?:或者?|、)\s?注册)?\s?(?:后|账|帐)|喜欢.{0,8}(?:点个?赞|在看|转发|收藏)|欢迎(?:扫|关注|下载|订阅|投稿)|图(?:源|片|/文)?\s?[:：|丨]|(?:供图|摄影|文字|撰文)\s?[:：/|丨])",
)
_CRUMBS: Final = re.compile(_SIGNS + r".{1,30}\s[»›→]\s.{1,30}\s[»›→]\s")
_ARROWS: Final = "»›→"

_ITEMS: Final = re.compile(r"(?:[^·|•]{1,25}\s[·|•]\s){3}")
"""Four short items and more in a line: "About · Careers · Privacy · Terms"."""

_CREDIT: Final = re.compile(r"\((?:image|photo|picture|pic)s?(?: credit)?s?\s?:[^()]{0,60}\)$", re.IGNORECASE)
_LEGAL_ENGLISH: Final = (
    "copyright", "all rights reserved", "reproduc", "permission", "good faith", "general interest", "no responsibility", "liab",
    "editorial code", "complaint",
)  # fmt: skip
_LEGAL_CHINESE: Final = (
    "版权", "授权", "转载", "侵权", "免责", "不构成", "投资建议", "风险自担", "须谨慎", "仅供参考", "法律责任", "与本网", "与本站", "与本报",
    "信息存储", "用户上传", "联系我们", "热线", "地址：", "地址:", "删除", "客户端", "扫码",
)  # fmt: skip
_SOME_LEGAL_CHINESE: Final = re.compile("|".join(_LEGAL_CHINESE))
_LEGAL_CHARS: Final = 400
_LEGAL_CUES: Final = 2
_MAX_NAME_CHARS: Final = 200
_MAX_HEADING_CHARS: Final = 30
_HEAD_CHARS: Final = 80
_CONSENT_CHARS: Final = 1_000
_CONSENT: Final = re.compile(
    r"\b(?:we|our|your|these|this (?:site|website)|any website)\b.{0,200}?\b(?:use|browser|consent|preference|privacy|allow|partner)",
    re.IGNORECASE,
)
_TAIL_HEADING: Final = re.compile(
    r"^[\s【\[■●◆>]*(?:相关(?:阅读|新闻|链接|推荐|文章|报道|资讯)|延伸阅读|推荐阅读|热门(?:推荐|文章|新闻|评论)|(?:相关|热门|最新|类似){1,2}(?:问题|问答|帖子|主题|话题|讨论)|大家(?:都)?在(?:看|搜|问)|精彩推荐|猜你喜欢|更多(?:精彩|新闻|资讯)|网友评论|发表评论|最新评论|免责声明|版权声明|"
    r"(?:related|similar) (?:articles?|stories|posts|content|news|questions?|threads|topics|discussions)|read next|recommended(?: for you)?|you may also like|more from|comments?|leave a (?:comment|reply)|most (?:read|popular))[\s:：\]】]*(?:\(\d+\))?$",
)
"""Of a text in lower case."""

TAG_HINTS: Final = {**dict.fromkeys(NEGATIVE_TAGS, -1), **dict.fromkeys(POSITIVE_TAGS, 1)}
"""What tags without a name say; others say nothing."""

_HAS: Final = re.compile(r"(?:^|[_-]{2})(?:has|no|non|with|without)[_-]", re.IGNORECASE)
_LOOKS: Final = re.compile(
    r"(?:[a-z-]+:)*-?(?:"
    r"text-(?:start|end|center|left|right|justify|xs|sm|base|md|lg|xl|\dxl|muted|primary|secondary|success|danger|warning|info|white|black|dark|"
    r"light|nowrap|wrap|break|truncate|ellipsis|upper(?:case)?|lower(?:case)?|capitalize|bold|italic|underline|[a-z]{3,8}-\d{2,3})|"
    r"(?:justify-|align-)?content-(?:start|center|end|between|around|evenly|stretch)|"
    r"(?:top|bottom)-(?:\d+|px|auto|full|\[.*)|"
    r"(?:no-?)?(?:margin|padding|pad|border|rounded|spac(?:e|er|ing)|gap|v?align|indent|[mp])[_-]?(?:top|bottom)(?:[_-]?\w{1,3})?|"
    r"(?:top|bottom)[_-]?(?:margin|padding|pad|border|spac(?:e|er|ing)|gap)(?:[_-]?\w{1,3})?|(?:\w+-)?navy)",
    re.IGNORECASE,
)
"""Words for how an element looks, of style sheets that have one for each property: they do not say what it is."""

_MAIN, _FURNITURE_NAME, _TALK_NAME, _LIST_NAME = 1, 2, 4, 8
LIST_HINT: Final = -2
"""Hint of an element that is furniture if it holds links."""

BOX_HINT: Final = -3
"""Hint of one that is furniture by its name, and says so itself in a heading."""


def _by_start() -> dict[str, tuple[tuple[str, int], ...]]:
    """All words by their first three letters: one look into a table for each place of a name."""
    table: dict[str, tuple[tuple[str, int], ...]] = {}
    for words, flag in ((_POSITIVE, _MAIN), (_NEGATIVE, _FURNITURE_NAME), (_TALK, _TALK_NAME)):
        for word in words:
            own = _LIST_NAME if word in _LISTS else flag
            table[word[:3]] = (*table.get(word[:3], ()), (word, own))
    return table


_TABLE: Final = _by_start()


@lru_cache(maxsize=16_384)
def _flags(names: str) -> int:
    """What class and id say, as a sum of flags."""
    words = names[:_MAX_NAME_CHARS].split()
    if not _HIDDEN_WORDS.isdisjoint(words) and not any(map(_SHOWN.search, words)):
        return _FURNITURE_NAME
    flags = 0 if _SIDE_WORDS.isdisjoint(words) else _FURNITURE_NAME
    for word in words:
        flags |= _flags_of_word(word)
    return flags


@lru_cache(maxsize=32_768)
def _flags_of_word(word: str) -> int:
    """The same of one word: sites share many of them. What an element has or lacks is not what it is."""
    if _LOOKS.fullmatch(word):
        return 0
    word = _HAS.split(word, maxsplit=1)[0]
    lower, flags = word.lower(), 0
    for start in range(len(lower) - 2):
        if found := _TABLE.get(lower[start : start + 3]):
            for known, flag in found:
                if lower.startswith(known, start):
                    flags |= flag
    parts = {part.lower() for part in _WORDS.findall(word)}
    if not _NEGATIVE_WORDS.isdisjoint(parts):
        flags |= _LIST_NAME if parts & _NEGATIVE_WORDS <= _LIST_WORDS else _FURNITURE_NAME
    return flags


@lru_cache(maxsize=32_768)
def named_hint(tag: str, names: str, talk: bool) -> int:  # noqa: FBT001 - a cache takes twice as long for names of arguments
    """What tag, class and id say of an element: -1 furniture, ``LIST_HINT`` furniture if it holds links, 1 main text, 0 nothing or both.

    Args:
        tag: lower case.
        names: class and id; may be empty.
        talk: replies are main text, not furniture.
    """
    if tag in NEGATIVE_TAGS:
        return -1
    if tag in HEADING_TAGS:
        return 0
    flags = _flags(names) if names else 0
    if flags & _FURNITURE_NAME and not flags & _MAIN:
        return -1
    if flags & _TALK_NAME and not talk:
        return -1
    if flags & _LIST_NAME and not flags & _MAIN:
        return LIST_HINT
    return int(tag in POSITIVE_TAGS or flags & (_MAIN | _FURNITURE_NAME | _LIST_NAME) == _MAIN)


def is_caption(names: str) -> bool:
    """True when class and id say that words about a picture stand here."""
    return "caption" in names.lower()


def is_talk(names: str) -> bool:
    """True when class and id say that readers' comments or replies stand here."""
    return bool(names) and bool(_flags(names) & _TALK_NAME)


def is_furniture(text: str) -> bool:
    """True when a line opens like a byline, disclaimer, share bar or list of related pages, or asks for consent.

    Lines of up to ``_LEGAL_CHARS`` characters that speak of rights, liability or risk in two ways count too.
    """
    if opens_like_furniture(text) or (text.endswith(")") and _CREDIT.search(text[-_HEAD_CHARS:])):
        return True
    return speaks_of_rights(text)


def speaks_of_rights(text: str) -> bool:
    """The last part of ``is_furniture``: what a line is about."""
    if len(text) <= _LEGAL_CHARS and _legal_cues(text) >= _LEGAL_CUES:
        return True
    return _speaks_of_cookies(text[:_CONSENT_CHARS])


def _legal_cues(text: str) -> int:
    """How many words speak of rights, liability or risk, up to the number that is enough."""
    if text.isascii():
        return sum(map(text.lower().__contains__, _LEGAL_ENGLISH))
    if not _SOME_LEGAL_CHINESE.search(text):
        return 0  # one word in another language is not enough
    cues = sum(map(text.__contains__, _LEGAL_CHINESE))
    return cues + ("copyright" in text.lower()) if cues == _LEGAL_CUES - 1 else cues


def _speaks_of_cookies(head: str) -> bool:
    if not head.isascii() and b"cookie" not in head.encode("ascii", "ignore").lower():
        return False  # told so, Chinese need not be turned into lower case
    return "cookie" in head.lower() and bool(_CONSENT.search(head))


def opens_like_furniture(text: str) -> bool:
    """The first half of ``is_furniture``: how a line begins."""
    head = text[:_HEAD_CHARS].lower()
    if _FURNITURE.match(head) or (any(map(head.__contains__, "|·•")) and _ITEMS.match(head)):
        return True
    if head.isascii():
        return False
    if _FURNITURE_CHINESE.match(head):
        return True
    return any(map(head.__contains__, _ARROWS)) and _CRUMBS.match(head) is not None


def is_tail_heading(text: str) -> bool:
    """True when a line is the heading of what follows an article: related pages, comments, disclaimer."""
    return len(text) <= _MAX_HEADING_CHARS and bool(_TAIL_HEADING.match(text.lower()))
