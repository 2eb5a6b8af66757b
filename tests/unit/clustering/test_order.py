"""What puts a page first in canonical order."""

import pytest

from es_dedup.clustering.order import Criterion, PageKey, canonical_order, decisive
from es_dedup.settings.loading import ClusterConfig

EARLY, LATE = "2026-01-01T08:00", "2026-01-02T08:00"


@pytest.mark.parametrize(
    ("first", "second", "given", "expected"),
    [
        (PageKey("b", LATE, "x.org"), PageKey("a", EARLY), {"preferred_sites": ("x.org",)}, Criterion.SITE),
        (PageKey("b", EARLY), PageKey("a", LATE, length=9), {}, Criterion.EARLIEST),
        (PageKey("b", EARLY), PageKey("a"), {}, Criterion.EARLIEST),
        (PageKey("b", length=9), PageKey("a", EARLY, length=8), {"order": "longest"}, Criterion.LONGEST),
        (PageKey("b", url="u"), PageKey("a", url="uu"), {"order": "shortest-url"}, Criterion.SHORTEST_URL),
        (PageKey("b", EARLY, length=9), PageKey("a", EARLY, length=8), {}, Criterion.LENGTH),
        (PageKey("a", EARLY), PageKey("b", EARLY), {}, Criterion.ID),
    ],
)
def test_the_criterion_that_decides(
    first: PageKey, second: PageKey, given: dict[str, object], expected: Criterion
) -> None:
    config = ClusterConfig.model_validate(given)
    last = PageKey("z")
    assert decisive(first, [last, second], config) == (expected, second.page_id)
    assert decisive(second, [first, last], config) == (Criterion.NONE, first.page_id)
    assert canonical_order([last, second, first], config)[0] == first
