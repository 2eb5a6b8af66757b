"""What the corpus learns: template from content, in any order of pages, and the stored form."""

import random
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from es_dedup.batch.corpus import Corpus
from es_dedup.batch.learning import learn
from es_dedup.decision.statistics import LEAST_WEIGHT, MIN_POSTINGS, Statistics
from es_dedup.detectors.features import pack
from es_dedup.errors import DamagedData
from tests.unit.decision.decision_cases import (
    SETTINGS,
    Small,
    corpus,
    decide_pair,
    keys_of,
    learned,
    lines,
    table_of,
)

NOTICE: Final = lines(77, 6)
WIRE: Final = lines(78, 10)


def template_pages(count: int, *, day: int = 100, step: int = 0) -> list[Small]:
    """Pages about other things that end in one notice."""
    return [
        Small((*lines(200 + page, 4), *NOTICE), lines(200 + page, 1)[0][:10], day + step * page, f"site{page % 3}")
        for page in range(count)
    ]  # fmt: skip


def reprints(count: int, *, day: int = 100, step: int = 0) -> list[Small]:
    """One story under like titles, each with a line of its site."""
    return [
        Small((*WIRE, *lines(500 + page, 1)), WIRE[0][:10], day + step * page, f"site{page}")
        for page in range(count)
    ]


def untitled(pages: list[Small], title: str = "") -> list[Small]:
    """The pages without their titles, or all under one."""
    return [replace(page, title=title) for page in pages]


def clause_weights(statistics: Statistics, texts: tuple[str, ...]) -> list[float]:
    """What the clauses of some sentences count."""
    weights: list[float] = statistics.clause_weights_of(table_of([Small(texts)]).coverage.clauses).tolist()
    return weights


def filled_in(page: int) -> Small:
    """A form of eight sentences, with a word of the page's own in every other one."""
    own = lines(1700 + page, 4)
    return Small(
        tuple(f"{one[:9]}{own[at // 2][:4] if at % 2 else ''}{one[9:]}" for at, one in enumerate(FORM))
    )


def edited(page: int) -> Small:
    """The same sentences, of which the page has edited two, each page others."""
    own = lines(1700 + page, 2)
    changed = {page % 8: own[0], (page * 3 + 1) % 8: own[1]}
    return Small(
        tuple(f"{one[:9]}{changed[at][:4]}{one[9:]}" if at in changed else one for at, one in enumerate(FORM))
    )


FORM: Final = lines(81, 8)
BANNER: Final = lines(79, 3)
BANNERED: Final = [Small((*BANNER, *lines(1200 + page, 8))) for page in range(30)]
OTHERS: Final = [Small(lines(900 + n, 5)) for n in range(4)]
CORPUS: Final = [*template_pages(12), *reprints(8), *BANNERED[:12], *OTHERS]
LEARNED: Final = learned(CORPUS)


class TestOrder:
    @settings(max_examples=15)
    @given(st.permutations(range(len(CORPUS))))
    def test_any_order_of_pages_gives_the_same_snapshot(self, order: list[int]) -> None:
        names = [f"page-{row}" for row in order]
        assert learned([CORPUS[row] for row in order], names).version == LEARNED.version

    @pytest.mark.parametrize("most", [1, 60])
    def test_out_of_core_gives_the_same_snapshot(self, most: int, tmp_path: Path) -> None:
        tables = [([key], table_of([page])) for key, page in zip(keys_of(CORPUS), CORPUS, strict=True)]
        stored = Corpus(((keys, table, pack(table)) for keys, table in tables), tmp_path, most)
        with closing(stored):
            assert learn(stored, SETTINGS.ccdet).version == LEARNED.version


