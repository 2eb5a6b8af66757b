# mypy: ignore-errors
"""Threads in the templates of Django packages; runs in the environment of ``programs.py``.

Tags and filters of a package that need its database have a stand-in here or show nothing.
"""

from __future__ import annotations

import re
import sys
from datetime import datetime
from html import escape
from pathlib import Path
from types import SimpleNamespace

import django
from django.conf import settings
from django.core.paginator import Paginator
from django.template import Context, Engine, Node, TemplateDoesNotExist, base
from django.template.defaultfilters import date as shown_date
from django.templatetags import i18n, l10n, static, tz
from django.utils.safestring import SafeString, mark_safe
from django.utils.timesince import timesince
from drive_common import GIVEN, RNG, emit, starts

PACKAGES = Path(next(path for path in sys.path if path.endswith("site-packages")))


class Thing(SimpleNamespace):
    """An object that a template asks for values."""

    def __str__(self) -> str:
        """Its name."""
        return self.name


class Several(list):
    """Objects of a query."""

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self)


class Rich(SafeString):
    """HTML that also answers to the names that wrapped fields have."""

    @property
    def rendered(self) -> SafeString:
        """The HTML."""
        return mark_safe(self)  # noqa: S308 - made by this generator


class Patient(Engine):
    """An engine that shows nothing where an included template is missing."""

    def find_template(self, name: str, dirs: object = None, skip: object = None) -> tuple:
        """The template, or an empty one."""
        try:
            return super().find_template(name, dirs, skip)
        except TemplateDoesNotExist:
            return base.Template("", engine=self), None


class Block(Node):
    """What stands between a tag and its end."""

    def __init__(self, nodes: object, name: str) -> None:
        self.nodes, self.name = nodes, name

    def render(self, context: Context) -> str:
        """The inner nodes, or nothing if they are kept under a name."""
        text = self.nodes.render(context).strip()
        if self.name:
            context[self.name] = mark_safe(text)  # noqa: S308 - rendered by the engine
            return ""
        return text


class Tag(Node):
    """A tag without an end: one of ``TAGS``, or nothing."""

    def __init__(self, name: str, values: list, named: dict, target: str) -> None:
        self.name, self.values, self.named, self.target = name, values, named, target

    def render(self, context: Context) -> str:
        """The value, or nothing if it is kept under a name."""
        values = [value.resolve(context, ignore_failures=True) for value in self.values]
        named = {key: value.resolve(context, ignore_failures=True) for key, value in self.named.items()}
        value = TAGS.get(self.name, lambda *_values, **_named: "")(*values, **named)
        if self.target:
            context[self.target] = value
            return ""
        return str(value)


def compile_tag(parser: base.Parser, token: base.Token) -> Node:
    """A tag that Django does not know."""
    name, *parts = token.split_contents()
    target = ""
    if len(parts) > 1 and parts[-2] == "as":
        *parts, _as, target = parts
    if any(
        each.token_type == base.TokenType.BLOCK and each.contents.split()[0] == f"end{name}"
        for each in parser.tokens
    ):
        nodes = parser.parse((f"end{name}",))
        parser.delete_first_token()
        return Block(nodes, target)
    if len(parts) == 3 and parts[1] == "=":
        return Tag("value", [parser.compile_filter(parts[2])], {}, parts[0])
    named = dict(part.split("=", 1) for part in parts if "=" in part and part[0] not in "\"'")
    values = [] if name in OPAQUE else [part for part in parts if part.split("=", 1)[0] not in named]
    return Tag(
        name,
        [parser.compile_filter(part) for part in values],
        {key: parser.compile_filter(value) for key, value in named.items()},
        target,
    )


class Anything(dict):
    """A mapping that has a stand-in for every name."""

    def __init__(self, known: dict, other: object) -> None:
        super().__init__(known)
        self.other = other

    def __contains__(self, _name: object) -> bool:
        """Every name is there."""
        return True

    def __missing__(self, name: str) -> object:
        """The stand-in."""
        return self.other(name)


