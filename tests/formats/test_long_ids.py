"""Addresses that are longer than an ``_id`` of Elasticsearch: the page is kept, and found by its address and by its id."""

import json
from pathlib import Path

import pytest

from es_dedup import Deduplicator, Page
from es_dedup.errors import UnknownPage
from es_dedup.model import MAX_ID_BYTES, fitted_id, id_problem
from es_dedup.readers import ReadOptions, read_pages
from tests.commands import ran

TEXT = "The ferry ran aground on a sandbank shortly before six on Tuesday morning, the coast guard said. " * 3
URLS = {
    "512 bytes": "http://a.example/" + "x" * 495,
    "513 bytes": "http://a.example/" + "x" * 496,
    "fewer than 512 characters": "http://a.example/" + "新闻" * 90,
    "a mark cut in two": "http://a.example/" + "é" * 3000,
}
LONG = [name for name in URLS if name != "512 bytes"]


def jsonl(path: Path, url: str, key: str) -> Path:
    """A file with the page and one that differs in the last character of its address."""
    rows = [{key: f"{url[:-1]}{end}", "text": f"{end}: {TEXT}"} for end in (url[-1], "y")]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def warc(path: Path, url: str) -> Path:
    """The same as an archive."""
    head = "WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Record-ID: <urn:uuid:{}>\r\nWARC-Target-URI: {}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n"
    texts = [(f"{url[:-1]}{end}", f"{end}: {TEXT}") for end in (url[-1], "y")]
    records = [
        head.format(at, name, len(text.encode())) + f"{text}\r\n\r\n" for at, (name, text) in enumerate(texts)
    ]
    path.write_text("".join(records), encoding="utf-8", newline="")
    return path


@pytest.mark.parametrize("source", ["url", "id", "warc", "file"])
@pytest.mark.parametrize("name", URLS)
def test_a_page_with_a_long_address_is_found_by_address_and_id(
    tmp_path: Path, name: str, source: str
) -> None:
    url = URLS[name]
    if source == "file":
        url = "/".join(["新闻" * 40] * 3) + "/p.txt" if name in LONG else "p.txt"
        (tmp_path / url).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / url).write_text(TEXT, encoding="utf-8")
        given, options = tmp_path / url, ReadOptions(root=tmp_path)
    else:
        given = (
            warc(tmp_path / "a.wet", url) if source == "warc" else jsonl(tmp_path / "a.jsonl", url, source)
        )
        options = ReadOptions()
    items = list(read_pages([given], options))
    pages = [item for item in items if isinstance(item, Page)]
    assert pages == items
    page_id = pages[0].id
    assert (page_id == url) == (len(url.encode()) <= MAX_ID_BYTES)
    assert id_problem(page_id) is None
    assert page_id[:100] == url[:100]
    assert len({page.id for page in pages}) == len(pages)
    with Deduplicator.open(tmp_path / "pages.db") as dedup:
        assert dedup.scan(pages).failed == {}
        assert dedup.ids_of([url, page_id]) == {url: [page_id], page_id: [page_id]}
        for said in (url, page_id):
            assert dedup.record(said).page_id == page_id
            assert dedup.text(said)
            assert dedup.cluster(said) == dedup.cluster(page_id)
            assert dedup.would_remove([said]).removed == 1
            assert dedup.traces(said)
        if source in ("url", "warc"):
            assert dedup.record(page_id).url == url


def test_commands_find_a_page_by_its_long_address(tmp_path: Path) -> None:
    url, index = URLS["513 bytes"], str(tmp_path / "pages.db")
    other = f"{url[:-1]}y"

    def said(*arguments: str, code: int = 0) -> str:
        return ran("--db", index, *arguments, code=code).output

    said("scan", str(jsonl(tmp_path / "a.jsonl", url, "url")))
    why = ("--reason", "by hand", "--author", "ann")
    for command in (
        ["text", url],
        ["show", url],
        ["explain", url, other],
        ["quality", "override", "different", url, other, *why],
    ):
        assert said(*command)
    assert "there is: features" in said("index", "remove", "--erase", "--dry-run", url)
    said("index", "remove", "--erase", "--yes", url)
    assert "there is" not in said("index", "remove", "--erase", "--dry-run", url)
    with Deduplicator.open(index) as dedup:
        assert [record.page_id for record in dedup.records()] == [fitted_id(other)]
        with pytest.raises(UnknownPage):
            dedup.record(url)
