"""What a page says of itself outside its text, as numbers: address, generator, declared types."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from es_dedup.extraction.page_columns import About

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_URL_THREAD: Final = re.compile(
    r"thread|topic|forum|\bbbs\b|/t/|/p/\d|question|/q/|/qa?[/.]|discuss|viewtopic|showthread|/posts?/\d|\btid=|comments/|answers?\b|community|board|tieba|/ask/",
    re.IGNORECASE,
)
_URL_ARTICLE: Final = re.compile(r"article|news|story|/20\d\d[/-]?\d\d|\.s?html?$|/a/|blog", re.IGNORECASE)
_URL_LIST: Final = re.compile(
    r"/(?:tags?|categor(?:y|ies)|archives?|page|search|list|index)\b|[?&](?:page|cat|tag)=|^https?://[^/]+/?$",
    re.IGNORECASE,
)
_FORUMS: Final = re.compile(
    r"discuz|phpbb|vbulletin|discourse|xenforo|nodebb|flarum|mybb|invision|ipb|smf|vanilla|misago|flaskbb|phpwind|question2answer|askbot|lemmy|punbb|fluxbb",
    re.IGNORECASE,
)
_BLOGS: Final = re.compile(
    r"wordpress|blogger|hexo|hugo|jekyll|typecho|ghost|movable ?type|typepad|halo|pelican|nikola|drupal|joomla|medium",
    re.IGNORECASE,
)
_THREAD_TYPES: Final = frozenset(
    ("discussionforumposting", "qapage", "question", "answer", "socialmediaposting")
)
_ARTICLE_TYPES: Final = frozenset(
    ("article", "newsarticle", "blogposting", "reportagenewsarticle", "techarticle", "opinionnewsarticle")
)
HINTS: Final = (
    "url_thread", "url_article", "url_list", "og_article", "forum_generator", "blog_generator", "thread_type", "article_type",
)  # fmt: skip


def read_about(title: str, metas: Mapping[str, str], types: Iterable[str], url: str | None) -> About:
    """What a page says of itself.

    Args:
        title: text of the title element.
        metas: names and properties of its meta elements, in small letters, to contents.
        types: schema.org types of its structured data.
        url: where it was found, and its canonical address; None: unknown.
    """
    small = {name.rsplit("/", 1)[-1].lower() for name in types}
    address = f"{url or ''} {metas.get('og:url', '')}"
    generator = f"{metas.get('generator', '')} {metas.get('application-name', '')}"
    hints = (
        _URL_THREAD.search(address), _URL_ARTICLE.search(address), _URL_LIST.search(address),
        metas.get("og:type", "").lower() == "article", _FORUMS.search(generator), _BLOGS.search(generator),
        small & _THREAD_TYPES, small & _ARTICLE_TYPES,
    )  # fmt: skip
    return About(
        metas.get("og:title") or title,
        metas.get("og:description") or metas.get("description") or "",
        tuple(float(bool(hint)) for hint in hints),
    )
