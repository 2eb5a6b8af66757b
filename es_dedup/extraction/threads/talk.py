"""Do people talk on this page? By its address, software and buttons, by the form of its posts, and by how much readers say."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from es_dedup.extraction.metadata.addresses import site_of
from es_dedup.extraction.seen.dated import LARGEST, MIN_POSTS, OF_ALL, dates, has_dated_posts
from es_dedup.extraction.seen.hints import is_talk
from es_dedup.extraction.seen.records import are_said, records
from es_dedup.extraction.threads.subject import subject_of
from es_dedup.extraction.threads.written import mail_headers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_dedup.extraction.reading.document import Document
    from es_dedup.extraction.seen.view import View

_URL: Final = re.compile(
    r"(?:^|[/.?&=_])(?:forums?|bbs|threads?|topic|viewtopic|viewthread|showthread|showtopic|discuss(?:ions?)?|questions?|answers?|ask|qa|"
    r"boards?|community|tieba|status|comments|talk|club|luntan|wenda|wenwen|zhidao|guestbook|gbook|liuyan|groups|dispbbs|d|t)(?=$|[/.?&=_-])|"
    r"/(?:issues?|q|topics|bugs?|tickets?)/\d|[?&]tid=\d|show_bug|/msg\d+\.html?$|/(?:pipermail|mailman|mailing-?lists?|archives/public)/|-(?:answers|questions|forums?|discussions?)/",
    re.IGNORECASE,
)
_HOST: Final = re.compile(r"forum|bbs|board|luntan|discuss|community|tieba|answers", re.IGNORECASE)
_SOFTWARE: Final = re.compile(
    r"discuz|phpwind|phpbb|vbulletin|xenforo|discourse|flarum|nodebb|mybb|vanilla|invision|smf|bbpress|fluxbb|"
    r"punbb|question2answer|askbot|\bforum",
    re.IGNORECASE,
)
_BODY: Final = re.compile(r"forum|viewtopic|viewthread|\bbbs|bbpress", re.IGNORECASE)
_TYPES: Final = frozenset({"qapage", "discussionforumposting", "question", "answer", "socialmediaposting"})
_ARTICLE_TYPES: Final = frozenset({"newsarticle", "article", "blogposting", "reportagenewsarticle"})
_BAR: Final = re.compile(r"只看(?:该作者|楼主|樓主)|倒序(?:浏览|看帖)|發表於.{0,30}只看")
_BAR_CHARS: Final = 80
_PROFILES: Final = re.compile(
    r"^(?:forum )?posts:? ?[\d,.]{1,9}$|^(?:joined|registered|member since|thread starter|topic starter)\b.{0,25}$|^(?:帖子|主题|积分|注册时间|在线时间|威望)[:：]? ?[\d-]{1,10}$",
    re.IGNORECASE,
)
_PROFILE_LABELS: Final = (b"posts", b"joined", b"registered", b"member since", b"starter")
_CHINESE_LABELS: Final = ("帖子", "主题", "积分", "注册时间", "在线时间", "威望")
_MANY_PROFILES: Final = 3
_ENOUGH: Final = 2
_MUCH_TALK: Final = 100.0  # units
_TALK_SHARE: Final = 5.0  # of the article's own length
_OWN_TEXT: Final = 100.0  # units; shorter ones are questions
_SHORT_OWN: Final = 300.0  # units; longer texts are articles, whatever is said about them
_HEADING_CHARS: Final = 80
_RESPONSES: Final = re.compile(
    r"(?:\d+|one|no)? ?(?:comments?|responses?|thoughts?)(?: \(?\d+\)?| (?:to|on|for) .*)?$|(?:网友|全部|最新|所有)?(?:评论|評論)(?:列表)? ?[（(]?\d*(?:条|[)）])?$",
    re.IGNORECASE,
)
_BELOW: Final = 0.5  # times what was said: notices and answer forms below it


def is_thread(document: Document) -> bool:
    """True when address, software, declared types and buttons say that people talk here."""
    types = document.structured.types
    url = (document.url or "").partition("#")[0]
    score = 2 * bool(_URL.search(url) or _HOST.search(site_of(url)))
    score += 2 * bool(_SOFTWARE.search(document.metas.get("generator", "")))
    score += 2 * any(_BODY.search(node.names) for node in document.nodes[:2])
    score += 2 * bool(types & _TYPES)
    score -= 2 * bool(types & _ARTICLE_TYPES)
    if score >= _ENOUGH:
        return True
    lines = [block.text for block in document.blocks if block.chars <= _BAR_CHARS]
    whole = "\n".join(lines)
    if _has_labels(whole):
        score += 2 * (sum(map(bool, map(_PROFILES.match, lines))) >= _MANY_PROFILES)
    if "From:" in whole or "Subject:" in whole or "发信站" in whole:
        score += 2 * bool(mail_headers(lines))
    score += 2 * (("只看" in whole or "倒序" in whole) and bool(_BAR.search(whole)))
    return score >= _ENOUGH


def declares_article(document: Document) -> bool:
    """The page declares itself an article and no discussion."""
    types = document.structured.types
    return bool(types & _ARTICLE_TYPES and not types & _TYPES)


def _has_labels(lines: str) -> bool:
    """False where no line can tell of a member's profile; Chinese is not turned into lower case to see it."""
    latin = lines.encode("ascii", "ignore").lower()
    return any(latin.find(label) >= 0 for label in _PROFILE_LABELS) or any(
        map(lines.__contains__, _CHINESE_LABELS)
    )


