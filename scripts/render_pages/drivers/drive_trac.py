# mypy: ignore-errors
"""Trac: tickets with comments; runs in the environment of ``programs.py``."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from drive_common import GIVEN, RNG, ask, emit
from trac.env import Environment
from trac.perm import PermissionSystem
from trac.ticket.model import Component, Milestone, Ticket
from trac.web.main import dispatch_request

HERE = Path.cwd() / "env"
STATES = ("accepted", "assigned", "closed", "reopened")


def configure() -> Environment:
    """Make an environment with the names of the site."""
    options = [
        ("project", "name", GIVEN["title"]),
        ("project", "descr", GIVEN["tagline"]),
        ("project", "footer", GIVEN["notices"][0]),
        ("project", "url", f"https://{GIVEN['host']}/"),
        ("trac", "database", "sqlite:db/trac.db"),
        ("trac", "base_url", f"https://{GIVEN['host']}"),
        ("trac", "default_language", GIVEN["language"]),
        ("wiki", "ignore_missing_pages", "true"),
        ("header_logo", "alt", GIVEN["title"]),
        ("ticket", "preserve_newlines", "true"),
        ("timeline", "abbreviated_messages", "true"),
        ("trac", "show_email_addresses", "true"),
    ]
    if RNG.random() < 0.5:
        options.append(("trac", "default_dateinfo_format", "absolute"))
    env = Environment(str(HERE), create=True, options=options)
    rights = PermissionSystem(env)
    for right in ("TICKET_APPEND", "TICKET_CHGPROP"):
        if RNG.random() < 0.4:
            rights.grant_permission("anonymous", right)
    for name in GIVEN["sections"]:
        part = Component(env)
        part.name = name
        part.insert()
        milestone = Milestone(env)
        milestone.name = name
        milestone.insert()
    return env


def fill(env: Environment) -> dict[str, int]:
    """Make the tickets; the number of each by its slug."""
    numbers = {}
    for thread in GIVEN["documents"]:
        first, *rest = thread["posts"]
        ticket = Ticket(env)
        ticket["reporter"] = first["author"]
        ticket["summary"] = thread["title"]
        ticket["description"] = first["body"]
        ticket["component"] = RNG.choice(GIVEN["sections"])
        ticket["keywords"] = " ".join(thread["tags"])
        ticket["status"] = "new"
        ticket["type"] = RNG.choice(("defect", "enhancement", "task"))
        ticket["priority"] = RNG.choice(("blocker", "major", "minor"))
        numbers[thread["slug"]] = ticket.insert(when=datetime.fromisoformat(first["date"]))
        for post in rest:
            if RNG.random() < 0.3:
                ticket["owner"] = RNG.choice(rest)["author"]
            if RNG.random() < 0.15:
                ticket["status"] = RNG.choice(STATES)
            if RNG.random() < 0.1:
                ticket["milestone"] = RNG.choice(GIVEN["sections"])
            ticket.save_changes(post["author"], post["body"], when=datetime.fromisoformat(post["date"]))
    return numbers


def main() -> None:
    """Print the page of each ticket."""
    numbers = fill(configure())
    for thread in GIVEN["documents"]:
        path = f"/ticket/{numbers[thread['slug']]}"
        emit(
            thread["slug"],
            path,
            ask(dispatch_request, path, {"trac.env_path": str(HERE)}),
            list(range(len(thread["posts"]))),
        )


main()