class TestWeights:
    def test_a_notice_below_unlike_titles_is_template(self) -> None:
        statistics = learned(template_pages(12))
        assert max(clause_weights(statistics, NOTICE)) < 0.2
        assert clause_weights(statistics, lines(200, 4)) == [1.0] * 8

    def test_two_pages_of_one_template_are_told_apart_by_it(self) -> None:
        left, right = template_pages(12)[:2]
        left, right = replace(left, lines=left.lines[2:]), replace(right, lines=right.lines[2:])
        decided = decide_pair(left, right, learned(template_pages(12)))
        assert not decided.relation.same
        assert decided.evidence["discounted_clauses"] == 2 * len(NOTICE)

    @pytest.mark.parametrize(
        "names", [("晨光周报编辑部",), ("晨光周报编辑部", "海港都市新闻网", "山村农业广播站")]
    )
    def test_a_notice_below_titles_that_begin_with_the_name_of_the_site_is_template(
        self, names: tuple[str, ...]
    ) -> None:
        pages = [
            replace(page, title=f"{names[at % len(names)]}：{page.title}")
            for at, page in enumerate(template_pages(60))
        ]
        assert max(clause_weights(learned(pages), NOTICE)) <= 0.2

    def test_a_wire_story_reprinted_under_like_titles_is_content(self) -> None:
        assert min(clause_weights(learned(reprints(30)), WIRE)) > 0.9

    @pytest.mark.parametrize(
        ("title", "sites", "content"),
        [(WIRE[0][:10], 12, True), (WIRE[0][:10], 2, False), (WIRE[0][:3], 12, False)],
        ids=["a headline on many sites", "a column of two sites", "a short title"],
    )
    def test_one_headline_makes_content_of_what_many_sites_carry_in_layouts_of_their_own(
        self, title: str, sites: int, *, content: bool
    ) -> None:
        pages = [Small((*WIRE, *lines(500 + n, 7)), title, site=f"site-{n % sites}") for n in range(12)]
        others = [Small(own := lines(900 + n, 8), own[0][:10], site=f"site-{n % sites}") for n in range(30)]
        weights = clause_weights(learned([*pages, *others]), WIRE)
        assert (min(weights) > 0.9) is content
        assert (max(weights) < 0.2) is not content

    def test_a_form_that_recurs_over_a_year_loses_what_its_titles_gave_it(self) -> None:
        weeks = [
            Small((*NOTICE, *(own := lines(300 + n, 12))), NOTICE[0][:10] + own[0][:4], 100 + 40 * n)
            for n in range(12)
        ]
        soon = [replace(page, day=100 + row) for row, page in enumerate(weeks)]
        others = [Small(own := lines(900 + n, 8), own[0][:10]) for n in range(12)]
        assert max(clause_weights(learned([*weeks, *others]), NOTICE)) < 0.5
        assert min(clause_weights(learned([*soon, *others]), NOTICE)) > 0.5

    def test_copies_keep_their_weight_over_a_year(self) -> None:
        copies = [Small(WIRE, WIRE[0][:10], 100 + 60 * page) for page in range(10)]
        assert min(clause_weights(learned(copies), WIRE)) == 1.0

    def test_what_fewer_pages_carry_is_not_known(self) -> None:
        statistics = learned(template_pages(MIN_POSTINGS - 1))
        assert len(statistics.grams) == len(statistics.clauses) == 0
        assert len(learned(template_pages(MIN_POSTINGS)).clauses) == 2 * len(NOTICE)

    def test_weights_lie_in_their_range(self) -> None:
        statistics = LEARNED
        for weights in (statistics.gram_weights, statistics.clause_weights):
            assert float(weights.min()) >= LEAST_WEIGHT - 1e-6
            assert float(weights.max()) <= 1.0


class TestRemainders:
    """Pages without titles, or under one: what they have beside the recurring text decides."""

    @pytest.mark.parametrize("title", ["", BANNER[0][:10]], ids=["untitled", "name of the site"])
    def test_a_banner_over_distinct_texts_is_template(self, title: str) -> None:
        statistics = learned(untitled(BANNERED, title))
        assert max(clause_weights(statistics, BANNER)) == pytest.approx(LEAST_WEIGHT)
        assert float(statistics.gram_weights.max()) == pytest.approx(LEAST_WEIGHT)

    @pytest.mark.parametrize("title", ["", "海港新闻网"], ids=["untitled", "name of the site"])
    def test_a_story_of_which_little_remains_is_content(self, title: str) -> None:
        assert min(clause_weights(learned(untitled(reprints(30), title)), WIRE)) == 1.0

    @pytest.mark.parametrize(("more", "weight"), [(4, 1.0), (0, LEAST_WEIGHT)])
    def test_a_story_of_which_two_pages_have_more_is_content(self, more: int, weight: float) -> None:
        added = (lines(80, more), lines(80, more), ())
        pages = [Small((*WIRE, *added[page], *lines(500 + page, 12))) for page in range(3)]
        weights = clause_weights(learned(pages), WIRE)
        assert weights == pytest.approx([weight] * len(weights))

    def test_a_form_that_is_filled_in_is_template_and_a_story_that_is_edited_is_content(self) -> None:
        forms, copies = (learned([*map(made, range(12)), *OTHERS]) for made in (filled_in, edited))
        assert float(forms.gram_weights.max()) < 0.4
        assert float(copies.gram_weights.min()) > 0.5
        assert float(copies.gram_weights.mean()) > 0.7

    def test_a_form_that_is_filled_in_with_few_different_words_is_template(self) -> None:
        words = lines(1650, 6)

        def row(page: int) -> Small:
            """Four sentences of the form, two of which have three words of the page's own, and one that others have, too."""
            own = lines(1700 + page, 2)
            filled = (
                f"{own[0][:6]}{FORM[0][:6]}{words[page % 6][:6]}{FORM[0][6:]}",
                f"{FORM[1][:9]}{own[1][:6]}{FORM[1][9:]}",
            )
            return Small((*filled, *FORM[2:4]))

        statistics = learned([*map(row, range(40)), *(Small(lines(2000 + n, 5)) for n in range(40))])
        assert max(clause_weights(statistics, FORM[2:4])) < 0.05

    def test_weights_of_many_pages_do_not_depend_on_their_ids(self) -> None:
        pages = [*map(edited, range(300)), *OTHERS]
        named = (learned(pages, [f"{site}/{row}" for row in range(len(pages))]) for site in "abcdef")
        means = [float(statistics.gram_weights.mean()) for statistics in named]
        assert min(means) > 0.6
        assert max(means) - min(means) < 0.05

    @pytest.mark.parametrize(("others", "weight"), [(0, LEAST_WEIGHT), (30, 1.0)])
    def test_what_nearly_every_page_carries_is_content_only_if_next_to_nothing_remains(
        self, others: int, weight: float
    ) -> None:
        long = [Small((*WIRE, *lines(500 + page, 2))) for page in range(20)]
        beside = [Small(lines(900 + n, 5)) for n in range(others)]
        weights = clause_weights(learned([*long, *beside]), WIRE)
        assert weights == pytest.approx([weight] * len(weights), abs=0.3)
        copies = [Small((*WIRE, WIRE[0][: 4 + page])) for page in range(12)]
        assert set(clause_weights(learned(copies), WIRE)) == {1.0}

    def test_equal_copies_do_not_decide(self) -> None:
        alone = learned([BANNERED[0]] * 6)
        assert set(clause_weights(alone, BANNER)) == {1.0}, "nothing else says that it is template"
        beside = learned([*([BANNERED[0]] * 6), *BANNERED[1:]])
        assert max(clause_weights(beside, BANNER)) == pytest.approx(LEAST_WEIGHT)


