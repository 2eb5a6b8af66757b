"""Chunks of features: the same from worker processes as from one, for every form of input."""

import multiprocessing
import signal
from concurrent.futures import ProcessPoolExecutor
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np
import pytest

from es_dedup import Deduplicator, Page, Settings
from es_dedup.batch.featurise import (
    CHUNK_PAGES,
    POOL_FROM_PAGES,
    Chunk,
    FeatureMaker,
    _interrupts_held,
    content_of,
)
from es_dedup.decision.comparison import days_of
from es_dedup.detectors.features import pack, unpack
from es_dedup.index.factory import text_codec
from tests.samples import pages
from tests.texts import article

ALONE: Final = Settings(workers=1)
EXTRACTION: Final = ALONE.extraction
HTML: Final = (
    "<html><head><title>桥 - 站点</title><meta property='article:published_time' content='2024-05-01'></head>"
    f"<body><p>{article(1, sentences=4)}</p><p>{article(2, sentences=4)}</p></body></html>"
)


def columns(chunk: Chunk) -> dict[str, Any]:
    """All that is stored of a chunk, in a form that can be compared."""
    values = {field.name: getattr(chunk.records, field.name) for field in fields(chunk.records)}
    return {name: np.asarray(value).tolist() for name, value in values.items()}


def one(page: Page) -> Chunk:
    """A chunk of one page."""
    return FeatureMaker(ALONE).chunk([page])


@pytest.fixture(scope="module")
def many() -> list[Page]:
    """More pages than one process is used for; some cannot be processed."""
    texts = [article(seed % 50, sentences=2 + seed % 5) for seed in range(POOL_FROM_PAGES - 100)]
    made = [Page(f"page-{n}", text=text, title=text[:8]) for n, text in enumerate(texts)]
    return [*pages(), *made[:500], Page("", text="x"), Page("y" * 600, text="x"), *made[500:]]


class TestWorkers:
    def test_give_the_same_chunks_as_one_process(self, many: list[Page]) -> None:
        codec = text_codec(ALONE)
        apart = list(FeatureMaker(Settings(workers=2), codec).chunks(iter(many)))
        alone = list(FeatureMaker(ALONE, codec).chunks(iter(many)))
        assert len(many) > POOL_FROM_PAGES
        assert [chunk.read for chunk in apart] == [chunk.read for chunk in alone]
        for left, right in zip(apart, alone, strict=True):
            assert columns(left) == columns(right)
            assert left.failed == right.failed
            assert pack(left.table) == pack(right.table)

    def test_pages_come_in_the_order_of_the_input(self, many: list[Page]) -> None:
        names = [name for chunk in FeatureMaker(ALONE).chunks(many) for name in chunk.records.ids]
        assert names == [page.id for page in many if 0 < len(page.id.encode()) <= 512]

    def test_pages_are_taken_lazily(self) -> None:
        taken: list[str] = []

        def endless() -> Any:
            while True:
                taken.append("page")
                yield Page(f"page-{len(taken)}", text="短文。")

        made = FeatureMaker(ALONE).chunks(endless())
        assert next(made).read == CHUNK_PAGES
        assert len(taken) <= POOL_FROM_PAGES + CHUNK_PAGES
        made.close()  # type: ignore[attr-defined]  # a generator

    def test_a_page_that_cannot_be_sent_to_a_process_is_read_here(self, many: list[Page]) -> None:
        class Local(str):  # of no module, so that it cannot be pickled
            __slots__ = ()

        odd = Page(id="odd", text=Local("a story. it is told."))
        made = list(FeatureMaker(Settings(workers=2)).chunks([*many, odd]))
        failed = {name: problem for chunk in made for name, problem in chunk.failed.items()}
        assert made[-1].records.ids[-1] == "odd"
        assert sum(len(chunk.records.ids) for chunk in made) + len(failed) == len(many) + 1

    def test_a_large_page_fills_a_chunk(self) -> None:
        large = [Page(str(n), text="一" * 1_200_000) for n in range(2)]
        assert [chunk.read for chunk in FeatureMaker(ALONE).chunks(large)] == [1, 1]

    def test_no_pages_no_chunks(self) -> None:
        assert list(FeatureMaker(ALONE).chunks([])) == []


