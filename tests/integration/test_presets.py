"""A preset holds wherever pairs are decided on: scan, add, check and explain say the same."""

from typing import Final

import pytest

from es_dedup import Deduplicator, Page, Settings
from tests.texts import article

STORY: Final = [article(place, sentences=1) for place in range(12)]
OWN: Final = [article(100 + place, sentences=1) for place in range(4)]
PAGES: Final = (
    Page("a", text="\n".join(STORY), title=STORY[0][:10]),
    Page("b", text="\n".join((*STORY[:8], *OWN)), title=STORY[0][:10]),
)


@pytest.mark.parametrize(
    ("preset", "together"), [("balanced", True), ("strict", False), ("loose", True), ("fast", True)]
)
@pytest.mark.parametrize("way", ["scan", "add"])
def test_all_ways_judge_alike(preset: str, way: str, *, together: bool) -> None:
    settings = Settings.model_validate({"decision": {"preset": preset}})
    with Deduplicator.open(":memory:", settings=settings) as dedup:
        if way == "scan":
            dedup.scan(PAGES)
        else:
            for page in PAGES:
                dedup.add(page)
        assert len(list(dedup.clusters())) == (1 if together else 2)
        assert dedup.explain("a", "b").relation.same is together
        other = Page("c", text=PAGES[1].text, title=PAGES[1].title)
        related = {pair.right: pair.relation.same for pair in dedup.check(other).verdicts}
        assert related.get("b") is True
        assert related.get("a", False) is together