@pytest.mark.parametrize(
    ("title", "sites", "counts"),
    [("晨光新闻网首页", 12, False), (WIRE[0][:10], 12, True), (WIRE[0][:10], 1, False)],
    ids=["the texts do not speak of it", "a headline on many sites", "a column of one site"],
)
def test_one_title_for_many_pages_says_nothing_unless_texts_on_many_sites_speak_of_it(
    title: str, sites: int, counts: bool
) -> None:
    pages = [Small((*WIRE, *lines(500 + page, 5)), title, site=f"site-{page % sites}") for page in range(12)]
    statistics, table = learned(pages), table_of(pages).coverage
    assert statistics.titled(table, np.arange(12)).tolist() == [counts] * 12
    assert len(statistics.placeholders) == (not counts)
    post, again = (Small((*lines(3, 8), *lines(4, more)), title, 100 + 100 * more) for more in (0, 1))
    assert decide_pair(post, again, statistics).relation.same is not counts, "days count between titled pages"
    assert not len(learned(pages[:9]).placeholders), "fewer may tell one story"
    assert not len(learned([pages[0]] * 12).placeholders), "nor are copies of one page counted"


@pytest.mark.parametrize("spoken", [False, True], ids=["names of sites", "columns of which the texts speak"])
def test_titles_that_say_nothing_tell_pages_apart_only_if_the_texts_speak_of_them(*, spoken: bool) -> None:
    names = ("海港都市新闻网", "山村农业广播站")

    def page(seed: int, of: int) -> Small:
        head = (f"{names[of]}播报",) if spoken else ()
        return Small((*head, *lines(seed, 7)), names[of], site=f"{of}.example")

    statistics = learned([page(100 + 50 * of + n, of) for of in (0, 1) for n in range(15)])
    assert len(statistics.placeholders) == len(names)
    found = decide_pair(page(100, 0), page(100, 1), statistics)
    assert found.relation.same is not spoken, found.reason
    equal = replace(page(100, 0), title=names[1], site="1.example")
    assert decide_pair(page(100, 0), equal, statistics).relation.same


def test_two_versions_of_a_story_do_not_make_its_headline_a_placeholder() -> None:
    versions = (lines(10, 10), (*lines(10, 5), *lines(11, 12)))
    pages = [Small((*versions[n % 2], *lines(3000 + n, 1)), lines(10, 1)[0][:10]) for n in range(40)]
    assert not len(learned(pages).placeholders)


