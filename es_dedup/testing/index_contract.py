"""What every ``Index`` must do with pages, by the methods of the port: one test per sentence.

An adapter inherits ``FeatureIndexContract`` and supplies a fixture ``index`` with an empty index. Where a
second object can be opened on the same storage, it overrides ``other_reader`` too.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from es_dedup.index.records import RecordBatch
from es_dedup.testing.builders import (
    candidate_query,
    copies,
    full_record,
    posting_counts,
    random_records,
    record,
)
from es_dedup.testing.candidate_contract import CandidateContract
from es_dedup.testing.cluster_contract import ClusterContract
from es_dedup.testing.contract_fixtures import ids, same_record
from es_dedup.testing.search_contract import SearchContract

if TYPE_CHECKING:
    from es_dedup.index.port import Index


class FeatureIndexContract(CandidateContract, SearchContract, ClusterContract):
    """All of ``Index``."""

    # --- put_many

    def test_a_record_comes_back_as_it_was_put(self, index: Index) -> None:
        assert index.put_many([full_record("a")]) == {}
        assert same_record(index.get_many(["a"])["a"], full_record("a"))

    def test_a_batch_may_be_empty_or_an_iterator(self, index: Index) -> None:
        assert index.put_many([]) == {}
        assert index.count() == 0
        assert index.put_many(iter(random_records(3, seed=1))) == {}
        assert index.count() == 3

    def test_a_known_id_replaces_the_record_its_terms_and_its_text(self, index: Index) -> None:
        index.put_many([replace(full_record("a"), terms=(1, 2, 3))])
        new = record("a", [3, 4], title="new", payload=b"new", text="new words")
        index.put_many([new])
        assert same_record(index.get_many(["a"])["a"], new)
        assert (index.count(), index.texts(["a"])) == (1, {"a": "new words"})
        assert posting_counts(index, 1, 2, 3, 4) == [0, 0, 1, 1]
        index.put_many([record("a")])
        assert index.texts(["a"]) == {}

    def test_the_last_of_equal_ids_in_a_batch_wins(self, index: Index) -> None:
        index.put_many([record("a", [1], title="first"), record("b", [1]), record("a", [2], title="last")])
        assert index.count() == 2
        assert index.get_many(["a"])["a"].title == "last"
        assert posting_counts(index, 1, 2) == [1, 1]

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

    def test_a_page_without_features_is_stored(self, index: Index) -> None:
        empty = record("a", length=0, content_hash=0, payload=b"", skipped="too short")
        index.put_many([empty])
        assert same_record(index.get_many(["a"])["a"], empty)

    def test_another_reader_sees_it_after_refresh(self, index: Index, other_reader: Index) -> None:
        index.put_many([record("a", [1])])
        index.refresh()
        assert list(other_reader.get_many(["a"])) == ["a"]
        assert ids(other_reader.candidates_many([candidate_query(1)])[0]) == ["a"]

    # --- put_new

    def test_only_pages_that_are_not_stored_are_written(self, index: Index) -> None:
        index.put_many([record("b", [1])])
        assert index.put_new(RecordBatch.of([record("a", [2]), record("b", [3], length=7)])) == ({}, {"b"})
        assert posting_counts(index, 1, 2, 3) == [1, 1, 0]
        assert index.get_many(["b"])["b"].length == record("b").length
        assert index.put_new(RecordBatch.of([record("a"), record("b")])) == ({}, {"a", "b"})
        assert index.put_new(RecordBatch.of([])) == ({}, set())

    def test_what_cannot_be_stored_is_named(self, index: Index) -> None:
        failed, there = index.put_new(RecordBatch.of([record("a"), record("")]))
        assert (list(failed), there, index.count()) == ([""], set(), 1)

    # --- get_many, payloads, texts and count

    def test_unknown_ids_are_absent(self, index: Index) -> None:
        index.put_many([record("a", text="words")])
        assert list(index.get_many(["b", "a", "", "bad\ud800", "a\0b"])) == ["a"]
        index.put_many([record("\U0001f600")])
        assert index.get_many(["a\0", "a\ud800", "\ud83d\ude00"]) == {}
        assert index.texts(["b", "a", "", "bad\ud800"]) == {"a": "words"}

    def test_payloads_come_with_the_time_of_publication(self, index: Index) -> None:
        index.put_many([full_record("a"), record("b")])
        found = index.payloads(["a", "x", "b", "bad\ud800"])
        stored = full_record("a"), record("b")
        assert found == {one.page_id: (one.payload, one.published) for one in stored}

    def test_records_come_without_text(self, index: Index) -> None:
        index.put_many([record("a", text="words")])
        assert index.get_many(["a"])["a"].text == ""
        assert [one.text for part in index.scan() for one in part] == [""]

    def test_texts_come_back_as_they_were_put(self, index: Index) -> None:
        texts = {"a": full_record("a").text, "b": "x", "c": "重复的句子。" * 2000, "d": "٣ भारत ελληνικά"}
        index.put_many([record(page_id, text=text) for page_id, text in texts.items()])
        assert index.texts(texts) == texts

    def test_pages_by_url_ascending(self, index: Index) -> None:
        url = "http://site.example/1"
        index.put_many([record("b", url=url), record("a", url=url), record("c", url=f"{url}2"), record("d")])
        index.refresh()
        assert index.pages_with_url([url, "http://nobody.example"]) == {url: ["a", "b"]}

    def test_pages_published_before_a_day(self, index: Index) -> None:
        times = {"a": "2026-08-25T23:59:59", "b": "2026-08-26", "c": "", "d": "1999", "e": "2027-01-01T00:00"}
        index.put_many(record(name, published=time) for name, time in times.items())
        index.refresh()
        assert [name for some in index.pages_before("2026-08-26") for name in some] == ["a", "d"]
        assert list(index.pages_before("1999")) == []

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

    def test_count_is_the_number_of_stored_pages(self, index: Index) -> None:
        assert index.count() == 0
        index.put_many(random_records(5, seed=3))
        index.delete_many(["page-0000"])
        assert index.count() == 4

    # --- Copies that candidates_with_copies finds

    def test_pages_by_hash_ascending_and_zero_finds_nothing(self, index: Index) -> None:
        top = (1 << 64) - 1
        index.put_many(
            [record("b", content_hash=top), record("a", content_hash=top), record("c", content_hash=0)]
        )
        assert copies(index, top, 0, 5, top) == {top: ["a", "b"]}
        assert copies(index) == {}
        index.delete_many(["a"])
        assert copies(index, top) == {top: ["b"]}

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

    # --- To repeat a call is safe

    def test_the_same_batch_twice_changes_nothing(self, index: Index) -> None:
        records = random_records(20, seed=9)
        before = [index.put_many(records), list(index.scan()), posting_counts(index, *range(50))]
        assert before == [index.put_many(records), list(index.scan()), posting_counts(index, *range(50))]

    def test_a_write_session_may_be_nested(self, index: Index) -> None:
        with index.writing(), index.writing():
            index.put_many([record("a", [1])])
        assert index.count() == 1

    # --- delete_many

    def test_a_deleted_page_is_gone_with_its_terms_and_text(self, index: Index) -> None:
        index.put_many([record("a", [1, 2], text="words"), record("b", [1])])
        assert index.delete_many(["a"]) == 1
        assert (index.get_many(["a"]), index.texts(["a"]), index.search("words")) == ({}, {}, [])
        assert posting_counts(index, 1, 2) == [1, 0]
        assert ids(index.candidates_many([candidate_query(1, 2)])[0]) == ["b"]
        index.put_many([record("a", [2], text="new")])
        assert (index.count(), posting_counts(index, 1, 2)) == (2, [1, 1])
        assert index.texts(["a"]) == {"a": "new"}

    def test_unknown_ids_are_no_error(self, index: Index) -> None:
        index.put_many([record("a")])
        assert index.delete_many(["x", "a", "a", "bad\ud800"]) == 1
        assert index.delete_many(["a"]) == 0
        assert index.delete_many([]) == 0

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

    # --- scan

    def test_all_records_by_id_ascending(self, index: Index) -> None:
        assert list(index.scan()) == []
        records = random_records(25, seed=4)
        index.put_many(reversed(records))
        for batch in (1, 7, 1000):
            batches = list(index.scan(batch=batch))
            assert all(len(part) <= batch for part in batches)
            found = [one for part in batches for one in part]
            assert [one.page_id for one in found] == [one.page_id for one in records]
            assert all(same_record(*pair) for pair in zip(found, records, strict=True))

    def test_resumes_after_an_id(self, index: Index) -> None:
        index.put_many(random_records(5, seed=5))
        found = [one.page_id for part in index.scan(after="page-0002") for one in part]
        assert found == ["page-0003", "page-0004"]
        assert [one.page_id for part in index.scan(after="page-0002x") for one in part] == found