class Lenient(base.Parser):
    """A parser that knows all tags, filters and libraries."""

    def __init__(self, *values: object, **named: object) -> None:
        super().__init__(*values, **named)
        for library in (i18n, l10n, tz, static):
            self.add_library(library.register)
        known = {name: compile_ for name, compile_ in self.tags.items() if name not in OWN}
        self.tags = Anything(known, lambda _name: compile_tag)
        self.filters = Anything({**self.filters, **FILTERS}, lambda _name: same)


def same(value: object, _argument: object = None) -> object:
    """The value itself."""
    return value


def no(_value: object, _argument: object = None) -> bool:
    """Never."""
    return False


def member(_value: object, _argument: object = None) -> bool:
    """Whether the page is shown to a member."""
    return GIVEN["member"]


def address(name: str, *values: object, **named: object) -> str:
    """A path made of a route's name and its arguments."""
    parts = [str(value) for value in (*values, *named.values()) if value not in (None, "")]
    return "/" + "/".join([str(name).replace(":", "/").replace("_", "-"), *parts]) + "/"


def chan_text(post: Thing) -> str:
    """A post of an image board: escaped, with marked quotes."""
    lines = [escape(line, quote=False) for line in post.text.split("\n")]
    marked = [f'<span class="quotetext">{line}</span>' if line.startswith("&gt;") else line for line in lines]
    return mark_safe("<br />".join(marked))  # noqa: S308 - escaped above


OWN = {"url", "static", "cache", "load", "get_static_prefix", "csrf_token"}
OPAQUE = {"load", "csrf_token", "crispy"}
TAGS = {
    "url": address,
    "static": lambda path: f"/static/{path}",
    "value": same,
    "absoluteurl": lambda path, *_values: f"https://{GIVEN['host']}{path}",
    "pybb_get_profile": lambda user: getattr(user, "profile", ""),
    "pybb_time": lambda when: shown_date(when, "j. N Y, H:i"),
    "pybb_link": lambda thing: mark_safe(f'<a href="/f/">{escape(str(thing))}</a>'),  # noqa: S308 - escaped
    "post_render": chan_text,
    "bbcode": lambda text, *_values: text,
    "get_setting": lambda name, *_values: {
        "LBFORUM_TITLE": GIVEN["title"],
        "LBFORUM_SUB_TITLE": GIVEN["tagline"],
    }.get(name, "/x/"),
    "get_categories": lambda: [Thing(name=name, title=name, slug="s") for name in GIVEN["sections"]],
    "get_tags": lambda: [Thing(name=name, title=name, slug="s") for name in GIVEN["sections"][:4]],
    "page_item_idx": lambda _pages, loop: loop["counter"],
    "page_range_info": lambda _pages: f"1-{GIVEN['per_page']}",
    "current_title_from_breadcrumbs": lambda: GIVEN["shown_title"],
}
FILTERS = {
    "avatar": lambda _user, size=100: f"/media/avatars/{size}.png",
    "user_profile_pic": no,
    "check_app_installed": no,
    "is_topic_followed": no,
    "is_user_instructor": no,
    "is_user_administrator": no,
    "pybb_may_create_post": member,
    "pybb_may_subscribe_topic": member,
    "pybb_may_edit_post": no,
    "pybb_may_delete_post": no,
    "pybb_may_admin_post": no,
    "topic_can_post": member,
    "lbtimesince": timesince,
    "short_timesince": lambda when: timesince(when, depth=1),
    "aa_forum_time": lambda when: shown_date(when, "N j, Y, H:i:s"),
    "aa_forum_main_character_corporation_name": lambda user: user.group,
    "aa_forum_main_character_alliance_name": no,
    "character_portrait_url": lambda _user, size=64: f"https://images.example.org/{size}.png",
    "sub_comments": lambda comment: [comment, *comment.below],
    "set_flag": lambda _votes: "",
}
CLOSED = re.compile(r"(<html[^>]*)/>")
"""An element that begins and ends at once, in which parsers find no page."""
FRAMES = ("base.html", "skeleton.html")
USERS: dict[str, Thing] = {}


