"""Forum threads, questions with answers, discussions: all posts are the main text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from es_dedup.extraction.choice import Choice
from es_dedup.extraction.dated import DATE, DATE_CHARS, MIN_POSTS, dates, has_dated_posts
from es_dedup.extraction.hints import is_talk
from es_dedup.extraction.metadata import site_of
from es_dedup.extraction.view import LINKED
from es_dedup.model import PageKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_dedup.extraction.document import Document
    from es_dedup.extraction.view import View

_URL: Final = re.compile(
    r"(?:^|[/.?&=_])(?:forums?|bbs|threads?|topics?|viewtopic|viewthread|showthread|showtopic|discuss(?:ions?)?|questions?|answers?|ask|qa|"
    r"boards?|community|tieba|posts?|status|comments|talk|club|luntan|wenda|zhidao|d|t)(?=$|[/.?&=_-])",
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
_STOPPED: Final = 0.3
_MEAN_UNITS: Final = 12.0
_MUCH_TALK: Final = 200.0  # units
_TALK_SHARE: Final = 5.0  # of the article's own length
_SHORT_OWN: Final = 300.0  # units; longer texts are articles, whatever is said about them
_ASIDE_SHARE: Final = 0.35  # of the posts' own length
_DIRECT: Final = 0.4  # of the text inside a body that stands in its own paragraphs and lines
_HEADINGS: Final = frozenset({"h1", "h2", "h3"})
_TITLE_CHARS: Final = 4
_LINES: Final = frozenset({"pre", "li", "td", "p", "blockquote"})
_LABEL_UNITS: Final = 6.0  # on average
_SEVERAL: Final = 3
_DISTINCT: Final = 0.5


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
    score += 2 * (("只看" in whole or "倒序" in whole) and bool(_BAR.search(whole)))
    return score >= _ENOUGH


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
    types = view.document.structured.types
    if types & _ARTICLE_TYPES and not types & _TYPES:
        return False
    dated = dates(view)
    if len(dated) < MIN_POSTS:
        return False
    view.judge(talk=True)
    if has_dated_posts(view, dated):
        return True
    view.judge(talk=False)
    return False


def is_mostly_talk(view: View, places: Sequence[int]) -> bool:
    """True when readers say far more below a chosen text than the text itself: the page is a discussion.

    Not where the page declares itself an article.
    """
    types = view.document.structured.types
    own = sum(view.prose[place] for place in places if view.prose[place] > 0)
    if own > _SHORT_OWN or (types & _ARTICLE_TYPES and not types & _TYPES):
        return False
    said, chosen, talk = talk_nodes(view), set(places), 0.0
    for place, prose in enumerate(view.prose):
        node = view.blocks[place].node
        if prose > 0 and node >= 0 and said[node] and place not in chosen:
            talk += prose
    return talk >= max(_MUCH_TALK, _TALK_SHARE * own)


def thread_choice(view: View) -> Choice | None:
    """All posts; None when there is nothing like a post."""
    weight = [_weigh(view, place) for place in range(len(view.blocks))]
    best, score = _best(view, weight)
    if best < 0:
        return None
    bodies = _bodies(view, view.inside(best), best)
    said = [
        place for place, block in enumerate(view.blocks) if block.node in bodies and _is_said(view, place)
    ]
    labels = _labels(view, said)
    posts = _without_asides(view, [place for place in said if view.kinds[place] not in labels])
    places = [*_title(view, posts), *posts]
    if not places:
        return None

    def reason(place: int) -> str:
        if view.blocks[place].node not in bodies:
            return "in furniture, by its names" if view.is_negative(place) else "not in the body of a post"
        return "repeated, a date or furniture inside a post"

    return Choice(places, PageKind.THREAD, "posts of one kind", best, score, reason=reason)


def _bodies(view: View, places: list[int], best: int) -> set[int]:
    """Elements of all posts' bodies with everything inside them."""
    fine = _body_kinds(view, places)
    holders = {view.around(place) for place in places if view.kinds[place] in fine and view.prose[place] > 0}
    kinds = {view.kind.of_node(holder) for holder in holders if holder >= 0}
    end = view.ends[best]
    alike: dict[int, list[int]] = {}
    for node in view.nodes:
        kind = view.kind.of_node(node.index)
        if kind in kinds and (best <= node.index < end or view.kind.is_named(node.index)):
            alike.setdefault(kind, []).append(node.index)
    direct = [0.0] * len(view.nodes)
    whole = [0.0] * len(view.nodes)
    for place, block in enumerate(view.blocks):
        holder = view.around(place)
        if holder >= 0 and not view.linked(place) and view.nodes[block.node].tag != "pre":
            direct[holder] += view.units[place]
            whole[block.node] += view.units[place]
    for node in reversed(view.nodes):
        if node.parent >= 0:
            whole[node.parent] += whole[node.index]
    found: set[int] = set()
    for members in alike.values():
        if sum(direct[index] for index in members) < _DIRECT * sum(whole[index] for index in members):
            continue  # a wrapper of other parts, not the body of a post
        for index in members:
            if not view.negative[index]:
                found.update(range(index, view.ends[index]))
    return found


