"""Do people talk on this page? By its address, software and buttons, by the form of its posts, and by how much readers say."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from es_dedup.extraction.metadata.addresses import site_of
from es_dedup.extraction.seen.dated import LARGEST, MIN_POSTS, OF_ALL, dates, has_dated_posts
from es_dedup.extraction.seen.hints import BELOW_TITLE, is_talk
from es_dedup.extraction.seen.records import SHORT_OWN, TALK_SHARE, are_said, records
from es_dedup.extraction.threads.subject import subject_of
from es_dedup.extraction.threads.written import mail_headers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_dedup.extraction.reading.document import Document
    from es_dedup.extraction.seen.records import Records
    from es_dedup.extraction.seen.view import View

_URL: Final = re.compile(
    r"(?:^|[/.?&=_])(?:forums?|bbs|threads?|topic|viewtopic|viewthread|showthread|showtopic|discuss(?:ions?)?|questions?|answers?|ask|qa|"
    r"boards?|community|tieba|status|comments|talk|club|luntan|wenda|wenwen|zhidao|guestbook|gbook|liuyan|groups(?=\.|/\d|\?)|dispbbs|d|t)(?=$|[/.?&=_-])|"
    r"/(?:issues?|q|topics|bugs?|tickets?)/(?!(?:19|20)\d\d/)\d+(?=[-/?#.]|$)|[?&]tid=\d|show_bug|/msg\d+\.html?$|/(?:pipermail|mailman|mailing-?lists?|archives/public)/|-(?:answers|questions|forums?|discussions?)/",
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
_BAR: Final = re.compile(r"只看(?:该作者|楼主|樓主)|倒序(?:浏览|看帖)|發表於[^\0]{0,30}只看")
_BAR_CHARS: Final = 80
_PROFILE: Final = re.compile(
    r"\0(?:(?:forum )?posts:? ?[\d,.]{1,9}|(?:joined|registered|member since|thread starter|topic starter)\b[^\0]{0,25}|(?:帖子|主题|积分|注册时间|在线时间|威望)[:：]? ?[\d-]{1,10})(?=\0)",
    re.IGNORECASE,
)
"""A line between null characters, which no text holds."""

_PROFILE_LABELS: Final = (b"posts", b"joined", b"registered", b"member since", b"starter")
_CHINESE_LABELS: Final = ("帖子", "主题", "积分", "注册时间", "在线时间", "威望")
_MANY_PROFILES: Final = 3
_ENOUGH: Final = 2
_MUCH_TALK: Final = 100.0  # units
_OWN_TEXT: Final = 100.0  # units; shorter ones are questions
_HEADING_CHARS: Final = 80
_RESPONSES: Final = re.compile(
    r"(?:\d+|one|no)? ?(?:comments?|responses?|thoughts?|kommentare?|commentaires?|comentarios?|comentários?|commenti|комментари[ийев]{1,2})"
    r"(?: ?\(?\d+\)?| (?:to|on|for) .*)?[\s»:#|↓]*$|(?:网友|全部|最新|所有)?(?:评论|評論)(?:列表)? ?[（(]?\d*(?:条|[)）])?[\s：]*$",
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
    lines = "\0".join(("", *[block.text for block in document.blocks if block.chars <= _BAR_CHARS], ""))
    if _has_labels(lines):
        score += 2 * (len(_PROFILE.findall(lines)) >= _MANY_PROFILES)
    if "From:" in lines or "Subject:" in lines or "发信站" in lines:
        score += 2 * bool(mail_headers(lines.split("\0")))
    score += 2 * (("只看" in lines or "倒序" in lines) and bool(_BAR.search(lines)))
    return score >= _ENOUGH


def declares_article(document: Document) -> bool:
    """The page declares itself an article and no discussion."""
    types = document.structured.types
    return bool(types & _ARTICLE_TYPES and not types & _TYPES)


def _has_labels(lines: str) -> bool:
    """False where no line can tell of a member's profile; Chinese is not turned into lower case to see it."""
    latin = lines.encode("ascii", "ignore").lower()
    return any(map(latin.__contains__, _PROFILE_LABELS)) or any(map(lines.__contains__, _CHINESE_LABELS))


