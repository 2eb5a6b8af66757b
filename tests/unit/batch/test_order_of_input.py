"""Which pages are one cluster does not depend on the order in which they come, nor on how many come at a time."""

import io
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import pytest

from es_dedup import Deduplicator, Page, deduplicate
from es_dedup.dumps import DumpCopy, filter_dumps
from es_dedup.readers import ReadOptions, read_pages
from tests.texts import article

BANNER: Final = "".join(article(at, sentences=1) for at in range(900, 905))


def rows(seed: int) -> dict[str, str]:
    """Rows below a banner, of a form, and of two stories with edits; some come twice."""
    source = random.Random(seed)
    made = {f"banner {at}": BANNER + article(at, sentences=source.randint(1, 6)) for at in range(12)}
    made |= {
        f"form {at}": f"气温{source.randint(1, 30)}度，东北风{source.randint(1, 9)}级。" + BANNER[:40]
        for at in range(12)
    }
    for story in (50, 60):
        text = article(story, sentences=14)
        for at in range(6):
            place = source.randrange(len(text))
            made[f"story {story} {at}"] = (
                text[:place] + source.choice("的了一二") + text[place + source.randint(0, 9) :]
            )
    again = source.sample(sorted(made), 8)
    return made | {f"again {name}": made[name] for name in again}


def clusters(made: dict[str, str], names: list[str], size: int) -> set[frozenset[str]]:
    """The clusters of rows added some at a time, in the order of the names."""
    with Deduplicator.open(":memory:") as dedup:
        for at in range(0, len(names), size):
            dedup.add_many([Page(name, text=made[name]) for name in names[at : at + size]])
        dedup.recluster()
        return {
            frozenset((each.canonical, *(member.page_id for member in each.members)))
            for each in dedup.clusters()
        }


@pytest.mark.parametrize("seed", range(3))
def test_clusters_are_the_same_in_every_order(seed: int) -> None:
    made, source = rows(seed), random.Random(seed)
    found = [clusters(made, source.sample(sorted(made), len(made)), size) for size in (1000, 1000, 7, 1)]
    assert 1 < len(found[0]) < len(made)
    assert found[1:] == found[:-1]


Row = tuple[str, str]  # title, which may be empty, and text


def rows_without_ids(seed: int) -> list[Row]:
    """Rows as above, and those of forms of one length, of which every second one has a title; some come twice."""
    source = random.Random(seed)
    forms = [
        (f"第{at:02}号气象站" * (at % 2), BANNER[:200] + article(300 + at, sentences=3)[:60])
        for at in range(60)
    ]
    lines = [("", article(700 + at % 20, sentences=12)[: 200 + at] + "转载"[: at % 3]) for at in range(40)]
    return [("", text) for text in rows(seed).values()] + forms + lines + source.choices(forms, k=10)


def rows_in_one_cluster(some: Sequence[Row], _: Path) -> object:
    """Clusters of rows by their content, and which content stays."""
    found = deduplicate([{"title": title or None, "text": text} for title, text in some])
    members: dict[int, set[Row]] = {}
    for row, canonical in enumerate(found.to_dict()["canonical"]):
        members.setdefault(canonical, set()).add(some[row])
    return {(some[canonical], frozenset(each)) for canonical, each in members.items()}


def json_lines(some: Sequence[Row], file: Path) -> Path:
    lines = (json.dumps({"title": title, "text": text} if title else {"text": text}) for title, text in some)
    file.write_text("\n".join(lines))
    return file


def rows_that_filter_keeps(some: Sequence[Row], folder: Path) -> object:
    kept = io.BytesIO()
    filter_dumps([DumpCopy(json_lines(some, folder / "rows.jsonl"), kept)])
    return sorted(kept.getvalue().splitlines())


def rows_that_scan_keeps(some: Sequence[Row], folder: Path) -> object:
    with Deduplicator.open(":memory:") as dedup:
        read = read_pages([json_lines(some, folder / "rows.jsonl")], ReadOptions())
        dedup.scan(each for each in read if isinstance(each, Page))
        return {
            (each.canonical, *sorted(member.page_id for member in each.members)) for each in dedup.clusters()
        }


@pytest.mark.parametrize("found", [rows_in_one_cluster, rows_that_filter_keeps, rows_that_scan_keeps])
@pytest.mark.parametrize("seed", range(3))
def test_rows_without_ids_are_divided_alike_in_every_order(
    found: Callable[[Sequence[Row], Path], object], seed: int, tmp_path: Path
) -> None:
    made, source = rows_without_ids(seed), random.Random(seed)
    orders = [source.sample(made, len(made)) for _ in range(3)]
    first, *others = (found(some, tmp_path) for some in orders)
    assert others == [first, first]
