"""What is said to people in the languages of the console: English texts and their Chinese translations.

Command line, report and console use the same texts. Texts with values in them are templates of ``str.format``.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

ENGLISH: Final = "en"
CHINESE: Final = "zh"
LANGUAGES: Final = (ENGLISH, CHINESE)
_FIELD: Final = re.compile(r"\{(\w+)\}")


def translate(language: str, text: str, **given: object) -> str:
    """A text in a language, with its fields filled in; English where there is no other."""
    template = catalogue().get(text, text) if language == CHINESE else text
    return template.format(**given) if given else template


def translate_filled(language: str, text: str) -> str:
    """An English text that was made of a template, in a language; as it is where no template fits."""
    if language != CHINESE or text in catalogue():
        return translate(language, text)
    for pattern, template in _patterns():
        if found := pattern.fullmatch(text):
            given = {name: translate_filled(language, value) for name, value in found.groupdict().items()}
            return template.format(**given)
    return text


@cache
def catalogue() -> Mapping[str, str]:
    """Chinese texts by the English ones."""
    found: dict[str, str] = json.loads(Path(__file__).with_name("chinese.json").read_text("utf-8"))
    return found


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    """What matches texts made of a template, with the Chinese template; those with most words of their own first."""
    parts = {text: _FIELD.split(text) for text in catalogue() if "{" in text}
    own = {text: "".join(each[::2]) for text, each in parts.items() if len({*each[1::2]}) == len(each) // 2}
    texts = sorted(
        (text for text in own if any(map(str.isalpha, own[text]))), key=lambda text: -len(own[text])
    )
    return tuple((_pattern(parts[text]), catalogue()[text]) for text in texts)


def _pattern(parts: list[str]) -> re.Pattern[str]:
    """A pattern of texts and, between them, names of fields."""
    each = (f"(?P<{part}>.+?)" if at % 2 else re.escape(part) for at, part in enumerate(parts))
    return re.compile("".join(each), re.DOTALL)


def accepted_language(accepted: str) -> str:
    """The language for a header ``Accept-Language``: the first that is known, else English."""
    for part in accepted.split(","):
        language = part.partition(";")[0].strip().lower().partition("-")[0]
        if language in LANGUAGES:
            return language
    return ENGLISH
