# mypy: ignore-errors
"""django-machina: a forum; runs in the environment of ``boards.py``."""

from __future__ import annotations

import sys
from pathlib import Path

import django
from django.conf import settings
from django.core.management import call_command
from drive_common import GIVEN, emit_thread

HERE = Path.cwd()


def templates(folder: str) -> dict[str, object]:
    """The setting TEMPLATES of the program's guide."""
    processors = [
        f"django.template.context_processors.{name}" for name in ("debug", "request", "i18n", "static")
    ]
    processors += [
        "django.contrib.auth.context_processors.auth",
        "django.contrib.messages.context_processors.messages",
    ]
    loaders = ["django.template.loaders.filesystem.Loader", "django.template.loaders.app_directories.Loader"]
    return {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [folder],
        "OPTIONS": {
            "context_processors": [*processors, "machina.core.context_processors.metadata"],
            "loaders": loaders,
        },
    }


def configure() -> None:
    """Set Django up with the settings of the program's guide."""
    import machina  # noqa: PLC0415 - it has no settings before

    apps = [
        "forum",
        "forum_conversation",
        "forum_conversation.forum_attachments",
        "forum_conversation.forum_polls",
    ]
    apps += [
        "forum_feeds",
        "forum_moderation",
        "forum_search",
        "forum_tracking",
        "forum_member",
        "forum_permission",
    ]
    settings.configure(
        DEBUG=False,
        SECRET_KEY="none",  # noqa: S106 - nobody else sees this server
        ALLOWED_HOSTS=["*"],
        ROOT_URLCONF="urls",
        LANGUAGE_CODE=GIVEN["language"],
        USE_TZ=True,
        STATIC_URL="/static/",
        DEFAULT_AUTO_FIELD="django.db.models.AutoField",
        INSTALLED_APPS=[
            *[
                f"django.contrib.{name}"
                for name in ("admin", "auth", "contenttypes", "sessions", "messages", "staticfiles")
            ],
            "mptt",
            "haystack",
            "widget_tweaks",
            "machina",
            *[f"machina.apps.{name}" for name in apps],
        ],
        MIDDLEWARE=[
            "django.contrib.sessions.middleware.SessionMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware",
            "django.contrib.messages.middleware.MessageMiddleware",
            "machina.apps.forum_permission.middleware.ForumPermissionMiddleware",
        ],
        TEMPLATES=[templates(machina.MACHINA_MAIN_TEMPLATE_DIR)],
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
        CACHES={
            "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},
            "machina_attachments": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},
        },
        HAYSTACK_CONNECTIONS={"default": {"ENGINE": "haystack.backends.simple_backend.SimpleEngine"}},
        MACHINA_FORUM_NAME=GIVEN["title"],
        MACHINA_TOPIC_POSTS_NUMBER_PER_PAGE=GIVEN["per_page"],
    )
    lines = "from django.urls import include, path\nfrom machina import urls\nurlpatterns = [path('', include(urls))]\n"
    (HERE / "urls.py").write_text(lines)
    sys.path.insert(0, str(HERE))
    django.setup()
    call_command("migrate", verbosity=0)


def fill() -> dict[str, int]:
    """Make forums, topics, posts, polls and signatures; the key of each topic by its slug."""
    from django.contrib.auth.models import User  # noqa: PLC0415
    from machina.apps.forum.models import Forum  # noqa: PLC0415
    from machina.apps.forum_conversation.forum_polls.models import TopicPoll, TopicPollOption  # noqa: PLC0415
    from machina.apps.forum_conversation.models import Post, Topic  # noqa: PLC0415
    from machina.apps.forum_member.models import ForumProfile  # noqa: PLC0415
    from machina.apps.forum_permission.models import ForumPermission, UserForumPermission  # noqa: PLC0415

    for code in (
        "can_see_forum",
        "can_read_forum",
        "can_start_new_topics",
        "can_reply_to_topics",
        "can_vote_in_polls",
    ):
        permission = ForumPermission.objects.get(codename=code)
        UserForumPermission.objects.create(permission=permission, anonymous_user=True, has_perm=True)
        UserForumPermission.objects.create(permission=permission, authenticated_user=True, has_perm=True)
    users = {}

    def user(name: str, signature: str = "") -> User:
        if name not in users:
            users[name] = User.objects.create(username=name)
        if signature:
            ForumProfile.objects.update_or_create(user=users[name], defaults={"signature": signature})
        return users[name]

    user(GIVEN["owner"])
    forums = [Forum.objects.create(name=name, type=Forum.FORUM_POST) for name in GIVEN["sections"]]
    keys = {}
    for at, thread in enumerate(GIVEN["documents"]):
        forum = forums[at % len(forums)]
        topic = Topic.objects.create(
            forum=forum,
            poster=user(thread["author"]),
            subject=thread["title"],
            type=0,
            status=0,
            approved=True,
        )
        for post in thread["posts"]:
            made = Post.objects.create(
                topic=topic,
                poster=user(post["author"], post["signature"]),
                subject=thread["title"],
                content=post["body"],
                approved=True,
            )
            Post.objects.filter(pk=made.pk).update(created=post["date"], updated=post["date"])
        if thread["poll"]:
            poll = TopicPoll.objects.create(topic=topic, question=thread["poll"][0])
            for option in thread["poll"][1:]:
                TopicPollOption.objects.create(poll=poll, text=option)
        keys[thread["slug"]] = topic.pk
    return keys


def main() -> None:
    """Print the first pages of each topic."""
    configure()
    keys = fill()
    from django.contrib.auth.models import User  # noqa: PLC0415
    from django.test import Client  # noqa: PLC0415
    from machina.apps.forum_conversation.models import Topic  # noqa: PLC0415

    client = Client(HTTP_HOST=GIVEN["host"], HTTP_ACCEPT_LANGUAGE=GIVEN["language"])
    if GIVEN["member"]:
        client.force_login(User.objects.get(username=GIVEN["owner"]))
    for thread in GIVEN["documents"]:
        topic = Topic.objects.get(pk=keys[thread["slug"]])
        path = f"/forum/{topic.forum.slug}-{topic.forum.pk}/topic/{topic.slug}-{topic.pk}/"
        emit_thread(client, thread, path, GIVEN["per_page"])


main()
