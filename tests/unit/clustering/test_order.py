"""What puts a page first in canonical order."""

import pytest

from es_dedup.clustering.constraints import ClusterRules
from es_dedup.clustering.order import PageKey, canonical_order
from es_dedup.settings.loading import ClusterConfig

EARLY, LATE = "2026-01-01T08:00", "2026-01-02T08:00"


@pytest.mark.parametrize(
    ("first", "second", "given"),
    [
        (PageKey("b", LATE, "x.org"), PageKey("a", EARLY), {"preferred_sites": ("x.org",)}),
        (PageKey("b", EARLY), PageKey("a", LATE, length=9), {}),
        (PageKey("b", EARLY), PageKey("a"), {}),
        (PageKey("b", LATE), PageKey("a", EARLY), {"order": "latest"}),
        (PageKey("b", length=9), PageKey("a", EARLY, length=8), {"order": "longest"}),
        (PageKey("b", url="u"), PageKey("a", url="uu"), {"order": "shortest-url"}),
        (PageKey("b", EARLY, length=9), PageKey("a", EARLY, length=8), {}),
        (PageKey("a", EARLY), PageKey("b", EARLY), {}),
    ],
)
def test_the_page_that_comes_first(first: PageKey, second: PageKey, given: dict[str, object]) -> None:
    config = ClusterConfig.model_validate(given)
    last = PageKey("z")
    assert canonical_order([last, second, first], ClusterRules(config)) == [first, second, last]
