# mypy: ignore-errors
"""Askbot: questions, answers and comments; runs in the environment of ``boards.py``."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import django
from django.core.management import call_command
from drive_common import GIVEN, RNG, emit

SETTINGS = """
from shown.settings import *
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
ALLOWED_HOSTS = ["*"]
SECRET_KEY = "none"
CACHES = {name: {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"} for name in ("default", "staticfiles")}
EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
CELERY_TASK_ALWAYS_EAGER = True
COMPRESS_ENABLED = False
LOGGING_CONFIG = None
"""


def configure() -> None:
    """Set Django up with the project that the program makes."""
    here = Path(sys.executable).parent
    path = {**os.environ, "PATH": f"{here}:{os.environ['PATH']}"}
    options = {
        "root-directory": ".",
        "proj-name": "shown",
        "db-engine": "sqlite",
        "db-name": ":memory:",
        "admin-name": "a",
        "admin-email": "a@example.org",
        "domain-name": GIVEN["host"],
        "language-code": GIVEN["language"],
    }
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    subprocess.run(
        [str(here / "askbot-setup"), *words, "--noinput", "--force"],
        check=True,
        capture_output=True,
        env=path,
    )
    Path("rendering.py").write_text(SETTINGS)
    sys.path.insert(0, str(Path.cwd()))
    os.environ["DJANGO_SETTINGS_MODULE"] = "rendering"
    django.setup()
    call_command("migrate", verbosity=0)


def main() -> None:
    """Fill the site and print each question's page."""
    configure()
    from askbot import const  # noqa: PLC0415
    from askbot.conf import settings  # noqa: PLC0415
    from askbot.tests.utils import create_user  # noqa: PLC0415
    from django.test import Client  # noqa: PLC0415

    settings.update("APP_TITLE", GIVEN["title"])
    settings.update("MAX_COMMENTS_TO_SHOW", 1000)
    settings.update("LIMIT_ONE_ANSWER_PER_USER", value=False)
    const.ANSWERS_PAGE_SIZE = 1000
    users = {}

    def user(name: str) -> object:
        if name not in users:
            users[name] = create_user(
                f"{name}{len(users)}", f"u{len(users)}@example.org", reputation=5000, status="a"
            )
        return users[name]

    client = Client(HTTP_HOST=GIVEN["host"], HTTP_ACCEPT_LANGUAGE=GIVEN["language"])
    paths = {}
    for thread in GIVEN["documents"]:
        tops, below = [], {0: []}
        made = {}
        for at, post in enumerate(thread["posts"]):
            date = datetime.fromisoformat(post["date"]).replace(tzinfo=None)
            author = user(post["author"])
            if at == 0:
                tags = " ".join(tag.replace(" ", "-") for tag in thread["tags"]) or "general"
                made[0] = author.post_question(
                    title=thread["title"], body_text=post["body"], tags=tags, timestamp=date
                )
                continue
            parent = post["parent"] if post["parent"] in below else 0
            if parent == 0 and RNG.random() < 0.7:
                made[at] = author.post_answer(question=made[0], body_text=post["body"], timestamp=date)
                tops.append(at)
                below[at] = []
            else:
                author.post_comment(parent_post=made[parent], body_text=post["body"], timestamp=date)
                below[parent].append(at)
        shown = [0, *below[0]] + [at for top in tops for at in (top, *below[top])]
        paths[thread["slug"]] = (made[0].get_absolute_url(), shown)
    for slug, (path, shown) in paths.items():
        answer = client.get(f"{path}?sort=oldest")
        if answer.status_code == 200:
            emit(slug, path, answer.content.decode(), shown)
        else:
            print(path, answer.status_code, file=sys.stderr)


main()
