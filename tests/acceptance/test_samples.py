"""The sample pages: every label comes out right, clusters are sound, and main texts are the true ones."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from typing import Final

import pytest

from es_dedup import Deduplicator
from tests.samples import Label, Truth, edges, labels, pages, truths

EXACT_PAIRS: Final = 30
"""Labelled pairs for which the relation ``exact`` is reached; the others' extracted texts differ by a line or two."""
LOST_PARAGRAPHS: Final = {
    "enlocal/note-closed.html",
    "ennews/list-valley.html",
    "ennews/paywall.html",
    "finance/login.html",
    "jzdaily/note-water.html",
    "mobile/gone.html",
    "video/bridge.html",
    "video/cave-fish.html",
    "video/marathon.html",
    "video/tea.html",
}
"""Pages that lose a paragraph: a line beside a player, notes of one line, pages that only ask to sign in, a list of links."""

MERGED_LISTS: Final = {("zhportal/list-health.html", "zhportal/list-culture.html")}
"""Lists of the same links, of which the text is taken to be the links."""
LEAST_F1: Final = {
    "enlocal": 0.95,  # a note of one line
    "enmag": 0.99,
    "ennews": 0.88,  # two pages that ask to sign in, a list of links
    "epaper": 0.99,
    "finance": 0.9,  # a page that asks to log in
    "forum": 0.94,  # a few lines around the posts
    "gov": 0.99,
    "hkdaily": 0.99,
    "jzdaily": 0.93,  # a note of one line
    "mobile": 0.94,  # a page that is gone
    "techblog": 0.99,
    "twnews": 0.99,
    "video": 0.1,  # one line beside a player
    "zhportal": 0.91,  # lists of links
}
"""Floors for the mean 5-gram F1 of extracted against true main texts, pages without main text left out."""
GRAM: Final = 5
ODD_CHARSETS: Final = [truth for truth in truths() if truth.charset != "utf-8" or truth.declared != "utf-8"]


@pytest.fixture(scope="module")
def dedup(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deduplicator]:
    with Deduplicator.open(tmp_path_factory.mktemp("samples") / "pages.db") as opened:
        report = opened.scan(pages())
        assert (report.read, report.stored, report.failed) == (200, 200, {})
        yield opened


@pytest.fixture(scope="module")
def clusters(dedup: Deduplicator) -> dict[str, str]:
    """The canonical document of each page."""
    return {
        name: cluster.canonical
        for cluster in dedup.clusters()
        for name in (cluster.canonical, *(member.page_id for member in cluster.members))
    }


@pytest.mark.parametrize("label", labels(), ids=lambda label: f"{label.kind}-{label.left}-{label.right}")
def test_every_label_comes_out_right(dedup: Deduplicator, label: Label) -> None:
    there, back = dedup.explain(label.left, label.right), dedup.explain(label.right, label.left)
    assert there.relation == back.relation.reversed, "the same from both sides"
    if label.label == "dup":
        assert there.relation.same, there.reason
    elif (label.left, label.right) not in MERGED_LISTS:
        assert there.relation == label.relation, there.reason


def test_the_scan_itself_finds_every_related_pair(dedup: Deduplicator) -> None:
    found = {(left, right) for left, right, _, _ in edges(dedup)}
    related = [label for label in labels() if label.label in ("dup", "contain")]
    lost = [label for label in related if tuple(sorted((label.left, label.right))) not in found]
    assert lost == []


def test_equal_texts_are_told_from_alike_ones(dedup: Deduplicator) -> None:
    wanted = [label for label in labels() if label.relation == "exact"]
    assert len(wanted) == 39
    found = [label for label in wanted if dedup.explain(label.left, label.right).relation == "exact"]
    assert len(found) >= EXACT_PAIRS


def test_pages_that_are_no_duplicates_share_no_cluster(clusters: dict[str, str]) -> None:
    together = [
        (label.left, label.right)
        for label in labels()
        if label.label != "dup" and clusters[label.left] == clusters[label.right]
    ]
    assert set(together) <= MERGED_LISTS


def test_a_duplicate_pair_is_apart_only_where_star_clustering_parts_it(
    dedup: Deduplicator, clusters: dict[str, str]
) -> None:
    """The rule: a page joins the first canonical document it has an edge to.

    So two duplicates are apart only if one of them is with a canonical document that the other one has no edge to; they
    are never two canonical documents.
    """
    apart = [
        label for label in labels() if label.label == "dup" and clusters[label.left] != clusters[label.right]
    ]
    for label in apart:
        left_star, right_star = clusters[label.left], clusters[label.right]
        assert (left_star, right_star) != (label.left, label.right), "two canonical documents with an edge"
        crossed = [
            dedup.explain(right_star, label.left).relation.same,
            dedup.explain(left_star, label.right).relation.same,
        ]
        assert not all(crossed), "both could share one cluster"
    assert len(apart) <= 1


def test_members_have_a_direct_edge_to_their_canonical_document(dedup: Deduplicator) -> None:
    for cluster in dedup.clusters(min_size=2):
        for member in cluster.members:
            assert member.relation.same
            assert dedup.explain(cluster.canonical, member.page_id).relation == member.relation


@pytest.mark.parametrize("truth", truths(), ids=lambda truth: truth.page_id)
def test_the_true_paragraphs_are_in_the_extracted_text(dedup: Deduplicator, truth: Truth) -> None:
    text = plain(dedup.text(truth.page_id))
    lost = [paragraph for paragraph in truth.paragraphs if plain(paragraph) not in text]
    assert lost == [] or truth.page_id in LOST_PARAGRAPHS


@pytest.mark.parametrize("truth", ODD_CHARSETS, ids=lambda truth: f"{truth.charset}-as-{truth.declared}")
def test_odd_charsets_are_decoded(dedup: Deduplicator, truth: Truth) -> None:
    text = plain(dedup.text(truth.page_id))
    kept = [paragraph for paragraph in truth.paragraphs if plain(paragraph) in text]
    assert len(kept) >= len(truth.paragraphs) - 1
    assert "\ufffd" not in text


def test_every_site_keeps_its_floor(dedup: Deduplicator) -> None:
    found: dict[str, list[float]] = {}
    for truth in truths():
        if truth.text:
            found.setdefault(truth.site, []).append(gram_f1(dedup.text(truth.page_id), truth.text))
    means = {site: sum(values) / len(values) for site, values in found.items()}
    assert means.keys() == LEAST_F1.keys()
    assert {site: mean for site, mean in means.items() if mean < LEAST_F1[site]} == {}


def plain(text: str) -> str:
    """Text without differences of width and white space."""
    return re.sub(r"\s+", "", unicodedata.normalize("NFKC", text))


def gram_f1(found: str, wanted: str) -> float:
    """Harmonic mean of precision and recall over character 5-grams, in [0, 1]."""
    left, right = (
        Counter(text[at : at + GRAM] for at in range(len(text) - GRAM + 1))
        for text in (plain(found), plain(wanted))
    )
    return 2 * (left & right).total() / max(left.total() + right.total(), 1)
