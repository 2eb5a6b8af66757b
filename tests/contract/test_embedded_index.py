"""The embedded index keeps the contracts of the index ports."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from es_dedup.errors import DamagedData, IndexUnavailable
from es_dedup.index.embedded import EmbeddedIndex, adapter, candidates, fulltext, tables
from es_dedup.index.records import RecordBatch
from es_dedup.index.texts import compress_text, decompress_text
from es_dedup.model import CandidateQuery, Edge, Relation, TermGroup
from es_dedup.testing.builders import candidate_query, posting_counts, random_records, record
from es_dedup.testing.index_contract import FeatureIndexContract
from tests.plain_index import PlainIndex

FEATURES = {"ccdet.window": 10}


class TestOnDisk(FeatureIndexContract):
    @pytest.fixture
    def index(self, tmp_path: Path) -> Iterator[EmbeddedIndex]:
        with EmbeddedIndex(tmp_path / "pages.db", features=FEATURES) as index:
            yield index

    @pytest.fixture
    def other_reader(self, index: EmbeddedIndex, tmp_path: Path) -> Iterator[EmbeddedIndex]:
        with EmbeddedIndex(tmp_path / "pages.db", features=FEATURES, read_only=True) as reader:
            yield reader


class TestInMemory(TestOnDisk):
    @pytest.fixture
    def index(self) -> Iterator[EmbeddedIndex]:
        with EmbeddedIndex(":memory:", features=FEATURES) as index:
            yield index

    @pytest.fixture
    def other_reader(self) -> EmbeddedIndex:
        pytest.skip("an index in memory belongs to one object")


TERMS = st.integers(0, 12) | st.sampled_from([(1 << 48) - 1, 1 << 47])
PAGES = st.dictionaries(
    st.text("ab一\U00020000", min_size=1, max_size=3), st.sets(TERMS, max_size=8), max_size=12
)
GROUPS = st.lists(
    st.builds(
        TermGroup,
        st.lists(TERMS, max_size=6).map(tuple),
        st.integers(0, 4),
        common_df=st.none() | st.integers(1, 4),
        max_df=st.none() | st.integers(1, 8),
    ),
    max_size=3,
)
QUERIES = st.builds(
    CandidateQuery,
    GROUPS.map(tuple),
    limit=st.integers(1, 6),
    max_df=st.integers(1, 8),
    exclude=st.none() | st.sampled_from(["a", "b", "ab"]),
)


@example(  # groups in which a term weighs the same
    first={},
    second={"a": {0}, "aa": {0}},
    deleted=set(),
    candidate_queries=[
        CandidateQuery((TermGroup((0,), 0), TermGroup((0,), 1, common_df=1)), limit=1, max_df=2)
    ],
)
@given(
    first=PAGES,
    second=PAGES,
    deleted=st.sets(st.sampled_from("ab"), max_size=2),
    candidate_queries=st.lists(QUERIES, max_size=4),
)
@settings(max_examples=150)
def test_same_answers(
    first: dict[str, set[int]],
    second: dict[str, set[int]],
    deleted: set[str],
    candidate_queries: list[CandidateQuery],
) -> None:
    plain = PlainIndex()
    with EmbeddedIndex(":memory:", features=FEATURES) as index:
        for pages in (first, second, first):
            for each in (index, plain):
                each.put_many(record(page_id, terms) for page_id, terms in pages.items())
                each.delete_many(deleted)
            if (
                pages is not second
            ):  # so that pages are replaced and deleted before and after their postings are made
                assert index.candidates_many(candidate_queries) == plain.candidates_many(candidate_queries)


def test_a_copy_of_an_index_in_memory_has_its_postings(tmp_path: Path) -> None:
    with EmbeddedIndex(":memory:", features=FEATURES) as index:
        index.put_many([record("a", [1])])
        with index.copy_to(tmp_path / "copy.db"):
            pass
    with EmbeddedIndex(tmp_path / "copy.db", features=FEATURES) as copy:
        assert posting_counts(copy, 1) == [1]


def test_an_interrupted_read_loses_no_postings(monkeypatch: pytest.MonkeyPatch) -> None:
    with EmbeddedIndex(":memory:", features=FEATURES) as index:
        index.put_many([record("a", [1])])
        with monkeypatch.context() as patched:
            patched.setattr(candidates, "candidates_many", Mock(side_effect=KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                index.candidates_many([candidate_query(1)])
        assert index.candidates_many([candidate_query(1)])[0].candidates == ("a",)


class TestCopy:
    @pytest.fixture
    def stored(self) -> Iterator[EmbeddedIndex]:
        with EmbeddedIndex(":memory:", features=FEATURES) as index:
            index.put_many([record("a", [1])])
            yield index

    def test_a_file_that_is_made_meanwhile_is_not_replaced(
        self, stored: EmbeddedIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        place = tmp_path / "copy.db"
        monkeypatch.setattr("os.fsync", lambda _: place.write_bytes(b"of another process"))
        with pytest.raises(IndexUnavailable, match=r"copy\.db is there"), stored.copy_to(place):
            pass
        assert place.read_bytes() == b"of another process"

    def test_a_link_is_followed(self, stored: EmbeddedIndex, tmp_path: Path) -> None:
        link = tmp_path / "link.db"
        link.symlink_to(tmp_path / "copy.db")
        with stored.copy_to(link):
            pass
        assert link.is_symlink()
        assert (tmp_path / "copy.db").is_file()

    def test_what_a_killed_process_of_the_same_number_left_is_overwritten(
        self, stored: EmbeddedIndex, tmp_path: Path
    ) -> None:
        (tmp_path / f"copy.db.{os.getpid()}.part").write_bytes(b"half a copy")
        with stored.copy_to(tmp_path / "copy.db"):
            pass
        with EmbeddedIndex(tmp_path / "copy.db", features=FEATURES) as copy:
            assert copy.count() == 1

    def test_a_name_may_be_no_utf_8(self, stored: EmbeddedIndex, tmp_path: Path) -> None:
        place = tmp_path / os.fsdecode("副本.db".encode("gbk"))
        with stored.copy_to(place):
            pass
        assert place.is_file()

    def test_a_missing_folder_is_named(self, stored: EmbeddedIndex, tmp_path: Path) -> None:
        with (
            pytest.raises(IndexUnavailable, match=f"the folder {tmp_path / 'no'} does not exist"),
            stored.copy_to(tmp_path / "no" / "copy.db"),
        ):
            pass


class TestColumns:
    def test_a_batch_of_columns_equals_records(self, index: EmbeddedIndex, tmp_path: Path) -> None:
        whole = record("a", [0, (1 << 48) - 1], title="标题", url="https://example.org/新闻", text="第一段。")
        records = [whole, *random_records(30, seed=1), record("b", text="abc")]
        index.put_many(records)
        batch = RecordBatch.of(records)
        packed = [compress_text(text) if isinstance(text, str) else text for text in batch.texts]
        with EmbeddedIndex(tmp_path / "other.db", features=FEATURES) as other:
            other.put_batch(replace(batch, texts=packed))
            assert list(other.scan()) == list(index.scan())
            assert other.texts(["a", "b"]) == index.texts(["a", "b"])

    def test_columns_that_do_not_fit_are_refused(self) -> None:
        with pytest.raises(ValueError, match="differ in length"):
            replace(RecordBatch.of([record("a", [1])]), lengths=[1, 2])

    def test_postings_of_terms(self, index: EmbeddedIndex) -> None:
        index.put_many([record("a", [1, 5]), record("b", [1, 3, 5]), record("c", [5, 1 << 47])])
        with index._connection.reading() as connection:
            docs = tables.docs_by_id(connection, ["a", "b", "c"])
            terms, caps = np.array([0, 1, 3, 5, 1 << 47], dtype=np.uint64), np.array([2, 2, 1, 2, 1])
            found, counts = candidates.find_postings(connection, terms, caps)
            nothing, _ = candidates.find_postings(connection, terms[:0], caps[:0])
        a, b, c = docs["a"], docs["b"], docs["c"]
        assert found.bounds.tolist() == [0, 0, 2, 3, 3, 4]
        assert found.pages.tolist() == [a, b, b, c]
        assert counts.tolist() == [0, 2, 1, 3, 1]
        assert len(nothing.pages) == 0

    def test_sizes_add_up_to_the_file(self, index: EmbeddedIndex, tmp_path: Path) -> None:
        index.put_many(random_records(500, seed=1))
        found = index.sizes()
        assert found["features"] > 500 * (40 + 20 * 6)
        assert found["postings"] > 500 * 20 * 10
        assert sum(size for part, size in found.items() if part != "total") == found["total"]

    def test_sizes_are_not_told_apart_without_dbstat(
        self, index: EmbeddedIndex, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        total = index.sizes()["total"]
        monkeypatch.setattr(adapter, "_TABLE_BYTES", "SELECT name, pgsize FROM no_such_table")
        found = index.sizes()
        assert found["other"] == found["total"] == total

    def test_an_edge_given_the_wrong_way_round_is_turned(self, index: EmbeddedIndex) -> None:
        index.put_edges([Edge("b", "a", Relation.CONTAINS, 0.5)])
        assert index.edges_of(["a"]) == [Edge("a", "b", Relation.CONTAINED, 0.5)]

    @pytest.fixture
    def index(self, tmp_path: Path) -> Iterator[EmbeddedIndex]:
        with EmbeddedIndex(tmp_path / "pages.db", features=FEATURES) as index:
            yield index


class TestFullText:
    def test_the_segmenter_makes_words_of_texts_and_queries(self) -> None:
        def pairs(texts: Sequence[str]) -> list[str]:
            return [" ".join(text[place : place + 2] for place in range(0, len(text), 2)) for text in texts]

        with EmbeddedIndex(":memory:", features=FEATURES, segment=pairs) as index:
            index.put_many([record("a", text="北京大学"), record("b", text="京北大学")])
            assert [page_id for page_id, _ in index.search("北京")] == ["a"]

    def test_an_index_of_mostly_dead_rows_is_made_anew(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(fulltext, "MIN_GONE_ROWS", 10)
        with EmbeddedIndex(":memory:", features=FEATURES) as index:
            for turn in range(8):
                index.put_many(record(f"{page}", text=f"turn {turn}") for page in range(5))
                assert len(index.search(f"turn {turn}")) == 5
            with index._connection.reading() as connection:
                assert connection.execute("SELECT count(*) FROM fulltext_docsize").fetchone()[0] <= 15


class TestCodec:
    @given(st.text() | st.text("的一是不了人我在有他这中大来上国", min_size=50, max_size=300))
    def test_texts_come_back(self, text: str) -> None:
        assert decompress_text(compress_text(text)) == text

    def test_every_character_comes_back(self) -> None:
        text = "".join(map(chr, (*range(0xD800), *range(0xE000, 0x110000))))
        assert decompress_text(compress_text(text)) == text
        assert all(decompress_text(compress_text("中" + char)) == "中" + char for char in text[::97])

    def test_a_damaged_size_takes_no_memory(self) -> None:
        stored = compress_text("text " * 1_000)
        assert stored[5] == 0x60  # the frame names its size in two bytes
        with pytest.raises(DamagedData, match="bytes"):
            decompress_text(stored[:5] + bytes([0xE0]) + b"\xff" * 7 + b"\x0f" + stored[8:])

    @pytest.mark.parametrize("stored", [b"\x09abc", b"\x01abc", b"\x00\xff"])
    def test_other_bytes_are_refused(self, stored: bytes) -> None:
        with pytest.raises(ValueError, match=r".+"):
            decompress_text(stored)
