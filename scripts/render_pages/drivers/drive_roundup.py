# mypy: ignore-errors
"""Roundup: issues with messages, in its templates; runs in the environment of ``programs.py``."""

from __future__ import annotations

import shutil
import sys
from datetime import datetime
from pathlib import Path

from drive_common import GIVEN, RNG, ask, emit
from roundup import configuration, init, instance, password
from roundup.cgi.wsgi_handler import RequestDispatcher
from roundup.date import Date

HOME = str(Path.cwd() / "home")
TEMPLATES = Path(sys.prefix) / "share/roundup/templates"
LAST_FIRST = {"classic", "jinja2"}
"""Templates that show the last message first."""


def configure() -> instance.Tracker:
    """Make a tracker from the template; names of users may have all characters."""
    init.install(HOME, str(TEMPLATES / GIVEN["theme"]))
    shutil.rmtree(f"{HOME}/detectors")
    Path(HOME, "detectors").mkdir()
    values = {
        "TRACKER_WEB": f"https://{GIVEN['host']}/",
        "TRACKER_NAME": GIVEN["title"],
        "MAIL_DOMAIN": "example.org",
        "MAILHOST": "localhost",
        "RDBMS_BACKEND": "sqlite",
        "TEMPLATE_ENGINE": "jinja2" if GIVEN["theme"] == "jinja2" else "zopetal",
    }
    config = configuration.CoreConfig()
    for key, value in values.items():
        config[key] = value
    config.save(f"{HOME}/config.ini")
    tracker = instance.open(HOME)
    tracker.init(password.Password("none", config=tracker.config))
    return tracker


def fill(tracker: instance.Tracker) -> dict[str, str]:
    """Make the issues; the address of each by its slug."""
    database = tracker.open("admin")
    kind = "issue" if "issue" in database.getclasses() else "bug"
    issues = database.getclass(kind)
    choices = {
        name: [prop.classname, database.getclass(prop.classname).list()]
        for name, prop in issues.getprops(protected=False).items()
        if getattr(prop, "classname", "") in {"priority", "status", "severity", "resolution", "component"}
    }
    users = {}

    def user(name: str) -> str:
        if name not in users:
            users[name] = database.user.create(username=name)
        return users[name]

    paths = {}
    for thread in GIVEN["documents"]:
        messages = []
        for post in thread["posts"]:
            date = Date(f"{datetime.fromisoformat(post['date']):%Y-%m-%d.%H:%M:%S}")
            messages.append(database.msg.create(author=user(post["author"]), date=date, content=post["body"]))
        values = {
            name: [RNG.choice(keys)] if name.endswith("s") and name != "status" else RNG.choice(keys)
            for name, (_classname, keys) in choices.items()
            if keys and RNG.random() < 0.7
        }
        people = RNG.sample(sorted(users.values()), min(len(users), 3))
        number = issues.create(title=thread["title"], messages=messages, nosy=people, **values)
        paths[thread["slug"]] = f"/{kind}{number}"
    database.commit()
    database.close()
    return paths


def main() -> None:
    """Print the page of each issue."""
    paths = fill(configure())
    application = RequestDispatcher(HOME)
    for thread in GIVEN["documents"]:
        order = list(range(len(thread["posts"])))
        if GIVEN["theme"] in LAST_FIRST:
            order.reverse()
        path = paths[thread["slug"]]
        emit(thread["slug"], path, ask(application, path), order)


main()
