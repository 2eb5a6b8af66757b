"""The sample pages with their labels and true texts, and small pages of our own for tests of the pipeline."""

import json
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Final

from es_dedup.deduplicator.deduplicator import Deduplicator
from es_dedup.extraction import extract
from es_dedup.model import Content, Page
from es_dedup.readers import InputFailure, read_pages
from tests.texts import article

SAMPLES: Final = Path(__file__).parents[1] / "samples"


@dataclass(frozen=True, slots=True)
class Label:
    """A labelled pair: ``relation`` is seen from the left page."""

    left: str
    right: str
    label: str
    relation: str
    kind: str


@dataclass(frozen=True, slots=True)
class Truth:
    """What a page really says; ``declared`` is the character set it names."""

    page_id: str
    text: str
    charset: str
    declared: str

    @property
    def site(self) -> str:
        """The shell that the page is in."""
        return self.page_id.partition("/")[0]

    @property
    def paragraphs(self) -> list[str]:
        """Paragraphs of the main text."""
        return [line for line in self.text.split("\n") if line.strip()]


@cache
def pages() -> tuple[Page, ...]:
    """All sample pages, as a scan reads them."""
    found = []
    for item in read_pages([SAMPLES / "pages"]):
        assert not isinstance(item, InputFailure), item
        found.append(item)
    return tuple(found)


@cache
def labels() -> tuple[Label, ...]:
    """All labelled pairs."""
    rows = map(json.loads, (SAMPLES / "labels.jsonl").read_text(encoding="utf-8").splitlines())
    return tuple(Label(row["id_a"], row["id_b"], row["label"], row["relation"], row["kind"]) for row in rows)


@cache
def truths() -> tuple[Truth, ...]:
    """The true main text of every page."""
    rows = map(json.loads, (SAMPLES / "truth.jsonl").read_text(encoding="utf-8").splitlines())
    return tuple(Truth(row["id"], row["text"], row["charset"], row["declared"] or "") for row in rows)


@cache
def some_pages(least_chars: int = 200) -> tuple[Page, ...]:
    """A labelled pair of each kind, as plain text; texts of fewer characters are left out."""
    kinds = {label.kind: label for label in labels()}
    named = dict.fromkeys(name for label in kinds.values() for name in (label.left, label.right))
    texts = {truth.page_id: truth.text for truth in truths()}
    return tuple(Page(name, text=texts[name]) for name in named if len(texts.get(name, "")) >= least_chars)


@cache
def small_pages(count: int = 40) -> tuple[Page, ...]:
    """The first pages of the labelled pairs as plain text, so that related ones are among them."""
    by_id = {page.id: page for page in pages()}
    names = dict.fromkeys(name for label in labels()[::5] for name in (label.left, label.right))
    return tuple(as_text(by_id[name]) for name in list(names)[:count])


def as_text(page: Page) -> Page:
    """A page with its main text and title read out of the HTML."""
    content = extract(page.html or "")
    assert isinstance(content, Content)
    when = content.published.isoformat() if content.published else None
    return Page(page.id, text=content.text, title=content.title, published=when, site=page.id.split("/")[0])


def story(seed: int, page_id: str | None = None, *, day: int = 1, **fields: str) -> Page:
    """A page of random sentences; pages of one seed have the same text."""
    page = Page(
        page_id or f"story-{seed}",
        text=article(seed, sentences=12),
        title=article(seed, sentences=1)[:12],
        published=f"2024-05-{day:02}",
    )
    return replace(page, **fields)


def partition(dedup: Deduplicator) -> set[frozenset[str]]:
    """Page ids by cluster."""
    return {
        frozenset((cluster.canonical, *(member.page_id for member in cluster.members)))
        for cluster in dedup.clusters()
    }


def edges(dedup: Deduplicator) -> list[tuple[str, str, str, float]]:
    """All verified edges."""
    names = [record.page_id for records in dedup._index.scan() for record in records]
    return [(edge.left, edge.right, str(edge.relation), edge.score) for edge in dedup._index.edges_of(names)]
