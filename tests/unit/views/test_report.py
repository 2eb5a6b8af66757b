"""The report page: what it shows, that it is safe and self-contained, and that it stays small."""

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser
from typing import Any, cast

import pytest

from es_dedup.decision.alignment import AlignedRow, Piece
from es_dedup.detectors.named_fields import PageFeatures
from es_dedup.index.records import FeatureRecord
from es_dedup.model import Cluster, Member, PairDecision, Relation, Verdict
from es_dedup.views import report, report_page
from es_dedup.views.charts import MOST_MONTHS, month_axis
from es_dedup.views.compare import _cut_rows
from es_dedup.views.evidence import measures
from es_dedup.views.features import FieldPair, compared_fields
from es_dedup.views.search import CHARS, pattern_of, snippet

HOSTILE = '<script>alert("1")</script><img src=x onerror=a()>\x00\x1b[31m\u202e'


class FakeIndex:
    """Clusters of made-up pages; every page has the same text."""

    def __init__(
        self, clusters: list[Cluster], text: str = "第一句话。第二句话。", title: str = "标题"
    ) -> None:
        self.all, self.body, self.title = clusters, text, title
        self.explained = 0

    def clusters(self, *, min_size: int = 1) -> Iterator[Cluster]:
        return (cluster for cluster in self.all if cluster.size >= min_size)

    def record(self, page_id: str) -> FeatureRecord:
        return FeatureRecord(
            page_id,
            len(self.body),
            1,
            (),
            b"",
            url=f"https://a.cn/{page_id}",
            site="a.cn",
            title=self.title,
            language="zh",
        )

    def records_of(self, page_ids: Iterable[str]) -> dict[str, FeatureRecord]:
        return {page_id: self.record(page_id) for page_id in page_ids}

    def text(self, page_id: str) -> str:
        return self.body

    def explain(self, left: str, right: str) -> PairDecision:
        self.explained += 1
        verdict = Verdict(
            "ccdet", Relation.DUPLICATE, 0.91, {"ccs": 0.91, "min_ccs": 0.6, "clr": 0.3, "min_clr": 0.5}
        )
        return PairDecision(left, right, Relation.DUPLICATE, 0.9, "both covered", {"cover": 0.9}, (verdict,))

    def features(self, page: str) -> PageFeatures:
        fields = {"period_signatures": ["第一句话", f"<b>{page}</b>"], "simhash_band_0": 7}
        return PageFeatures(page, self.title, "stored", 10, "", fields)

    def aligned(self, left_id: str, right_id: str) -> list[AlignedRow]:
        first, template, rest = Piece(self.body[:5]), Piece(self.body[5:10], template=True), self.body[10:]
        rows = [AlignedRow((first, template), (first, template))]
        return [*rows, AlignedRow((Piece(rest, only=True),), (Piece(f"别{rest}", only=True),))]

    def duplicate_counts(self) -> tuple[dict[str, int], dict[str, int]]:
        return {"a.cn": 3}, {"2026-01": 1, "2026-04": 2, "bad": 1}

    def stats(self) -> dict[str, object]:
        return {"pages": 3 * len(self.all), "bytes": 1234, "nested": {"left": "out"}, "root": "/crawl"}


def clusters_of(count: int, members: int = 2) -> list[Cluster]:
    """Clusters with ``members`` members beside the canonical document."""
    return [
        Cluster(
            f"c{i}",
            f"c{i}",
            tuple(Member(f"c{i}-{k}", Relation.DUPLICATE, 0.8 + k / 100) for k in range(members)),
        )
        for i in range(count)
    ]


