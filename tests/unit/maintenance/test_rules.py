"""Rules of maintenance that need no server: batches after failures, the guard, marks, fields of documents."""

import json
from datetime import UTC, datetime
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_dedup.errors import MassChange
from es_dedup.index.cluster_changes import Assignment
from es_dedup.index.jobs import Job, JobState, Partition, as_dict
from es_dedup.index.source_index import (
    DedupField,
    DocumentKey,
    SourceFields,
    dedup_fields_of_groups,
    document_key,
)
from es_dedup.maintenance.audit import agrees
from es_dedup.maintenance.context import MaintenanceContext
from es_dedup.model import Edge, Relation
from es_dedup.settings import Settings


def context(**maintenance: Any) -> Any:
    return SimpleNamespace(settings=Settings.model_validate({"maintenance": maintenance}))


@given(batch=st.integers(1, 5000), most=st.integers(1, 20))
def test_batches_shrink_to_one_page_before_one_is_given_up(batch: int, most: int) -> None:
    where = context(batch=batch, max_attempts=most)
    parts = [Partition("j", "0.a", 0, {}, attempts=attempts) for attempts in range(1, most + 2)]
    sizes = [MaintenanceContext.batch_of(where, part) for part in parts]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == (batch if most > 1 else 1)
    assert sizes[most - 1] == 1
    assert [MaintenanceContext.gives_up(where, part) for part in parts] == [False] * most + [True]


def test_the_guard_lets_small_changes_pass_and_refuses_large_ones_unless_forced() -> None:
    guard = partial(MaintenanceContext.guard, context(max_change_share=0.3), "recluster")
    guard(100, 100, force=False)
    guard(300, 1000, force=False)
    guard(1000, 1000, force=True)
    with pytest.raises(MassChange, match="301"):
        guard(301, 1000, force=False)


def test_marks_say_who_stands_for_a_cluster_and_what_contains_a_page() -> None:
    group = [
        Assignment("i/a", "c", "i/a", Relation.EXACT, 1.0),
        Assignment("i/b", "c", "i/a", Relation.DUPLICATE, 0.9),
    ]
    edges = [Edge("i/a", "i/z", Relation.CONTAINED, 0.8), Edge("i/b", "i/y", Relation.CONTAINS, 0.8)]
    assert dedup_fields_of_groups([group], edges) == {
        "i/a": DedupField("c", canonical=True, relation="contained", contained_in=("i/z",), cluster_size=2),
        "i/b": DedupField("c", canonical=False, relation="duplicate", duplicate_of="i/a", cluster_size=0),
    }


def test_a_document_agrees_with_its_mark_whether_empty_values_are_null_or_missing() -> None:
    dedup_field = DedupField("c", canonical=True, relation="unique")
    assert agrees(dedup_field.as_dict(), dedup_field)
    assert agrees(
        {"cluster_id": "c", "canonical": True, "relation": "unique", "cluster_size": 1}, dedup_field
    )
    assert not agrees({**dedup_field.as_dict(), "duplicate_of": "x"}, dedup_field)
    assert not agrees({}, dedup_field)


@given(
    index=st.from_regex(r"[a-z0-9][a-z0-9._-]{0,40}", fullmatch=True),
    name=st.text(min_size=1, max_size=100),
    routing=st.text(max_size=40).filter(lambda text: text.isprintable()),
)
def test_a_page_id_is_another_form_of_the_key(index: str, name: str, routing: str) -> None:
    key = DocumentKey(index, name, routing)
    assert document_key(key.page_id) == key


def test_a_key_that_is_too_long_for_a_page_id_says_so() -> None:
    assert DocumentKey("a", "b" * 512).problem
    assert not DocumentKey("a", "b" * 510).problem


@pytest.mark.parametrize(
    "source",
    [{"a": {"b": {"c": "text"}}}, {"a.b.c": "text"}, {"a": {"b.c": "text"}}, {"a.b": {"c": ["text"]}}],
)
def test_a_dotted_field_is_found_however_it_is_written(source: dict[str, Any]) -> None:
    assert SourceFields("a.b.c").page("p", source).text == "text"


def test_fields_of_a_document_make_a_page() -> None:
    fields = SourceFields("body", html=True, published="at", site="host")
    page = fields.page("i/1", {"body": "<p>x", "title": ["a", "b"], "at": 1_700_000_000_000, "host": None})
    assert (page.html, page.text, page.title, page.site, page.url) == ("<p>x", None, "a\nb", None, None)
    assert page.published == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    assert fields.page("i/1", {"at": "2026-01-02"}).published == "2026-01-02"


def test_a_job_is_read_as_it_was_written() -> None:
    job = Job("1", "backfill", JobState.PAUSED, {"target": None}, 1, 2, 1, ("0.a", "1.b"), (2, 1), {"n": 1})
    assert Job.from_dict(json.loads(json.dumps(as_dict(job)))) == job
    part = Partition("1", "0.a", 0, {"index": "x"}, 5, 17, counts={"stored": 3})
    assert Partition(**json.loads(json.dumps(as_dict(part)))) == part