def is_thread_by_form(view: View) -> bool:
    """True when the page is a thread by its dated posts; not where it declares itself an article.

    Replies are no furniture in the view from then on, if the answer is yes.
    """
    if declares_article(view.document):
        return False
    dated = dates(view)
    if len(dated) < MIN_POSTS:
        return False
    view.judge(talk=True)
    if not _has_text_of_its_own(view) and (has_dated_posts(view, dated) or _has_dated_items(view, dated)):
        return True
    view.judge(talk=False)
    return False


def _has_text_of_its_own(view: View) -> bool:
    """True when comments stand beside a longer text, by their names or below a line that says so: an article."""
    said = talk_nodes(view)
    own = talk = 0.0
    below, least = False, _SHORT_OWN
    for place, (block, prose) in enumerate(zip(view.blocks, view.prose, strict=True)):
        if (
            not below
            and own > _OWN_TEXT
            and block.chars <= _HEADING_CHARS
            and not block.link_chars
            and _RESPONSES.match(block.text)
        ):
            below, least = True, _OWN_TEXT
        if prose > 0 and not view.is_negative(place) and not view.is_furniture(place):
            if below or (block.node >= 0 and said[block.node]):
                talk += prose
            else:
                own += prose
    return talk > 0 and own > max(least, talk / _TALK_SHARE)


def _has_dated_items(view: View, dated: set[int]) -> bool:
    """The same where dates stand below what was said, or anywhere else in the items of a list."""
    for found in records(view, dated):
        posts = [units for units in found.units if units > 0]
        if len(found.items) < MIN_POSTS or max(posts) > LARGEST * sum(posts):
            continue
        inside = above = below = 0.0
        title = subject_of(view, found.first)
        for place, prose in enumerate(view.prose):
            if place <= title or prose <= 0 or view.is_negative(place) or view.is_furniture(place):
                continue
            inside += prose * found.inside[place]
            above += prose * (place < found.first)
            below += prose * (place > found.last)
        if inside >= OF_ALL * (inside + above) and below <= _BELOW * inside and are_said(view, found, dated):
            return True
    return False


def is_mostly_talk(view: View, places: Sequence[int]) -> bool:
    """True when readers say far more below a chosen text than the text itself: the page is a discussion.

    Not where the page declares itself an article.
    """
    title = view.document.title
    own = sum(
        view.prose[place]
        for place in places
        if view.prose[place] > 0 and view.blocks[place].text not in title
    )
    if own > _SHORT_OWN or declares_article(view.document):
        return False
    said, chosen, talk = talk_nodes(view), set(places), 0.0
    for place, prose in enumerate(view.prose if True in said else ()):
        node = view.blocks[place].node
        if prose > 0 and node >= 0 and said[node] and place not in chosen:
            talk += prose
    return talk >= max(_MUCH_TALK, _TALK_SHARE * own)


def is_under_text(view: View, places: Sequence[int]) -> bool:
    """True when most of a thread is what readers say below a text of its own: that alone may be meant."""
    said = talk_nodes(view)
    talk = own = 0.0
    for place in places if True in said else ():
        node = view.blocks[place].node
        if node >= 0 and said[node]:
            talk += view.units[place]
        else:
            own += view.units[place]
    return _OWN_TEXT <= own <= _SHORT_OWN and talk >= _TALK_SHARE * own


def talk_nodes(view: View) -> list[bool]:
    """For each element: its names, or those of an element around it, say that people reply here."""
    if view.talk is not None:
        return view.talk
    talk = view.talk = [False] * len(view.nodes)
    talking = {names for names in {node.names for node in view.nodes} if is_talk(names)}
    for node in view.nodes if talking else ():
        if not talk[node.index] and node.names in talking:
            end = view.ends[node.index]
            talk[node.index : end] = [True] * (end - node.index)
    return talk
