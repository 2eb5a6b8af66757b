"""Corpora for tests on Spark, and the clusters of a scan beside those of tables."""

import random
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any, Final

from es_dedup import Deduplicator, Page
from es_dedup.settings import Settings
from tests.samples import story

SCHEMA = "id string, text string, title string, url string, site string, published string"
SETTINGS = Settings(workers=1)


def table(spark: Any, some: Iterable[Page], parts: int = 3) -> Any:
    """Pages as a DataFrame."""
    rows = [[asdict(page)[name.split()[0]] for name in SCHEMA.split(", ")] for page in some]
    return spark.createDataFrame(rows, SCHEMA).repartition(parts)


def scanned(some: Iterable[Page], settings: Settings = SETTINGS) -> dict[str, tuple[str, str | None]]:
    """Canonical document and relation to it, by page id, as a scan gives them."""
    with Deduplicator.open(":memory:", settings=settings) as dedup:
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


NAMES: Final = ("p", "P ", "é", "\uffff", "\U0001f600", "http://a.example/?q=", "第")
"""Beginnings of page ids: ordered by code points, not by UTF-16 units or by a language."""


def varied(seed: int, count: int) -> tuple[list[Page], Settings]:
    """A random corpus of which pages lack or repeat attributes, with more copies than are asked for at times, and random decision settings."""
    rng = random.Random(seed)
    made: list[Page] = []
    copies = rng.choice((0, 0, 12, 80))
    for number, page in enumerate([*corpus(seed, count), *[story(seed)] * copies]):
        text = rng.choice(
            (page.text, page.text, page.text, f"  {page.text}", story(998).text, "", "第一条。")
        )
        made.append(
            Page(
                f"{rng.choice(NAMES)}{number}",
                text=text,
                title=rng.choice((page.title, page.title, "", None)),
                site=rng.choice((page.site, "", None)),
                url=rng.choice((None, f"http://a.example/{'x' * rng.randrange(20)}")),
                published=rng.choice((page.published, None, "", "2024-05-02T01:00:00+08:00", "some day")),
            )
        )
    cluster = {
        "order": rng.choice(("earliest", "latest", "longest", "shortest-url")),
        "preferred_sites": ("s2",),
    }
    preset = rng.choice(("balanced", "strict", "loose", "fast", "versions"))
    simhash = {"max_hamming_distance": rng.choice((0, 3, 7))}
    return made, Settings.model_validate(
        {"workers": 1, "cluster": cluster, "decision": {"preset": preset}, "simhash": simhash}
    )
