"""Corpora for tests on Spark, and the clusters of a scan beside those of tables."""

from __future__ import annotations

import random
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from es_dedup import Deduplicator, Page
from es_dedup.settings import Settings
from tests.samples import story

if TYPE_CHECKING:
    from collections.abc import Iterable

SCHEMA = "id string, text string, title string, url string, site string, published string"
SETTINGS = Settings(workers=1)


def table(spark: Any, some: Iterable[Page], parts: int = 3) -> Any:
    """Pages as a DataFrame."""
    rows = [[asdict(page)[name.split()[0]] for name in SCHEMA.split(", ")] for page in some]
    return spark.createDataFrame(rows, SCHEMA).repartition(parts)


def scanned(some: Iterable[Page]) -> dict[str, tuple[str, str | None]]:
    """Canonical document and relation to it, by page id, as a scan gives them."""
    with Deduplicator.open(":memory:", settings=SETTINGS) as dedup:
        dedup.scan(some)
        assigned = dedup._index.assignments([page.id for page in some])
    return {
        name: (each.canonical, None if each.canonical == name else str(each.relation))
        for name, each in assigned.items()
    }


def found(frame: Any) -> dict[str, tuple[str, str | None]]:
    """The same of a table of clusters."""
    rows = frame.collect()
    assert all(row.cluster_id == row.canonical for row in rows)
    assert all((row.duplicate_of or row.page_id) == row.canonical for row in rows)
    assert all((row.cover is None) == (row.duplicate_of is None) for row in rows)
    return {row.page_id: (row.canonical, row.relation) for row in rows}


def corpus(seed: int, count: int) -> list[Page]:
    """Random articles with copies, cut copies and copies with a template around them."""
    rng = random.Random(seed)
    made: list[Page] = []
    for number in range(count):
        page = story(
            rng.randrange(count // 2), f"p{number}", day=rng.randrange(1, 28), site=f"s{rng.randrange(4)}"
        )
        text = page.text or ""
        kind = rng.randrange(4)
        if kind == 1:
            text = text[: rng.randrange(len(text))]
        elif kind == 2:
            text = f"{story(999).text}\n{text}"
        made.append(Page(page.id, text=text, title=page.title, site=page.site, published=page.published))
    return made
