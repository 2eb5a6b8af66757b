"""The graph of a cluster: how many pages are drawn, and how wide their edges are."""

from itertools import pairwise

from es_dedup.index.records import FeatureRecord
from es_dedup.model import Cluster, Member, Relation
from es_dedup.views.graph import HEIGHT, MOST_NODES, WIDTH, cluster_graph


def of(members: int, inside: tuple[str, ...] = ()) -> tuple[Cluster, list[tuple[Member, FeatureRecord]]]:
    """A cluster; the share of its members falls."""
    shares = ({"left_cover": 1.0, "right_cover": 1 - at / 1000} for at in range(members))
    named = [Member(f"m{at}", Relation.DUPLICATE, 0.9, share) for at, share in enumerate(shares)]
    records = [FeatureRecord(each.page_id, 10, 0, (), b"", site="a.example") for each in named]
    cluster = Cluster("c", "c", tuple(named), contained_in=inside)
    return cluster, list(zip(named, records, strict=True))


def test_pages_stand_around_the_canonical_document() -> None:
    assert cluster_graph(*of(0)) is None
    few = cluster_graph(*of(3, ("long",)))
    assert few is not None
    assert [each.kind for each in few.nodes] == ["contained", *["duplicate"] * 3]
    assert ([each.label for each in few.nodes], few.more) == (["long", *["a.example"] * 3], 0)
    widest = 160  # of a label; it begins 10 beside its node
    assert all(abs(each.x - WIDTH / 2) + 10 + widest <= WIDTH / 2 for each in few.nodes)
    assert all(left.width > right.width for left, right in pairwise(few.nodes[1:]))


def test_of_many_pages_some_are_drawn() -> None:
    many = cluster_graph(*of(200))
    assert many is not None
    assert (len(many.nodes) + 1, many.more) == (MOST_NODES, 200 - len(many.nodes))
    assert len({(round(each.x), round(each.y)) for each in many.nodes}) == len(many.nodes)
    assert all(0 < each.x < WIDTH and 0 < each.y < HEIGHT and not each.label for each in many.nodes)