class TestIds:
    @pytest.mark.parametrize("bad", ["", "x" * 513])
    def test_an_id_that_cannot_be_kept_is_named(self, bad: Any) -> None:
        chunk = FeatureMaker(ALONE).chunk([Page("a", text="x"), Page(bad, text="y"), Page("b", text="z")])
        assert list(chunk.records.ids) == ["a", "b"]
        ((name, problem),) = chunk.failed.items()
        assert name == str(bad)[:80]
        assert "id" in problem
        assert chunk.read == 3

    def test_the_longest_id_is_kept(self) -> None:
        assert list(one(Page("x" * 512, text="y")).records.ids) == ["x" * 512]


class TestOddPages:
    def test_a_page_without_input_is_named_and_the_others_go_on(self) -> None:
        (chunk,) = FeatureMaker(ALONE).chunks([Page("bad"), Page("b", text="z")])
        assert (list(chunk.records.ids), chunk.failed) == (["b"], {"bad": "neither text nor html"})

    def test_numbers_written_out_are_times(self) -> None:
        content, _ = content_of(Page("a", text="短文", published="1700000000"), EXTRACTION)
        assert content.published == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)

    def test_times_that_cannot_be_read_are_counted(self) -> None:
        times = ["gestern", "2024-05-01", "", None]
        pages = [Page(str(n), text="x", published=time) for n, time in enumerate(times)]
        (chunk,) = FeatureMaker(ALONE).chunks(pages)
        assert (chunk.unread_times, next(iter(chunk.records.published))) == (1, "")


class TestInputs:
    def test_text_skips_extraction_and_wins_over_html(self) -> None:
        content, skipped = content_of(Page("a", html=HTML, text="短文", title="题"), EXTRACTION)
        assert (content.text, content.title, skipped) == ("短文", "题", "")

    @pytest.mark.parametrize(
        ("text", "read"),
        [
            ('<p style="margin:0 16px">短文。</p>\n<P>A &amp; B</P>', "短文。\nA & B"),
            ("<!-- editor --><section><p>短文。</p></section>", "短文。"),
            (' <div class="c">一<br/>二<script>x()</script></div>', "一\n二"),
            ('<p><img src="a.png"/></p>', ""),
            ("&lt;p&gt;A &amp;amp; B&lt;/p&gt;", "A & B"),
            ('短文。<p style="margin:0 16px"><b>又一段</b></p>', "短文。\n又一段"),
            ("A paragraph is written <p>so</p>.", "A paragraph is written <p>so</p>."),
            ("&lt;p&gt; begins a paragraph", "<p> begins a paragraph"),
            ("&#36817;&#x65E5;&nbsp;&mdash;&ldquo;A&rdquo;", "近日\xa0—“A”"),
            (
                "see a.example/?x=1&copy=2&lt=3; R&D; &unknown;",
                "see a.example/?x=1&copy=2&lt=3; R&D; &unknown;",
            ),
            ("<p> begins a paragraph", "<p> begins a paragraph"),
            ("a < b, and </b> ends it", "a < b, and </b> ends it"),
            ("<note>An article of one sentence.</note>", "<note>An article of one sentence.</note>"),
            ("<3 the end</p>", "<3 the end</p>"),
        ],
    )
    def test_of_a_text_that_is_a_fragment_of_html_the_visible_text_is_taken(
        self, text: str, read: str
    ) -> None:
        content, skipped = content_of(Page("a", text=text, title="题"), EXTRACTION)
        assert (content.text, content.title, skipped) == (read, "题", "")

    @pytest.mark.parametrize("before", ["", "\n<!-- saved -->\n<!DOCTYPE html>"])
    def test_a_text_that_is_a_page_of_html_is_read_as_one(self, before: str) -> None:
        whole = before + HTML
        assert content_of(Page("a", text=whole), EXTRACTION) == content_of(Page("a", html=whole), EXTRACTION)

    def test_the_markup_of_an_editor_makes_no_duplicates(self) -> None:
        around = (
            '<p style="margin:0px 16px 24px;padding:0px;max-width:100%;box-sizing:border-box;clear:both;min-height:1em;'
            'text-indent:2em;letter-spacing:0.54px;"><span style="font-size:15px;color:rgb(62,62,62);line-height:1.75em;">'
        )
        texts = [article(seed, sentences=2) for seed in range(60)]
        bodies = ["".join(f"{around}{line}</span></p>" for line in text.split("。")) for text in texts]
        with Deduplicator.open(":memory:") as dedup:
            added = dedup.add_many(
                [Page(str(n), text=body, title=f"[视频]新闻 {n}") for n, body in enumerate(bodies)]
            )
        assert added.outcomes == {"unique": 60}

    @pytest.mark.parametrize("blank", ["", " \n\u3000"])
    def test_html_is_read_beside_a_blank_text(self, blank: str) -> None:
        assert content_of(Page("a", html=HTML, text=blank), EXTRACTION) == content_of(
            Page("a", html=HTML), EXTRACTION
        )
        assert content_of(Page("a", text=blank), EXTRACTION)[1] == ""

    def test_html_is_extracted_and_given_values_win(self) -> None:
        content, _ = content_of(Page("a", html=HTML, url="https://www.example.org/x"), EXTRACTION)
        assert (content.title, content.site) == ("桥 - 站点", "example.org")
        assert content.published == datetime(2024, 5, 1)  # noqa: DTZ001 - the page names no zone
        given, _ = content_of(Page("a", html=HTML, title="题", site="s", published="2020-01-02"), EXTRACTION)
        assert (given.title, given.site, given.published) == ("题", "s", datetime(2020, 1, 2))  # noqa: DTZ001

    def test_bytes_and_text_of_html_give_the_same(self) -> None:
        assert columns(one(Page("a", html=HTML.encode()))) == columns(one(Page("a", html=HTML)))

    @pytest.mark.parametrize(
        ("page", "reason"), [(Page("a", text=""), "empty"), (Page("a", text="……！"), "no-words")]
    )
    def test_a_page_without_words_is_stored_with_the_reason(self, page: Page, reason: str) -> None:
        chunk = one(page)
        assert list(chunk.records.skipped) == [reason]
        assert bool(chunk.records.content_hashes[0]) is (reason != "empty")
        assert len(chunk.records.terms) == 0

    def test_binary_is_stored_with_a_reason(self) -> None:
        assert one(Page("a", html=b"%PDF-1.7\x00\x01" + bytes(range(256)) * 40)).records.skipped[0] != ""

    def test_halves_of_surrogate_pairs_are_left_out(self) -> None:
        chunk = one(Page("a", text="前\ud800后", title="\udc00题"))
        assert chunk.records.titles[0] == "题"
        assert chunk.records.lengths[0] == 2

    def test_long_titles_and_addresses_are_cut(self) -> None:
        chunk = one(Page("a", text="x", title="t" * 5_000, url="https://example.org/" + "u" * 9_000))
        assert (len(chunk.records.titles[0]), len(chunk.records.urls[0])) == (1_000, 4_096)