class Structure(HTMLParser):
    """Collects tags and attributes, and checks that elements close in order."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in ("meta", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def page_of(index: FakeIndex) -> str:
    """The page."""
    return report_page(cast("Any", index), title="测试 & run", run={"left out": 3}).decode()


def test_features_of_both_pages_stand_beside_each_other() -> None:
    left, right = FakeIndex([]).features("a"), FakeIndex([]).features("b")
    signatures, band = compared_fields(left, right)
    assert signatures == FieldPair("period_signatures", ("第一句话",), ("<b>a</b>",), ("<b>b</b>",))
    assert band == FieldPair("simhash_band_0", ("7",), (), ())


def test_the_page_is_well_formed_and_shows_totals_and_evidence() -> None:
    page = page_of(FakeIndex(clusters_of(5)))
    structure = Structure()
    structure.feed(page)
    assert structure.open == []
    assert "测试 &amp; run" in page
    assert ">10</b><span>duplicates</span><small>66.7% of all pages" in page
    assert ">3</b><span>left out</span>" in page
    assert "<td>root</td>" not in page
    assert 'ccs <b>0.91</b> <i class="met" title="the threshold is met">≥ 0.6</i>' in page
    assert 'clr <b>0.3</b> <i class="unmet" title="the threshold is not met">≥ 0.5</i>' in page
    assert page.count("<figure>") == 4
    assert "2026-04: 2 duplicates" in page


def test_what_only_one_page_has_is_marked_and_template_greyed() -> None:
    page = page_of(FakeIndex(clusters_of(1, 1), text="第一句话。第二句话。第三句话。"))
    assert page.count(">第三句话。</mark>") == 1
    assert page.count(">别第三句话。</mark>") == 1
    assert page.count(">第二句话。</s>") == 2


def hash_of(page: str, tag: str) -> str:
    """How a content security policy names the one element of this name; the page has no other."""
    (found,) = re.findall(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
    return f"'sha256-{base64.b64encode(hashlib.sha256(found.encode()).digest()).decode()}'"


def test_nothing_is_loaded_and_nothing_runs_but_the_search() -> None:
    page = page_of(FakeIndex(clusters_of(2)))
    structure = Structure()
    structure.feed(page)
    assert not {"img", "iframe", "link", "object", "form"} & set(structure.tags)
    assert structure.tags.count("script") == 1
    assert f'; script-src {hash_of(page, "script")}"' in page
    assert not {name for name, _ in structure.attributes if name in ("src", "style") or name.startswith("on")}
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)
    assert style is not None
    assert "url(" not in style[1]
    assert "@import" not in style[1]
    assert f"style-src {hash_of(page, 'style')};" in page
    assert "default-src 'none'" in page


def test_hostile_text_is_escaped_everywhere() -> None:
    hostile = [Cluster(HOSTILE, HOSTILE, (Member(HOSTILE + "2", Relation.EXACT, 1.0),), (HOSTILE,))]
    page = page_of(FakeIndex(hostile, text=HOSTILE, title=HOSTILE))
    structure = Structure()
    structure.feed(page)
    assert "img" not in structure.tags
    assert structure.tags.count("script") == 1  # its own
    assert f"script-src {hash_of(page, 'script')}" in page
    assert [name for name, _ in structure.attributes if name.startswith("on")] == []
    assert not re.search("[\x00\x1b\u202e]", page)


def test_ten_thousand_clusters_make_a_small_page(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, most in (("SHOWN", 5), ("LISTED", 20), ("MEMBERS", 1), ("CHARS", 500)):
        monkeypatch.setattr(report, name, most)
    index = FakeIndex(clusters_of(10_000), text="一" * 100_000)
    page = page_of(index)
    assert index.explained == 5
    assert len(page) < 60_000
    assert "9,980 smaller clusters are not listed" in page
    assert "99,500 and 99,501 more characters" in page


def test_an_index_without_duplicates_has_a_page_too() -> None:
    page = page_of(FakeIndex([Cluster("a", "a")]))
    assert "No two pages" in page
    assert "<script>" not in page
    assert "script-src" not in page


def test_long_texts_are_cut_and_invisible_characters_named() -> None:
    rows = [
        AlignedRow((Piece("abc"), Piece("\u200bx", only=True)), (Piece("abc"),)),
        AlignedRow((), (Piece("<i>", only=True),)),
        AlignedRow((Piece("rest"),), (Piece("rest"),)),
    ]
    shown, more = _cut_rows(rows, 5)
    assert shown == [
        (False, ([("", "abc"), ("mark", "⟨U+200B⟩x")], [("", "abc")])),
        (False, ([], [("mark", "<i")])),
    ]
    assert more == (4, 5)
    assert _cut_rows([], 5) == ([], (0, 0))


def test_a_strict_threshold_is_not_met_by_an_equal_value() -> None:
    evidence = {"a": 0.8, "min_a": 0.8, "b": 0.81, "min_b": 0.8, "c": 0.04, "max_c": 0.05}
    assert [each.met for each in measures(evidence)] == [True, True, True]
    strict = measures({**evidence, "strict_thresholds": True})
    assert [(each.threshold, each.met) for each in strict] == [
        ("> 0.8", False),
        ("> 0.8", True),
        ("< 0.05", True),
    ]


def test_an_axis_of_months_has_those_without_anything() -> None:
    counts = {"2025-11": 2, "2026-02": 1, "": 5, "2026": 4, "2026-13": 3}
    assert month_axis(counts) == [("2025-11", 2), ("2025-12", 0), ("2026-01", 0), ("2026-02", 1)]
    assert month_axis({"": 1}) == []
    long = month_axis({"0001-01": 1, "2026-02": 1})
    assert (len(long), long[-1]) == (MOST_MONTHS, ("2026-02", 1))


@pytest.mark.parametrize(
    ("query", "text", "expected"),
    [
        ("Ferry", "The ferry ran aground.", [("The ", False), ("ferry", True), (" ran aground.", False)]),
        ("大桥通车", "新大桥今天", [("新", False), ("大桥", True), ("今天", False)]),
        ("<b>", f"{'word ' * 100}<b>", [("…", False), ("b", True)]),
        ("(.*", "x", [("x", False)]),
    ],
)
def test_a_snippet_shows_where_words_were_found(
    query: str, text: str, expected: list[tuple[str, bool]]
) -> None:
    found = snippet(text, pattern_of(query))
    assert [part for part in found if part in expected or part[1]] == [
        part for part in expected if part in found or part[1]
    ]
    assert len("".join(part for part, _ in found)) <= CHARS + 2