def _weigh(view: View, place: int) -> float:
    prose = view.prose[place]
    node = view.blocks[place].node
    if node >= 0 and view.nodes[node].tag == "h1":
        return 0.0
    if view.is_negative(place):
        return -4.0 if prose <= 0 else -0.3 * prose
    if prose > 0 and view.is_furniture(place):
        return -5.0
    if prose <= 0:
        return -2.0 if view.linked(place) else 0.0
    return prose


def _best(view: View, weight: list[float]) -> tuple[int, float]:
    sums = [0.0] * len(view.nodes)
    for block, value in zip(view.blocks, weight, strict=True):
        if block.node >= 0:
            sums[block.node] += value
    best, most = -1, 0.0
    for node in reversed(view.nodes):
        total = sums[node.index]
        if total > most:
            best, most = node.index, total
        if node.parent >= 0:
            sums[node.parent] += max(total, -30.0)
    return best, most


def _body_kinds(view: View, places: list[int]) -> set[int]:
    groups: dict[int, list[int]] = {}
    for place in places:
        groups.setdefault(view.kinds[place], []).append(place)
    return {kind for kind, members in groups.items() if _is_body(view, members)}


def _without_asides(view: View, posts: list[int]) -> list[int]:
    """Without comments below posts, where they are far less than the posts themselves."""
    talk = talk_nodes(view)
    asides = {place for place in posts if view.blocks[place].node >= 0 and talk[view.blocks[place].node]}
    said = sum(view.units[place] for place in posts if place not in asides)
    return (
        [place for place in posts if place not in asides]
        if sum(view.units[place] for place in asides) < _ASIDE_SHARE * said
        else posts
    )


def talk_nodes(view: View) -> list[bool]:
    """For each element: its names, or those of an element around it, say that people reply here."""
    talk: list[bool] = []
    for node in view.nodes:
        talk.append(is_talk(node.names) or (node.parent >= 0 and talk[node.parent]))
    return talk


def _title(view: View, posts: list[int]) -> list[int]:
    """Place of the heading that is the thread's title: in it stands what is asked. At most one."""
    if not posts:
        return []
    title = "".join(view.document.title.split())
    for place in range(posts[0] - 1, -1, -1):
        block = view.blocks[place]
        if block.node >= 0 and view.nodes[block.node].tag in _HEADINGS and block.text not in view.repeated:
            heading = "".join(block.text.split())
            if len(heading) >= _TITLE_CHARS and heading in title:
                return [place]
    return []


def _labels(view: View, places: list[int]) -> set[int]:
    """Kinds of short lines that never read like prose: names, ranks, buttons."""
    groups: dict[int, list[int]] = {}
    for place in places:
        groups.setdefault(view.kinds[place], []).append(place)
    return {
        kind
        for kind, members in groups.items()
        if len(members) > 1
        and view.nodes[view.blocks[members[0]].node].tag not in _LINES
        and all(view.prose[place] <= 0 for place in members)
        and sum(view.units[place] for place in members) <= _LABEL_UNITS * len(members)
    }


def _is_body(view: View, places: list[int]) -> bool:
    chars = sum(view.blocks[place].chars for place in places)
    linked = sum(view.blocks[place].link_chars for place in places)
    if linked > LINKED * chars:
        return False
    if len(places) >= _SEVERAL and len({view.blocks[place].text for place in places}) < _DISTINCT * len(
        places
    ):
        return False
    units = sum(view.units[place] for place in places)
    stopped = sum(view.units[place] for place in places if view.prose[place] > 0)
    return stopped >= _STOPPED * units


def _is_said(view: View, place: int) -> bool:
    block = view.blocks[place]
    if view.is_negative(place) or block.text in view.repeated:
        return False
    if block.chars <= DATE_CHARS and DATE.search(block.text):
        return False
    return not view.is_furniture(place)
