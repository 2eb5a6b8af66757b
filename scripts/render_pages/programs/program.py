"""What this generator needs to know of a program, and the choice of its languages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from scripts.render_pages.composing import Shape
    from scripts.render_pages.installing import Work
    from scripts.render_pages.model import Page, Site

MIXED: Final = {"zh": 5, "zh-hant": 2, "en": 2, "ja": 1, "de": 0.7, "fr": 0.7, "ru": 0.7}
"""How often a site is in each language, unless the program says otherwise."""


@dataclass(frozen=True, slots=True)
class Program:
    """A program that renders pages.

    Attributes:
        name: as in the names of files.
        licence: of the program; SPDX, or as its package says.
        packages: with pinned versions, for the README.
        themes: licence of each theme by its name.
        shape: what documents it can show.
        render: builds one site and returns its pages; documents that the program did not show are left out.
        languages: weights.
        per_site: most pages of one site, or 0 for what the command line says.
    """

    name: str
    licence: str
    packages: tuple[str, ...]
    themes: Mapping[str, str]
    shape: Shape
    render: Callable[[Site, Work], Iterator[Page]]
    languages: Mapping[str, float] = field(default_factory=lambda: MIXED)
    per_site: int = 0
