"""What every ``Index`` must do with pages, by the methods of the port: one test per sentence, or a line of ``history_contract``.

An adapter inherits ``FeatureIndexContract`` and supplies a fixture ``index`` with an empty index. Where a
second object can be opened on the same storage, it overrides ``other_reader`` too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from es_dedup.index.records import RecordBatch
from es_dedup.testing.builders import candidate_query, copies, random_records, record
from es_dedup.testing.candidate_contract import CandidateContract
from es_dedup.testing.cluster_contract import ClusterContract
from es_dedup.testing.contract_fixtures import ids
from es_dedup.testing.history_contract import HistoryContract
from es_dedup.testing.search_contract import SearchContract

if TYPE_CHECKING:
    from es_dedup.index.port import Index


class FeatureIndexContract(HistoryContract, CandidateContract, SearchContract, ClusterContract):
    """All of ``Index``."""

    # --- put_many

    def test_what_cannot_be_stored_is_reported_and_the_rest_written(self, index: Index) -> None:
        wrong_ids = ("", "x" * 513, "bad\ud800", "null\x00")
        wrong_fields: tuple[dict[str, Any], ...] = (
            *({"title": "\udc00"}, {"text": "\ud800"}, {"length": -1}, {"content_hash": 1 << 64}),
            {"terms": [1 << 48]},
        )
        wrong = [record(page_id) for page_id in wrong_ids]
        wrong += [record(f"a{number}", **fields) for number, fields in enumerate(wrong_fields)]
        for number, one in enumerate(wrong):
            before, later = f"before {number}", f"later {number}"
            failed = index.put_many([record(before, [1]), one, record(later, [1])])
            assert list(failed) == [one.page_id]
            assert failed[one.page_id]
            assert set(index.get_many([before, one.page_id, later])) == {before, later}
            assert index.put_new(RecordBatch.of([one, record(later)])) == (failed, {later})

    def test_another_reader_sees_it_after_refresh(self, index: Index, other_reader: Index) -> None:
        index.put_many([record("a", [1])])
        index.refresh()
        assert list(other_reader.get_many(["a"])) == ["a"]
        assert ids(other_reader.candidates_many([candidate_query(1)])[0]) == ["a"]

    # --- get_many and named

    def test_many_ids_at_once(self, index: Index) -> None:
        records = random_records(1500, seed=2, terms=1)
        index.put_many(records)
        assert len(index.get_many(one.page_id for one in records)) == 1500

    def test_named_features_are_read_apart_where_they_are_kept(self, index: Index) -> None:
        shown = {
            "period_signatures": ["水位上升", '闸门"一"'],
            "simhash_band_0": 7,
            "key_concept_positions": [],
        }
        index.put_many([record("a", named=shown), record("b")])
        assert index.get_many(["a"])["a"].named == {}
        found = index.named(["b", "a", "none", ""])
        assert found.get("a", {}) == (shown if index.keeps_named else {})
        assert found.keys() <= {"a", "b"}
        assert not found.get("b")

    # --- Copies that candidates_with_copies finds

    def test_at_most_so_many_for_each_hash(self, index: Index) -> None:
        names = [f"p{number:04}" for number in range(1100)]
        index.put_many([record(name, content_hash=7 if name < "p1095" else 8) for name in reversed(names)])
        assert copies(index, 7, 8, limit=3) == {7: names[:3], 8: names[1095:1098]}
        assert copies(index, 8, limit=9) == {8: names[1095:]}
        assert len(copies(index, 7)[7]) == 1095

    # --- note and set_note

    def test_notes_by_name(self, index: Index) -> None:
        assert index.note("a") is None
        index.set_note("a", "一 two")
        index.set_note("b", "")
        assert (index.note("a"), index.note("b")) == ("一 two", "")
        assert index.notes(["b", "c", "a"]) == {"b": "", "c": None, "a": "一 two"}
        assert index.note_names() == ["a", "b"]
        index.set_note("a", "three")
        index.set_note("b", None)
        index.set_note("b", None)
        assert (index.note("a"), index.note("b")) == ("three", None)

    def test_notes_that_are_kept_with_others_and_with_pages(self, index: Index) -> None:
        index.set_notes({"a": "1", "b": "2"})
        assert index.put_batch(RecordBatch.of([record("p")]), {"a": None, "c": "3"}) == {}
        assert index.put_new(RecordBatch.of([record("p"), record("q")]), {"b": "4"}) == ({}, {"p"})
        assert index.notes("abc") == {"a": None, "b": "4", "c": "3"}

    def test_a_note_may_have_megabytes(self, index: Index) -> None:
        text = "一 note " * 500_000
        index.set_note("a", text)
        assert index.note("a") == text

    # --- writing

    def test_a_write_session_may_be_nested(self, index: Index) -> None:
        with index.writing(), index.writing():
            index.put_many([record("a", [1])])
        assert index.count() == 1

    # --- erase and names_page

    def test_an_erased_page_is_named_nowhere_and_others_are_found(self, index: Index) -> None:
        index.put_many([record("a", [1], text="some words"), record("b", [1], text="other words")])
        index.search("words")
        index.delete_many(["a"])
        index.erase(["a", "unknown"])
        assert not index.names_page("a")
        assert not index.names_page("unknown")
        index.refresh()
        assert [name for name, _ in index.search("words")] == ["b"]
        assert index.get_many(["a", "b"]).keys() == {"b"}
        index.put_many([record("a", [1], text="some words")])
        assert index.get_many(["a", "b"]).keys() == {"a", "b"}
