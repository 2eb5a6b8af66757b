"""Features of pages in words: of one page, and of two beside each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from es_dedup.model.explanation import format_number
from es_dedup.model.translations import ENGLISH, translate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_dedup.detectors.named_fields import PageFeatures

MOST_VALUES: Final = 30
"""Values of a field that are written out for people; JSON has all."""


@dataclass(frozen=True, slots=True)
class FieldPair:
    """One field of two pages.

    Attributes:
        name: of the field.
        shared: values that both have; of a list of objects with what each page has there.
        left, right: values of one page alone; equal single values are shared.
    """

    name: str
    shared: tuple[str, ...]
    left: tuple[str, ...]
    right: tuple[str, ...]


def feature_rows(page: PageFeatures, *, language: str = ENGLISH) -> list[tuple[str, str]]:
    """Names and values of all that is known of a page, in reading order.

    Args:
        page: its features.
        language: of the names that are no names of fields.
    """
    rows = [
        ("title", page.title),
        ("origin", page.origin),
        ("length", format_number(page.length)),
        ("content_hash", page.content_hash),
    ]
    for name, value in page.fields.items():
        if isinstance(value, list):
            shown = listed(list(values(value).values()), language=language)
            rows.append((f"{name} ({len(value):,})", shown))
        else:
            rows.append((name, str(value)))
    coverage = (f"{format_number(count)} {name}" for name, count in page.coverage.items())
    rows.append(("coverage", ", ".join(coverage)))
    template = "nothing to compare ({reason})"
    rows += [
        (method, translate(language, template, reason=reason)) for method, reason in page.skipped.items()
    ]
    if page.missing:
        names = ", ".join(page.missing)
        rows.append(("missing", translate(language, "{names}: the text is not kept", names=names)))
    return [(translate(language, name), text) for name, text in rows if text]


def compared_fields(left: PageFeatures, right: PageFeatures) -> list[FieldPair]:
    """The fields that either page has, side by side, in alphabetical order."""
    return [
        _pair(name, values(left.fields.get(name)), values(right.fields.get(name)))
        for name in sorted(left.fields.keys() | right.fields.keys())
    ]


def values(value: Any) -> dict[str, str]:
    """What a field holds, ready to print, by what identifies it: a value itself, or the first member of an object."""
    if value is None:
        return {}
    found: dict[str, str] = {}
    for each in value if isinstance(value, list) else [value]:
        if isinstance(each, dict):
            key, *rest = map(_text, each.values())
            found[key] = " ".join((key, *rest))
        else:
            found[str(each)] = str(each)
    return found


def listed(texts: Sequence[str], most: int = MOST_VALUES, *, language: str = ENGLISH) -> str:
    """The first texts of a list, separated, and how many more there are."""
    more = translate(language, "{count} more", count=f"{len(texts) - most:,}")
    return " | ".join(texts[:most]) + (f" … {more}" if len(texts) > most else "")


def _pair(name: str, left: dict[str, str], right: dict[str, str]) -> FieldPair:
    shared = tuple(
        text if right[key] == text else f"{text} ~{right[key].removeprefix(key)}"
        for key, text in left.items()
        if key in right
    )
    return FieldPair(
        name,
        shared,
        tuple(text for key, text in left.items() if key not in right),
        tuple(text for key, text in right.items() if key not in left),
    )


def _text(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)