@pytest.mark.parametrize(
    ("numbers", "form"),
    [
        (lambda page: [page], True),
        (lambda page: [page % 10], True),
        (lambda page: range(100 * page + 50, 100 * page + 64) if page < 2 else [page], True),
        (lambda page: [max(page - 6, 0)], False),
        (lambda _: range(12), False),
    ],
    ids=[
        "each page has its own",
        "each has a copy",
        "two pages have many",
        "most pages of a story have one",
        "all list the same",
    ],
)
def test_a_title_of_pages_that_differ_by_the_number_in_one_clause_says_nothing(
    numbers: Callable[[int], Iterable[int]], *, form: bool
) -> None:
    pages = [
        Small(
            (*WIRE, *(f"本期编号为{100 + each}号" for each in numbers(page))),
            WIRE[0][:10],
            site=f"s{page // 8}",
        )
        for page in range(12)
    ]
    statistics = learned([*pages, replace(pages[0], lines=(*WIRE, *lines(7, 1)))])
    assert len(statistics.placeholders) == form
    assert decide_pair(pages[0], pages[-1], statistics).relation.same is not form
    assert not len(learned(pages[:9]).placeholders), "fewer may be corrected copies"
    reprints = [replace(page, site=f"s{place // 2}") for place, page in enumerate(pages)]
    assert not len(learned(reprints).placeholders), "rows of a form are of one site"
    others = [Small(page.lines, title[:10]) for page, title in zip(pages * 2, lines(8, 24), strict=True)]
    assert not len(learned([*pages, *others]).placeholders), (
        "what counts views stands under other titles, too"
    )


def test_pages_without_words_or_titles_teach_nothing() -> None:
    assert learned([]).version == Statistics.empty().version
    statistics = learned([Small(("……",)), Small(()), Small(("",), "题")])
    assert (statistics.pages, len(statistics.grams)) == (3, 0)
    assert set(clause_weights(Statistics.empty(), NOTICE)) == {1.0}, "what is not known counts fully"


class TestBytes:
    @pytest.mark.parametrize("statistics", [Statistics.empty(), LEARNED], ids=["empty", "learned"])
    def test_round_trip(self, statistics: Statistics) -> None:
        again = Statistics.from_bytes(statistics.to_bytes())
        assert again.version == statistics.version
        for field in fields(Statistics):
            assert np.array_equal(getattr(again, field.name), getattr(statistics, field.name))

    def test_damaged_bytes_are_a_value_error_or_the_same(self) -> None:
        data = LEARNED.to_bytes()
        for seed in range(20):
            source = random.Random(seed)
            bad = bytearray(data)
            for _ in range(source.randint(1, 30)):
                bad[source.randrange(len(bad))] = source.randrange(256)
            cut = bytes(bad[: source.randrange(len(bad))] if seed % 2 else bad)
            try:
                found = Statistics.from_bytes(cut)
            except ValueError:
                continue
            assert found.version == LEARNED.version, f"bytes that no reader looks at, of seed {seed}"

    @pytest.mark.parametrize("data", [b"", b"PK\x05\x06" + bytes(18), b"\x93NUMPY\x01\x00"])
    def test_other_bytes_are_a_value_error(self, data: bytes) -> None:
        with pytest.raises(ValueError, match="snapshot"):
            Statistics.from_bytes(data)


def test_of_more_pages_those_with_the_smallest_keys_are_learned_from() -> None:
    pages = [*template_pages(20), *reprints(20)]
    sampled = learn(corpus(pages), SETTINGS.ccdet, most_pages=15)
    rows = np.sort(np.argsort(corpus(pages).place_keys)[:15]).tolist()
    alone = learned([pages[row] for row in rows], [f"page-{row}" for row in rows])
    assert sampled.pages == len(pages)
    assert np.array_equal(sampled.grams, alone.grams)
    assert np.array_equal(sampled.clause_weights, alone.clause_weights)


@pytest.mark.parametrize(
    "change",
    [
        {"grams": np.array([3, 1], dtype=np.uint32)},
        {"grams": np.array([1.0, 3.0])},
        {"grams": np.array([[1, 3]], dtype=np.uint32), "gram_weights": np.array([[1, 1]], dtype=np.float32)},
        {"gram_weights": np.array([1, np.nan], dtype=np.float32)},
        {"gram_weights": np.array([1, 7], dtype=np.float32)},
        {"gram_weights": np.array([1], dtype=np.float32)},
        {"noise": np.array([b"x"])},
        {"placeholders": np.array([3, 1])},
        {"pages": -1},
    ],
)
def test_columns_that_kernels_could_not_be_trusted_with_are_refused(change: dict[str, Any]) -> None:
    sound = replace(
        Statistics.empty(),
        grams=np.array([1, 3], dtype=np.uint32),
        gram_weights=np.array([1, 0.5], dtype=np.float32),
        pages=2,
    )
    assert Statistics.from_bytes(sound.to_bytes()).pages == 2
    with pytest.raises(DamagedData):
        Statistics.from_bytes(replace(sound, **change).to_bytes())