def user(name: str, signature: str = "") -> Thing:
    """A member, by all the names that templates have for its fields."""
    if name not in USERS:
        number = len(USERS) + 1
        made = Thing(name=name, username=name, id=number, pk=number, slug=f"u{number}", is_authenticated=True)
        made.get_username = made.get_display_name = made.get_full_name = made.display_name = name
        made.get_absolute_url = f"/user/u{number}/"
        made.posts = made.posts_count = made.post_count = RNG.randrange(3000)
        made.get_any_title = RNG.choice(("", GIVEN["sections"][0]))
        made.group = RNG.choice(GIVEN["sections"])
        made.rank = Thing(name=made.group, css_class="member", is_tab=False, get_absolute_url="/rank/")
        made.date_joined = made.joined_on = datetime.fromisoformat(f"{2009 + number % 12}-05-03")
        made.get_avatar_url = f"/media/avatar/{number}.png"
        made.profile_pic = ""
        made.user = made
        USERS[name] = made
        made.lbforum_profile = made.profile = made.forum_profile = made
    made = USERS[name]
    if signature and GIVEN["signatures"]:
        made.signature = made.signature_html = Rich(f"<p>{escape(signature, quote=False)}</p>")
        made.aa_forum_user_profile = Thing(name=name, signature=made.signature)
    return made


def posts_of(thread: dict, topic: Thing) -> list[Thing]:
    """The posts of a thread, by all the names that templates have for their fields."""
    found = []
    for at, given in enumerate(thread["posts"]):
        when = datetime.fromisoformat(given["date"]).replace(tzinfo=None)
        author = user(given["author"], given["signature"])
        body = given["body"] if GIVEN["plain"] else Rich(given["body"])
        number = topic.pk * 130 + at
        post = Thing(name=f"#{number}", id=number, pk=number, index=at, topic=topic, thread=topic)
        for name in ("content", "message", "body_html", "text_formatted", "text", "comment"):
            setattr(post, name, body)
        for name in "user poster author posted_by user_created commented_by".split():
            setattr(post, name, author)
        for name in "created posted_on time_posted created_on post_date timestamp modified".split():
            setattr(post, name, when)
        post.subject = topic.name if at == 0 else f"Re: {topic.name}"
        post.is_valid = post.enable_signature = True
        post.is_read = RNG.random() < 0.8
        post.poster_id = post.user_id = author.pk
        post.username = post.author_display_name = author.name
        post.get_absolute_url = f"/post/{number}/"
        post.votes = post.up_votes_count = RNG.randrange(9)
        post.down_votes_count = RNG.randrange(3)
        post.is_topic_head = at == 0
        post.acl = {"can_reply": GIVEN["member"], "can_like": GIVEN["likes"]}
        found.append(post)
    return found


def nest(thread: dict, posts: list[Thing]) -> list[int]:
    """Give each post its answers; the indexes of all in the order of nested pages."""
    for post in posts:
        post.answers, post.below = [], []
    for at in range(1, len(posts)):
        posts[max(thread["posts"][at]["parent"], 0)].answers.append(posts[at])

    def walk(post: Thing) -> list[Thing]:
        post.below = [each for answer in post.answers for each in (answer, *walk(answer))]
        post.get_comments = post.answers
        post.comment_parent = Thing(name="", all=post.answers)
        return post.below

    return [0, *(post.index for post in walk(posts[0]))]


