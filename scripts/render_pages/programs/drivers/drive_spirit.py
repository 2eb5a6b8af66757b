# mypy: ignore-errors
"""Spirit: a forum; runs in the environment of ``boards.py``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import django
from django.core.management import call_command
from drive_common import GIVEN, emit_thread

SETTINGS = """
from shown.settings.base import *
SECRET_KEY = "none"
ALLOWED_HOSTS = ["*"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
CACHES = {name: {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"} for name in CACHES}
HAYSTACK_SIGNAL_PROCESSOR = "haystack.signals.BaseSignalProcessor"
ST_TASK_MANAGER = None
LOGGING = {}
ST_SITE_URL = "https://{host}/"
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
"""


def configure() -> None:
    """Set Django up with the project that the program makes."""
    bin_folder = Path(sys.executable).parent
    path = {**os.environ, "PATH": f"{bin_folder}:{os.environ['PATH']}"}
    subprocess.run(
        [str(bin_folder / "spirit"), "startproject", "shown"], check=True, capture_output=True, env=path
    )
    sys.path.insert(0, str(Path.cwd() / "shown"))
    Path("shown/shown/settings/rendering.py").write_text(SETTINGS.replace("{host}", GIVEN["host"]))
    os.environ["DJANGO_SETTINGS_MODULE"] = "shown.settings.rendering"
    django.setup()
    call_command("migrate", verbosity=0)


def fill() -> dict[str, str]:
    """Make categories, topics and comments; the address of each topic by its slug."""
    from django.contrib.auth.models import User  # noqa: PLC0415
    from djconfig.models import Config  # noqa: PLC0415
    from spirit.category.models import Category  # noqa: PLC0415
    from spirit.comment.models import Comment  # noqa: PLC0415
    from spirit.core.utils.markdown import Markdown  # noqa: PLC0415
    from spirit.topic.models import Topic  # noqa: PLC0415

    values = {
        "site_name": GIVEN["title"],
        "site_description": GIVEN["tagline"],
        "comments_per_page": GIVEN["per_page"],
    }
    for key, value in values.items():
        Config.objects.update_or_create(key=key, defaults={"value": str(value)})
    users = {}

    def user(name: str) -> User:
        if name not in users:
            users[name] = User.objects.create(username=f"u{len(users)}", email=f"u{len(users)}@example.org")
            users[name].st.nickname = name
            users[name].st.save()
        return users[name]

    user(GIVEN["owner"])
    categories = [Category.objects.create(title=name) for name in GIVEN["sections"]]
    paths = {}
    for at, thread in enumerate(GIVEN["documents"]):
        topic = Topic.objects.create(
            title=thread["title"],
            user=user(thread["author"]),
            category=categories[at % len(categories)],
            date=thread["date"],
            view_count=at * 37 % 900,
            comment_count=len(thread["posts"]),
        )
        for post in thread["posts"]:
            shown = Markdown().render(post["body"])
            Comment.objects.create(
                user=user(post["author"]),
                topic=topic,
                comment=post["body"],
                comment_html=shown,
                date=post["date"],
            )
        paths[thread["slug"]] = Topic.objects.get(pk=topic.pk).get_absolute_url()
    return paths


def main() -> None:
    """Print pages of each topic."""
    configure()
    paths = fill()
    from django.contrib.auth.models import User  # noqa: PLC0415
    from django.test import Client  # noqa: PLC0415

    client = Client(HTTP_HOST=GIVEN["host"], HTTP_ACCEPT_LANGUAGE=GIVEN["language"])
    if GIVEN["member"]:
        client.force_login(User.objects.get(username="u0"), "spirit.user.auth.backends.UsernameAuthBackend")
    for thread in GIVEN["documents"]:
        emit_thread(client, thread, paths[thread["slug"]], GIVEN["per_page"])


main()
