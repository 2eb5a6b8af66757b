"""Forms: what people fill in, and buttons."""

from __future__ import annotations

from typing import TYPE_CHECKING

from es_dedup.batch.journal import MAX_CHARS
from es_dedup.model.translations import translate
from es_dedup.views.markup import element, escape

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def button(language: str, text: str, *content: str, **attributes: object) -> str:
    """A button with a text of the console, and markup after it."""
    return element("button", escape(translate(language, text)), *content, **attributes)


def labelled(language: str, text: str, field: str) -> str:
    """A field below its label."""
    return element("label", escape(translate(language, text)), field)


def entry(name: str, kind: str = "text", **attributes: object) -> str:
    """An input field with attributes by name; those that are True have no value."""
    given = {"type": kind, "name": name, **attributes}
    shown = (f" {key}" if value is True else f' {key}="{escape(value)}"' for key, value in given.items())
    return f"<input{''.join(shown)}>"


def check(language: str, name: str, text: str, **attributes: object) -> str:
    """A box to be ticked, with its text behind it."""
    box = entry(name, "checkbox", value="true", **attributes)
    return element("label", box, " ", escape(translate(language, text)), class_="check")


def select(name: str, options: Iterable[tuple[str, str]], chosen: str = "") -> str:
    """A choice of one value; each option has its value and its text."""
    shown = (
        element("option", escape(text), value=value, selected="" if value == chosen else None)
        for value, text in options
    )
    return element("select", *shown, name_=name)


def hidden(names: Mapping[str, object]) -> str:
    """Hidden fields."""
    return "".join(entry(name, "hidden", value=value) for name, value in names.items())


def reason_and_author(language: str) -> Iterable[str]:
    """Fields for why something is decided, and by whom."""
    for name, text in (("reason", "Reason"), ("author", "Name")):
        yield labelled(language, text, entry(name, required=True, maxlength=MAX_CHARS))