def topic_of(thread: dict, number: int) -> Thing:
    """A topic without its posts, by all the names that templates have for its fields."""
    section = GIVEN["sections"][number % len(GIVEN["sections"])]
    when = datetime.fromisoformat(thread["date"]).replace(tzinfo=None)
    forum = Thing(name=section, title=section, slug="s", id=number + 1, pk=number + 1, ln="b")
    forum.get_absolute_url = "/forum/s/"
    forum.category = forum
    topic = Thing(
        name=thread["title"], title=thread["title"], subject=thread["title"], id=number + 7, pk=number + 7
    )
    topic.slug = thread["slug"]
    topic.forum = topic.board = topic.category = forum
    topic.get_parents = [forum]
    topic.created_by = topic.starter = topic.user = topic.author = user(thread["author"])
    topic.starter_id, topic.starter_name, topic.starter_slug = topic.starter.pk, topic.starter.name, "u"
    topic.created_on = topic.started_on = topic.updated_on = topic.last_post_on = topic.timestamp = when
    topic.num_views = topic.no_of_views = topic.view_count = RNG.randrange(9000)
    topic.up_votes_count = topic.down_votes_count = topic.votes = RNG.randrange(9)
    topic.weight = RNG.choice((0, 0, 1))
    topic.closed = topic.is_closed = topic.is_locked = RNG.random() < 0.15
    topic.tags = Thing(name="", all=[Thing(name=tag, title=tag) for tag in thread["tags"]])
    topic.get_absolute_url = f"/topic/{topic.slug}/"
    return topic


def fill(topic: Thing, posts: list[Thing]) -> None:
    """Give a topic its posts."""
    first, *rest = posts
    topic.post = topic.first_message = topic.first_post = first
    topic.last_post = topic.get_last_comment = posts[-1]
    topic.replies = topic.reply_count = len(rest)
    topic.description = topic.message = first.comment
    topic.text = first.text
    topic.post_set = Thing(name="", all=Several(rest))
    topic.get_all_comments = rest
    topic.get_comments = first.get_comments
    topic.get_topic_users = list({post.author.name: post.author for post in posts}.values())


def configure() -> Engine:
    """Set Django up with the templates and translations of the installed packages."""
    settings.configure(
        LANGUAGE_CODE=GIVEN["language"],
        LANGUAGES=[
            ("en", "English"),
            ("de", "German"),
            ("ja", "Japanese"),
            (GIVEN["language"], GIVEN["language"]),
        ],
        USE_I18N=True,
        USE_TZ=False,
        STATIC_URL="/static/",
        LOCALE_PATHS=[str(path) for path in PACKAGES.glob("*/locale") if path.parent.name != "django"],
    )
    django.setup()
    base.Parser = Lenient
    frame = Path("frame")
    frame.mkdir()
    for name in FRAMES:
        (frame / name).write_text(frame_source(), encoding="utf8")
    folders = [path for path in PACKAGES.rglob("templates") if "django" not in path.parts]
    return Patient(dirs=[str(frame), *map(str, folders)])


def frame_source() -> str:
    """The frame of the site, which some packages leave to it, with the blocks that they fill."""
    links = "".join(
        f'<li><a href="/n{at}/">{escape(name)}</a></li>' for at, name in enumerate(GIVEN["sections"])
    )
    boxes = [
        f"<section><h3>{escape(GIVEN['sections'][-1])}</h3><p>{escape(GIVEN['notices'][0])}</p></section>"
    ]
    boxes.append(f"<ul class='side-links'>{links}</ul>")
    aside = f"<aside class='sidebar'>{''.join(RNG.sample(boxes, RNG.randint(1, 2)))}</aside>"
    main = (
        "<div id='content' class='main'>{% block messages %}{% endblock %}{% block content %}"
        "{% block base_content %}{% endblock %}{% endblock %}</div>"
    )
    middle = RNG.choice((main, main + aside, aside + main))
    head = (
        f"<header><h1><a href='/'>{escape(GIVEN['title'])}</a></h1><p>{escape(GIVEN['tagline'])}</p></header>"
    )
    foot = f"<footer><p>{escape(GIVEN['notices'][1])}</p></footer>" if RNG.random() < 0.7 else ""
    return (
        "<!DOCTYPE html><html><head><meta charset='utf-8'><title>{% block title %}{% block head_title %}"
        "{% endblock %}{% endblock %}</title>{% block extra_head %}{% endblock %}{% block extrahead %}{% endblock %}"
        f"</head><body>{head}<nav><ul>{links}{{% block forum_nav %}}{{% endblock %}}</ul></nav>"
        f"{{% block breadcrumb %}}{{% endblock %}}<div class='wrap'>{middle}</div>{foot}"
        "{% block extra_script %}{% endblock %}</body></html>"
    )