def is_thread_by_form(view: View) -> bool:
    """True when the page is a thread by its dated posts; not where it declares itself an article.

    Replies are no furniture in the view from then on, if the answer is yes.
    """
    if declares_article(view.document):
        return False
    dated = _below_title(view, dates(view))
    if len(dated) < MIN_POSTS:
        return False
    view.judge(talk=True)
    if (has_dated_posts(view, dated) or _has_dated_items(view, dated)) and not _has_text_of_its_own(view):
        return True  # what looks at every line comes last
    view.judge(talk=False)
    return False


def _below_title(view: View, dated: set[int]) -> set[int]:
    """Those below the line that is the page's title, where it has a text below it: above that stand teasers of other pages."""
    if len(dated) < MIN_POSTS or (title := subject_of(view, len(view.blocks))) <= min(dated):
        return dated
    above = below = 0.0
    for place, prose in enumerate(view.prose):
        if prose > 0 and not view.is_negative(place) and not view.is_furniture(place):
            if place < title:
                above += prose
            else:
                below += prose
    return (
        {place for place in dated if place > title} if below >= max(_OWN_TEXT, BELOW_TITLE * above) else dated
    )


def _has_text_of_its_own(view: View) -> bool:
    """True when comments stand beside a longer text, by their names or below a line that says so: an article."""
    said = talk_nodes(view)
    own = talk = 0.0
    below = False
    for place, (block, prose) in enumerate(zip(view.blocks, view.prose, strict=True)):
        if (
            not below
            and own > _OWN_TEXT
            and block.chars <= _HEADING_CHARS
            and not view.linked(place)
            and _RESPONSES.match(block.text)
        ):
            below = True
        if prose > 0 and not view.is_negative(place) and not view.is_furniture(place):
            if below or (block.node >= 0 and said[block.node]):
                talk += prose
            else:
                own += prose
    much = talk / TALK_SHARE
    return talk > 0 and own > (min(max(_OWN_TEXT, much), SHORT_OWN) if below else max(SHORT_OWN, much))


def _has_dated_items(view: View, dated: set[int]) -> bool:
    """The same where dates stand below what was said, or anywhere else in the items of a list."""
    for found in records(view, dated):
        posts = [units for units in found.units if units > 0]
        if len(found.items) < MIN_POSTS or max(posts) > LARGEST * sum(posts):
            continue
        if not are_said(view, found, dated):
            continue
        if _holds_most(view, found):
            return True
    return False


def _holds_most(view: View, found: Records) -> bool:
    """True when nearly all prose from the page's title on to the end of a list stands in it, and not much below."""
    title = subject_of(view, found.first)
    said = [
        (place, prose)
        for place, prose in enumerate(view.prose)
        if place > title and prose > 0 and not view.is_negative(place)
    ]
    most = sum(prose for place, prose in said if found.inside[place])
    inside = above = below = 0.0
    for place, prose in said:
        if view.is_furniture(place):
            continue
        inside += prose * found.inside[place]
        above += prose * (place < found.first)
        below += prose * (place > found.last)
        if most < OF_ALL * (most + above):
            return False  # whatever the rest of it is
    return inside >= OF_ALL * (inside + above) and below <= _BELOW * inside


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
    if own > SHORT_OWN or declares_article(view.document):
        return False
    said, chosen, talk = talk_nodes(view), set(places), 0.0
    for place, prose in enumerate(view.prose if True in said else ()):
        node = view.blocks[place].node
        if prose > 0 and node >= 0 and said[node] and place not in chosen:
            talk += prose
    return talk >= max(_MUCH_TALK, TALK_SHARE * own)


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
    return _OWN_TEXT <= own <= SHORT_OWN and talk >= TALK_SHARE * own


def talk_nodes(view: View) -> list[bool]:
    """For each element: its names, or those of an element around it, say that people reply here."""
    if view.talking is None:
        talk = view.talking = [False] * len(view.nodes)
        looks = {look for look, names in enumerate(view.by_look.names) if is_talk(names)}
        for index in view.with_looks(looks):
            if not talk[index]:
                talk[index : view.ends[index]] = [True] * (view.ends[index] - index)
    return view.talking
