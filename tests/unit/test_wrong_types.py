"""Arguments of wrong types are refused at once, with advice; and where settings come from when none are given."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from es_dedup import Deduplicator, Page, Settings, extract, load_settings
from es_dedup.collapse import DedupSearch
from es_dedup.errors import ConfigError
from es_dedup.hook import DedupHook, SourceFields, dedup_bulk, dedup_streaming_bulk
from es_dedup.index.embedded import EmbeddedIndex

NOBODY: Any = None
WRONG: Any = object()


@dataclass
class Frame:
    """As much of a DataFrame as tells that it is one."""

    columns: tuple[str, ...] = ("id", "text")

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)


PAGES: dict[str, tuple[dict[str, Any], str]] = {
    "id 0": ({"id": 0, "text": "x"}, "id of a Page must be str, not int"),
    "no id": ({"id": None, "text": "x"}, "id of a Page must be str, not NoneType"),
    "text of bytes": ({"id": "a", "text": b"x"}, "text of a Page must be str, not bytes"),
    "title not a number": ({"id": "a", "text": "x", "title": float("nan")}, "title .* not float"),
    "html of a path": ({"id": "a", "html": Path("a.html")}, "html of a Page must be bytes or str"),
    "a date": (
        {"id": "a", "text": "x", "published": date(2026, 1, 1)},
        "published .* str or datetime, not date",
    ),
    "url": ({"id": "a", "text": "x", "url": 5}, "url"),
}

CALLS: dict[str, tuple[Callable[[Deduplicator], object], str]] = {
    "a frame": (lambda dedup: dedup.add_many(Frame()), r"pages must be an iterable of Page objects, not Frame: .*Page\(id="),  # type: ignore[arg-type]
    "dicts": (lambda dedup: dedup.add_many([{"id": "a"}]), "a page must be a Page object, not dict"),  # type: ignore[list-item]
    "a dict": (lambda dedup: dedup.add_many({"id": "a"}), "not dict"),  # type: ignore[dict-item]
    "a string": (lambda dedup: dedup.add_many("page"), "not str"),  # type: ignore[arg-type]
    "one page": (lambda dedup: dedup.add_many(Page("a", text="x")), "pass a list"),  # type: ignore[arg-type]
    "a number": (lambda dedup: dedup.add_many(5), "not int"),  # type: ignore[arg-type]
    "scan of names": (lambda dedup: dedup.scan(["a.html"]), "read_pages reads files"),  # type: ignore[list-item]
    "a dry run": (lambda dedup: dedup.add_many(["a"], dry_run=True), "not str"),  # type: ignore[list-item]
    "add": (lambda dedup: dedup.add({"id": "a"}), "not dict"),  # type: ignore[arg-type]
    "add a list": (lambda dedup: dedup.add([Page("a", text="x")]), "not list"),  # type: ignore[arg-type]
    "update": (lambda dedup: dedup.update("a"), "not str"),  # type: ignore[arg-type]
    "check": (lambda dedup: dedup.check("a"), "not str"),  # type: ignore[arg-type]
    "check many": (lambda dedup: dedup.check_many([1]), "not int"),  # type: ignore[list-item]
    "check many of a string": (lambda dedup: dedup.check_many("ab"), "not str"),  # type: ignore[arg-type]
    "explain": (lambda dedup: dedup.explain(1, 2), "page id must be a string, not int"),  # type: ignore[arg-type]
    "remove numbers": (lambda dedup: dedup.remove([1]), "page id must be a string, not int"),  # type: ignore[list-item]
    "record": (lambda dedup: dedup.record(1), "page id"),  # type: ignore[arg-type]
    "text": (lambda dedup: dedup.text(None), "page id"),  # type: ignore[arg-type]
    "cluster": (lambda dedup: dedup.cluster(1), "page id"),  # type: ignore[arg-type]
    "candidates": (lambda dedup: dedup.candidates(1), "page id"),  # type: ignore[arg-type]
    "search": (lambda dedup: dedup.search(5), "query must be a string"),  # type: ignore[arg-type]
    "settings": (lambda _: Deduplicator.open(":memory:", settings={"index": {}}), "load_settings"),  # type: ignore[arg-type]
    "a path": (lambda _: Deduplicator.open(5), "a file or an address"),  # type: ignore[arg-type]
    "a settings file": (lambda _: load_settings({"index.limit": 5}), "TOML file"),  # type: ignore[arg-type]
    "overrides": (lambda _: load_settings(None, [("index.limit", 5)]), "a mapping"),  # type: ignore[arg-type]
    "extract a path": (lambda _: extract(Path("a.html")), "bytes or a string, not PosixPath"),  # type: ignore[arg-type]
    "extract nothing": (lambda _: extract(None), "not NoneType"),  # type: ignore[arg-type]
    "fields": (lambda _: DedupHook(NOBODY, NOBODY, "text"), r"SourceFields\(content="),  # type: ignore[arg-type]
    "fields to open": (lambda _: DedupHook.open("http://127.0.0.1:1/x", {"content": "text"}), "SourceFields"),  # type: ignore[arg-type]
    "settings of a hook": (lambda _: DedupHook(NOBODY, NOBODY, SourceFields("text"), {}), "Settings"),  # type: ignore[arg-type]
    "a field": (lambda _: SourceFields(5), "content must be the name of a field"),  # type: ignore[arg-type]
    "no field": (lambda _: SourceFields("text", url=None), "an empty string stands for none"),  # type: ignore[arg-type]
    "html as a name": (lambda _: SourceFields("text", "html"), "True or False"),  # type: ignore[arg-type]
    "no hook": (lambda _: dedup_bulk(NOBODY, [], hook=WRONG), "DedupHook.open"),
    "no hook for a stream": (lambda _: list(dedup_streaming_bulk(NOBODY, [], hook=WRONG)), "DedupHook.open"),
    "a report": (lambda _: dedup_bulk(NOBODY, [], hook=WRONG, report={}), "HookReport"),  # type: ignore[arg-type]
    "an index": (lambda _: DedupSearch(NOBODY, 5), "index"),  # type: ignore[arg-type]
    "options": (lambda _: DedupSearch(NOBODY, "a", options={"mode": "group"}), "SearchOptions"),  # type: ignore[arg-type]
    "a body": (lambda _: DedupSearch(NOBODY, "a").search("words"), "a search body"),  # type: ignore[arg-type]
}  # fmt: skip


@pytest.mark.parametrize("case", PAGES)
def test_a_page_is_checked_when_it_is_made(case: str) -> None:
    fields, problem = PAGES[case]
    with pytest.raises(TypeError, match=problem):
        Page(**fields)


@pytest.mark.parametrize("case", CALLS)
def test_a_wrong_type_is_refused_with_advice(case: str) -> None:
    call, problem = CALLS[case]
    with Deduplicator.open(":memory:") as dedup:
        with pytest.raises(TypeError, match=problem):
            call(dedup)
        assert dedup.stats()["pages"] == 0


@pytest.mark.parametrize("policy", ["replace", 5])
def test_an_unknown_policy_is_refused_with_those_that_exist(policy: Any) -> None:
    with (
        Deduplicator.open(":memory:") as dedup,
        pytest.raises(ValueError, match="one of mark, skip, overwrite, fail, not "),
    ):
        dedup.add_many([Page("a", text="x")], policy=policy)


def test_pages_before_a_wrong_value_are_stored() -> None:
    pages: Any = [Page("a", text="one. two."), "b"]
    with Deduplicator.open(":memory:") as dedup:
        with pytest.raises(TypeError, match="not str"):
            dedup.add_many(pages)
        assert dedup.record("a").page_id == "a"


def test_settings_come_from_the_file_and_the_environment_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "es-dedup.toml").write_text("[index]\nlimit = 7\nmax_df = 70\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ES_DEDUP_INDEX__LIMIT", "9")
    index = EmbeddedIndex(":memory:", features={})
    hook = DedupHook(index, NOBODY, SourceFields("text"))
    with Deduplicator.open(":memory:") as dedup:
        for used in (dedup._settings, hook._decider._settings):
            assert (used.index.limit, used.index.max_df) == (9, 70)
    with Deduplicator.open(":memory:", settings=Settings()) as dedup:
        assert dedup._settings.index.limit == Settings().index.limit
    monkeypatch.setenv("ES_DEDUP_INDEX__LIMIT", "none")
    with pytest.raises(ConfigError, match="ES_DEDUP_INDEX__LIMIT"):
        Deduplicator.open(":memory:")
