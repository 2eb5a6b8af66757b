"""Stories: articles as they were written, before any change."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from scripts.samplesupport.tables import SOURCES

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Para:
    """One paragraph: ``p`` text, ``h`` sub-heading, ``q`` quotation, ``n`` site notice, ``c`` credit."""

    kind: str
    text: str


@dataclass(frozen=True)
class Story:
    """An article as it was written, before any change."""

    name: str
    lang: str
    title: str
    date: str
    author: str
    paras: tuple[Para, ...]


def parse_story(name: str, lang: str, text: str) -> Story:
    """Read ``key: value`` lines up to the first blank line, then paragraphs."""
    head, _, body = text.strip("\n").partition("\n\n")
    meta = dict(re.split(r":\s*", line, maxsplit=1) for line in head.splitlines())
    paras = tuple(Para("p", " ".join(p.split("\n"))) for p in body.strip().split("\n\n") if p.strip())
    return Story(
        name,
        lang,
        meta["title"].strip(),
        meta.get("date", "").strip() or "2026-01-01",
        meta.get("author", "").strip(),
        paras,
    )


def parse_file(path: Path, lang: str) -> dict[str, Story]:
    """Stories of one file: the whole file, or the records that begin with ``=== name``."""
    text = path.read_text("utf-8")
    if not text.startswith("=== "):
        return {path.stem: parse_story(path.stem, lang, text)}
    stories = {}
    for record in re.split(r"^=== ", text, flags=re.MULTILINE)[1:]:
        name, _, rest = record.partition("\n")
        stories[name.strip()] = parse_story(name.strip(), lang, rest)
    return stories


@cache
def load_stories() -> dict[str, Story]:
    """All stories of both languages by name."""
    stories: dict[str, Story] = {}
    for lang in ("zh", "en"):
        for path in sorted((SOURCES / lang).glob("*.md")):
            found = parse_file(path, lang)
            if twice := stories.keys() & found.keys():
                raise SystemExit(f"story defined twice: {sorted(twice)}")
            stories.update(found)
    return stories


@cache
def load_extra(name: str) -> dict[str, Story]:
    """Blocks or site notices by name."""
    return parse_file(SOURCES / f"{name}.md", "")


def expand(story: Story) -> list[Para]:
    """Replace ``@include``, ``@quote`` and ``@notice`` lines by the text that they name."""
    result: list[Para] = []
    for para in story.paras:
        if not para.text.startswith("@"):
            result.append(para)
            continue
        command, name, *numbers = para.text.split()
        if command == "@notice":
            result += [Para("n", p.text) for p in load_extra("notices")[name].paras]
            continue
        other = load_stories()[name]
        paras = expand(other)
        if command == "@include":
            result += [Para("h", other.title), *paras]
        elif numbers == ["all"]:
            result += [replace(p, kind="q") for p in paras]
        else:
            result += [replace(paras[int(n) - 1], kind="q") for n in numbers]
    return result