def turns_of(page: object) -> Thing:
    """Where the page stands among the pages of its thread."""
    count, number = page.paginator.num_pages, page.number
    return Thing(
        name="",
        page=number,
        pages=count,
        num_pages=count,
        page_range=page.paginator.page_range,
        first=1 if number > 1 else None,
        previous=number - 1 if number > 1 else None,
        last=count if number < count else None,
        next=number + 1 if number < count else None,
    )


def site_of() -> dict[str, object]:
    """What a template is given of the site."""
    look = {
        "forum_name": GIVEN["title"],
        "logo_text": GIVEN["title"],
        "forum_footnote": GIVEN["notices"][2],
        "forum_address": f"https://{GIVEN['host']}/",
        "enable_jumbotron": RNG.random() < 0.3,
    }
    profile = Thing(name="", title=GIVEN["title"], description=GIVEN["tagline"])
    return {
        "site": Thing(name=GIVEN["title"], profile=profile, domain=GIVEN["host"]),
        "settings": look,
        "theme": {"include_defaults": True},
        "url_name": "misago:thread",
        "FORUM_BASE_NAME": GIVEN["title"],
        "SITE_NAME": GIVEN["title"],
        "NAVBAR": {},
        "PYBB_TEMPLATE": "base.html",
        "MACHINA_BASE_TEMPLATE_NAME": "base.html",
        "PYBB_DEFAULT_TITLE": GIVEN["title"],
        "PYBB_DEFAULT_AVATAR_URL": "/static/pybb/img/default_avatar.jpg",
        "LANGUAGE_CODE": GIVEN["language"],
        "navbar_menu": [{"title": name, "url": "/x/"} for name in GIVEN["sections"]],
        "authenticated_request": GIVEN["member"],
    }


def context_of(topic: Thing, page: object, viewer: Thing) -> dict[str, object]:
    """What a template is given."""
    pages = page.paginator
    page.pages = list(pages.page_range)
    shown = list(page)
    return {
        **site_of(),
        **dict.fromkeys(("topic", "thread", "thread_instance"), topic),
        **dict.fromkeys(("forum", "category", "category_instance"), topic.forum),
        **dict.fromkeys(("posts", "post_list", "object_list"), shown),
        "page_obj": page,
        "paginator": turns_of(page),
        "is_paginated": pages.num_pages > 1,
        "page": page.number,
        "pages": pages.num_pages,
        "page_numbers": page.pages,
        "has_previous": page.has_previous(),
        "has_next": page.has_next(),
        "previous": page.number - 1,
        "start_number": page.start_index(),
        "user": viewer,
        "request": Thing(name="", user=viewer, get_full_path=topic.get_absolute_url, resolver_match=None),
        "forum_name": topic.forum.name,
        "suggested_topics": GIVEN["suggested"],
    }


def main() -> None:
    """Print pages of each thread."""
    engine = configure()
    template = engine.get_template(GIVEN["template"])
    viewer = user(GIVEN["owner"]) if GIVEN["member"] else Thing(name="", username="", is_authenticated=False)
    topics = [topic_of(thread, at) for at, thread in enumerate(GIVEN["documents"])]
    GIVEN["suggested"] = topics[:4] if RNG.random() < 0.5 else []
    for thread, topic in zip(GIVEN["documents"], topics, strict=True):
        posts = posts_of(thread, topic)
        nested = nest(thread, posts)
        fill(topic, posts)
        GIVEN["shown_title"] = topic.title
        size = GIVEN["per_page"] if GIVEN["paged"] else len(posts)
        skipped = 1 if GIVEN["first_apart"] else 0
        pages = Paginator(posts[skipped:], size)
        for start in starts(len(posts), size):
            page = pages.get_page(start // size + 1)
            shown = [*range(skipped), *(post.index for post in page)]
            context = Context(context_of(topic, page, viewer))
            path = topic.get_absolute_url + (f"?page={page.number}" if page.number > 1 else "")
            text = CLOSED.sub(r"\1>", template.render(context))
            emit(thread["slug"], path, text, nested if GIVEN["nested"] else shown)


main()
