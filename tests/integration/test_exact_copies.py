"""Texts that are equal but for Unicode form, line ends and outer white space are exact duplicates at any length, on every way in."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from elasticsearch import Elasticsearch

from es_dedup import Deduplicator, Outcome, Page, Relation, deduplicate
from es_dedup.dumps import DumpCopy, filter_dumps
from es_dedup.hook import DedupHook, dedup_bulk
from es_dedup.settings import Settings
from tests.hooked import FIELDS, action_of, clusters
from tests.servers import empty

THAI = "ร้านนี้เปิดทุกวันตั้งแต่เช้าถึงเย็น"
FERRY = "The ferry ran aground at noon on Monday. All 214 passengers were taken off safely by evening, the harbour office said."
COPIES = [
    ("ok", "ok"),
    ("Hello world", " Hello world\n"),
    (THAI, THAI),
    ("Caf\u00e9", "Cafe\u0301"),
    ("a\r\nb", "a\nb"),
    ("!!!", "!!!"),
    ("👍", "👍"),
    ("-5", "-5"),
    ("价格上涨了。", "价格上涨了。"),
    (FERRY, FERRY),
]
OTHERS = [
    "-5",
    "5",
    "C++",
    "C",
    "C#",
    "ok",
    "OK",
    "a b",
    "a  b",
    "!!!",
    "...",
    "Ａ",
    "A",
    "¥5",
    "5 %",
    "价格上涨了。",
    "价格上涨了！",
]
SETTINGS = [Settings(workers=1), Settings(workers=1, detectors=["simhash"], decision={"method": "simhash"})]


def scanned(texts: list[str], settings: Settings) -> list[tuple[str, ...]]:
    with Deduplicator.open(":memory:", settings=settings) as dedup:
        dedup.scan(Page(f"{row:03}", text=text) for row, text in enumerate(texts))
        return [
            (each.canonical, *(str(member.relation) for member in each.members))
            for each in dedup.clusters(min_size=2)
        ]


def added(texts: list[str], settings: Settings) -> list[tuple[str, ...]]:
    with Deduplicator.open(":memory:", settings=settings) as dedup:
        for row, text in enumerate(texts):
            page = Page(f"{row:03}", text=text)
            assert dedup.check(page).outcome is dedup.add(page).outcome
        return [
            (each.canonical, *(str(member.relation) for member in each.members))
            for each in dedup.clusters(min_size=2)
        ]


def table(texts: list[str], settings: Settings) -> list[tuple[str, ...]]:
    found = deduplicate(texts, settings=settings)
    return [
        (f"{int(each.canonical):03}", *(str(member.relation) for member in each.members))
        for each in found.clusters
    ]


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("way", [scanned, added, table])
def test_copies_of_any_length_are_exact_and_nothing_else_is(way: Any, settings: Settings) -> None:
    texts = [text for pair in COPIES for text in pair]
    assert way(texts, settings) == [(f"{2 * row:03}", "exact") for row in range(len(COPIES))]
    if settings is SETTINGS[0]:
        assert way(OTHERS, settings) == []
        many = [*OTHERS, *["5."] * 60, "5", "C++"]  # more copies of what only looks alike than are asked for
        copies = {row[0]: len(row) for row in way(many, settings)}
        assert copies == {"001": 2, "002": 2, f"{len(OTHERS):03}": 60}


def test_a_pair_is_explained_and_titles_that_differ_keep_short_texts_apart() -> None:
    with Deduplicator.open(":memory:", settings=SETTINGS[0]) as dedup:
        dedup.add(Page("a", text="Loading …", title="The ferry ran aground"))
        assert (
            dedup.add(Page("b", text="Loading …", title="The library opens on Sunday")).outcome
            is Outcome.UNIQUE
        )
        assert dedup.add(Page("c", text="Loading …")).outcome is Outcome.DUPLICATE
        pair = dedup.explain("a", "c")
        assert (pair.relation, pair.shares, pair.score) == (Relation.EXACT, (1.0, 1.0), 1.0)
        assert not [rule for rule in pair.rules if rule.outcome == "rejects"]


def test_a_filter_keeps_one_of_each(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    texts = [text for pair in COPIES for text in pair] + ["", " ", "\n"]
    path.write_text(
        "".join(
            json.dumps({"text": text, "url": f"https://a.example/{row}"}) + "\n"
            for row, text in enumerate(texts)
        )
    )
    for drop_empty in (False, True):
        kept = io.BytesIO()
        report = filter_dumps([DumpCopy(path, kept)], drop_empty=drop_empty)
        left = [json.loads(line)["text"] for line in kept.getvalue().splitlines()]
        assert left == [first for first, _ in COPIES] + ([] if drop_empty else texts[-3:])
        assert report.empty == 3


def test_empty_pages_are_counted_and_copies_of_none() -> None:
    with Deduplicator.open(":memory:", settings=SETTINGS[0]) as dedup:
        report = dedup.scan(
            [Page("a", text=""), Page("b", text=" \n"), Page("c", html=b" "), Page("d", text="!")]
        )
        assert report.skipped == {"empty": 3, "no-words": 1}
        assert report.outcomes == {"unique": 4}


@pytest.mark.parametrize("chunk", [1, 100])
def test_the_hook_finds_them_in_a_batch_and_in_the_index(
    address: str, client: Elasticsearch, name: str, chunk: int
) -> None:
    pages = [
        Page(f"{row:03}", text=text) for row, text in enumerate([text for pair in COPIES for text in pair])
    ]
    others = [
        Page(f"other-{row:03}", text=text) for row, text in enumerate(OTHERS) if text not in dict(COPIES)
    ]
    try:
        with DedupHook.open(address, FIELDS) as hook:
            report = dedup_bulk(
                client, [action_of(page, name) for page in pages + others], hook=hook, chunk_size=chunk
            ).report
        found = clusters(client, name)
    finally:
        empty(address)
        client.indices.delete(index=name, ignore_unavailable=True)
    assert report.outcomes["duplicate"] == len(COPIES)
    assert {group for group in found if len(group) > 1} == {
        frozenset((f"{row:03}", f"{row + 1:03}")) for row in range(0, len(pages), 2)
    }
