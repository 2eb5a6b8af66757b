"""Decisions of people that go before the rules."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from es_dedup.model.translations import ENGLISH, translate


class OverrideKind(StrEnum):
    """What was decided.

    Two pages never share a cluster, two pages always do, a page is the canonical document of its cluster, or a passage of a site
    never counts.
    """

    DIFFERENT = "different"
    SAME = "same"
    CANONICAL = "canonical"
    IGNORE = "ignore"


@dataclass(frozen=True, slots=True)
class Override:
    """One decision of a person, with its record.

    Attributes:
        id: unique in an index.
        kind: what was decided.
        pages: ids of the two pages, ascending; of the one page for ``canonical``; none for ``ignore``.
        reason, author: as given; not empty.
        time: when it was decided, ISO 8601 in UTC, to the microsecond.
        undone: when it was undone; empty while it is in force.
        undone_by, undone_reason: who undid it, and why; may be empty.
        site, text: of ``ignore``, a site as pages name it and a passage; else empty.
    """

    id: str
    kind: OverrideKind
    pages: tuple[str, ...]
    reason: str
    author: str
    time: str
    undone: str = ""
    undone_by: str = ""
    undone_reason: str = ""
    site: str = ""
    text: str = ""

    @property
    def key(self) -> str:
        """Its id: what is recorded later under the same id takes its place."""
        return self.id

    @property
    def subject(self) -> tuple[object, ...]:
        """What it decides on, and how: of two with the same subject one is enough."""
        return self.kind, self.pages, self.site, self.text

    @property
    def about(self) -> str:
        """The pages, or the site and its passage, in words."""
        return " ".join(self.pages) or f"{self.site}: {self.text}"

    @property
    def in_force(self) -> bool:
        """Whether it has not been undone."""
        return not self.undone

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready form, without empty fields but ``pages``."""
        values = {name: getattr(self, name) for name in self.__slots__} | {"pages": list(self.pages)}
        return {name: value for name, value in values.items() if value or name == "pages"}

    @property
    def words(self) -> str:
        """The decision in words: ``decided same by anna: the same event``."""
        return self.said(ENGLISH)

    def said(self, language: str) -> str:
        """``words`` in a language."""
        template = f"decided {self.kind} by {{author}}: {{reason}}"
        return translate(language, template, author=self.author, reason=self.reason)

    def of(self, page_id: str) -> str:
        """``words`` as of one of its pages, with the other page named."""
        return "".join((*(f"{page}: " for page in self.pages if page != page_id), self.words))


@dataclass(frozen=True, slots=True)
class OverrideReport:
    """What recording, undoing or importing overrides did.

    Attributes:
        overrides: those that the call names, as they are stored now.
        changed: stored pages whose cluster has changed (other members, or another canonical document), ascending.
    """

    overrides: tuple[Override, ...]
    changed: tuple[str, ...] = ()
