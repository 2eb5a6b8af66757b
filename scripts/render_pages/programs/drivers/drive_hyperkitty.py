# mypy: ignore-errors
"""HyperKitty: the archive of Mailman 3; runs in the environment of ``archives.py``."""

from __future__ import annotations

import email
import os
import sys
from email import policy
from pathlib import Path

import django
from django.core.management import call_command
from drive_common import GIVEN, RNG, emit

SETTINGS = """
from hyperkitty.tests.settings_test import *
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
ALLOWED_HOSTS = ["*"]
DEBUG = False
SECRET_KEY = "none"
COMPRESS_ENABLED = False
HYPERKITTY_BATCH_MODE = True
Q_CLUSTER = {"name": "q", "orm": "default", "sync": True}
HAYSTACK_CONNECTIONS = {"default": {"ENGINE": "haystack.backends.simple_backend.SimpleEngine"}}
LOGGING = {}
"""


def main() -> None:
    """Archive the mails, then print each thread's page."""
    Path("rendering.py").write_text(SETTINGS)
    sys.path.insert(0, str(Path.cwd()))
    os.environ["DJANGO_SETTINGS_MODULE"] = "rendering"
    django.setup()
    call_command("migrate", verbosity=0)
    from django.test import Client  # noqa: PLC0415
    from hyperkitty.lib.analysis import compute_thread_order_and_depth  # noqa: PLC0415
    from hyperkitty.lib.incoming import add_to_list  # noqa: PLC0415
    from hyperkitty.models import Email, MailingList  # noqa: PLC0415

    name = f"list@{GIVEN['host']}"
    MailingList.objects.create(name=name, display_name=GIVEN["title"], description=GIVEN["tagline"])
    client = Client(HTTP_HOST=GIVEN["host"], HTTP_ACCEPT_LANGUAGE=GIVEN["language"])
    for thread in GIVEN["documents"]:
        keys = {}
        for at, mail in enumerate(thread["mails"]):
            add_to_list(name, email.message_from_string(mail, policy=policy.default), from_import=True)
            keys[f"{thread['slug']}.{at}@{GIVEN['host']}"] = at
        first = Email.objects.get(message_id=f"{thread['slug']}.0@{GIVEN['host']}")
        compute_thread_order_and_depth(first.thread)
        order = RNG.choice(("thread", "date"))
        column = "thread_order" if order == "thread" else "date"
        rest = first.thread.emails.exclude(pk=first.pk).order_by(column).values_list("message_id", flat=True)
        path = f"/list/{name}/thread/{first.thread.thread_id}/?sort={order}"
        answer = client.get(path)
        if answer.status_code == 200:
            emit(thread["slug"], path, answer.content.decode(), [0, *(keys[key] for key in rest)])
        else:
            print(path, answer.status_code, file=sys.stderr)


main()
