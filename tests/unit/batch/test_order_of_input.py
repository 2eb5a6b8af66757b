"""Which pages are one cluster does not depend on the order in which they come, nor on how many come at a time."""

from __future__ import annotations

import random
from typing import Final

import pytest

from es_dedup import Deduplicator, Page
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