class TestPublished:
    @pytest.mark.parametrize(
        ("given", "stored"),
        [
            ("2024-05-01", "2024-05-01T00:00:00"),
            ("20240501", "2024-05-01T00:00:00"),
            ("2024-05-01T08:00:00Z", "2024-05-01T08:00:00+00:00"),
            ("2024年5月1日 08:30", "2024-05-01T08:30:00"),
            (datetime(2024, 5, 1, 8, tzinfo=UTC), "2024-05-01T08:00:00+00:00"),
            ("yesterday", ""),
            ("2024-13-45", ""),
            ("", ""),
            (None, ""),
        ],
    )
    def test_odd_forms(self, given: Any, stored: str) -> None:
        assert one(Page("a", text="x", published=given)).records.published[0] == stored

    def test_days(self) -> None:
        none, first, second = days_of(["", "2024-05-01", "2024-05-02T01:00:00"]).tolist()
        assert (none, second - first) == (0, 1)


def test_what_is_packed_is_what_is_compared() -> None:
    table = FeatureMaker(ALONE).chunk(list(pages()[:60])).table
    again = unpack(pack(table))
    for name in ("lengths", "hashes", "fingerprints", "has_words"):
        assert np.array_equal(getattr(again, name), getattr(table, name))
    for part in ("periods", "coverage"):
        old, new = getattr(table, part), getattr(again, part)
        for field in fields(old):
            assert np.array_equal(getattr(old, field.name), getattr(new, field.name)), field.name


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_worker_process_holds_interrupts_from_its_start(method: str) -> None:
    """Else Ctrl-C while it imports prints a traceback."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context(method)) as pool:
        with _interrupts_held():
            held = pool.submit(signal.pthread_sigmask, signal.SIG_BLOCK, ())
        assert signal.SIGINT in held.result()
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
