"""Sites, and pages on them: a story in a shell, after the listed changes."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from scripts.samplesupport.tables import SOURCES, read_rows

if TYPE_CHECKING:
    from scripts.samplesupport.stories import Para, Story


@dataclass(frozen=True)
class Site:
    """A web site: its shell has the same name."""

    name: str
    label: str
    url: str
    lang: str
    style: str
    charset: str


@dataclass
class Page:
    """One page to be written: a story in a shell, after the listed changes."""

    ident: str
    site: Site
    story: Story
    paras: list[Para]
    title: str
    shell: str
    charset: str
    declared: str
    date: str
    bom: bool = False
    ops: list[str] = field(default_factory=list)

    @property
    def main_text(self) -> str:
        """The true main text: paragraphs joined by newlines, without notices and credits."""
        return "\n".join(p.text for p in self.paras if p.kind not in "nc")


@cache
def load_sites() -> dict[str, Site]:
    """All sites by name."""
    return {row[0]: Site(*row) for row in read_rows(SOURCES / "sites.txt", 6)}
