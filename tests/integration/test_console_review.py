"""Reviewing pairs in the console: what is asked, what is kept, what is taken back."""

import json
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from es_dedup.evaluation import parse_labels
from tests.samples import pages
from tests.servers import fresh_name, remove, url_of
from tests.serving import Api, bare, browsing, serving


@pytest.fixture(scope="module", params=["file", "es8"])
def api(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """A server on sample pages that stand near a threshold."""
    folder = tmp_path_factory.mktemp("review")
    place = str(folder / "r.db") if request.param == "file" else f"{url_of('es8')}/{fresh_name()}"
    with serving(place, folder) as api:
        given = []
        for page in pages():
            if "owl" in page.id or "mill" in page.id:
                assert isinstance(page.html, bytes)
                given.append({"id": page.id, "html": page.html.decode(), "url": page.url})
        assert api.lines("/v1/pages", *given).json()["failed"] == {}
        yield api
    if request.param == "es8":
        remove(place)


def asked(view: str) -> dict[str, str]:
    """The hidden fields of the form of a pair."""
    form = re.search(r'<form action="/console/review".*?</form>', view, re.DOTALL)
    assert form is not None, view
    return dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form[0]))


def answer(client: httpx.Client, given: dict[str, str], said: str, **more: str) -> dict[str, str]:
    """Send an answer; the form of the pair that comes next."""
    sent = client.post("/console/review", data={**given, "answer": said, **more})
    assert sent.status_code == 303, sent.text
    view = client.get(sent.headers["location"])
    return asked(view.text)


def pair(given: dict[str, str]) -> tuple[str, str]:
    return given["left"], given["right"]


def test_pairs_near_a_threshold_are_labelled_by_two_readers(api: Api) -> None:
    with browsing(api) as client, browsing(api, "read") as reading:
        assert "No pair was labelled yet." in client.get("/console/review").text
        assert 'name="reader"' not in reading.get("/console/review?reader=mz").text
        view = client.get("/console/review?reader=mz&second=true").text
        assert "Nearest threshold" in view
        assert 'data-key="y"' in view
        assert "<mark" in view
        first = asked(view)
        assert first["reader"] == "mz"
        assert reading.post("/console/review", data={**first, "answer": "dup"}).status_code == 403
        foreign = {"Origin": "http://evil.example"}
        sent = {**first, "answer": "dup"}
        assert client.post("/console/review", data=sent, headers=foreign).status_code == 403
        assert client.post("/console/review", data={**first, "answer": "maybe"}).status_code == 400
        assert client.post("/console/review", data={**sent, "left": "none"}).status_code == 404
        second = answer(client, first, "dup")
        third = answer(client, second, "skip")
        assert len({pair(first), pair(second), pair(third)}) == 3
        assert pair(answer(client, third, "undo")) == pair(second)
        assert pair(answer(client, third, "undo")) == pair(first)
        fourth = asked(client.get("/console/review?reader=mz").text)
        assert pair(fourth) == pair(first)
        answer(client, first, "dup")
        answer(client, second, "contain")
        other = asked(client.get("/console/review?reader=al&second=true").text)
        assert pair(other) == pair(first)
        other = answer(client, other, "dup")
        assert pair(other) == pair(second)
        answer(client, other, "diff")
        found = reading.get("/console/review").text
        assert "50%" in found
        assert "2 pairs, 1 undecided" in found
        assert "<td>0.33</td>" in bare(found)
        saved = reading.get("/console/review/labels.jsonl")
        assert "attachment" in saved.headers["content-disposition"]
        rows = [json.loads(line) for line in saved.text.splitlines()]
        assert sorted(row["label"] for row in rows) == ["?", "dup"]
        assert [each.pair for each in parse_labels(saved.text, "x", jsonl=True)] == [pair(first)]
        assert "审阅" in client.get("/console/review", headers={"Accept-Language": "zh"}).text


def test_an_answer_becomes_an_override_only_where_it_is_wanted(api: Api) -> None:
    def overrides() -> list[dict[str, Any]]:
        return list(api.get("/v1/overrides").json()["overrides"])

    with browsing(api) as client:
        first = asked(client.get("/console/review?reader=ov").text)
        answer(client, first, "diff")
        assert overrides() == []
        answer(client, first, "undo")
        both = {**first, "override": "true", "reason": "read both"}
        assert client.post("/console/review", data={**both, "answer": "contain"}).status_code == 400
        long = {**first, "reader": "r" * 1_001}
        assert client.get("/console/review", params=long).status_code == 400
        for said in ("dup", "skip"):
            assert client.post("/console/review", data={**long, "answer": said}).status_code == 400
        answer(client, both, "diff")
        (made,) = overrides()
        assert (made["kind"], sorted(made["pages"]), made["author"], made["reason"]) == (
            "different",
            sorted(pair(first)),
            "ov",
            "read both",
        )
        assert pair(answer(client, first, "undo")) == pair(first)
        assert overrides() == []
        answer(client, both, "diff")
        client.post("/console/review/draw", data={"reader": "ow"})
        drawn = asked(client.get("/console/review?reader=ow").text)
        while (drawn := answer(client, drawn, "skip"))["reader"] == "ow" and "left" in drawn:
            assert pair(drawn) != pair(first), "decided already"
        answer(client, {**both, "reader": "ow"}, "diff")
        answer(client, {**first, "reader": "ow"}, "undo")
        assert len(overrides()) == 1, "an override of somebody else is not undone"


def test_further_pairs_are_drawn(api: Api) -> None:
    with browsing(api) as client:
        given = asked(client.get("/console/review?reader=all").text)
        for _ in range(60):
            sent = client.post("/console/review", data={**given, "answer": "diff"})
            view = client.get(sent.headers["location"]).text
            if "All pairs that were drawn" in view:
                break
            given = asked(view)
        else:
            pytest.fail("there is no end")
        drawn = client.post("/console/review/draw", data={"reader": "all"})
        assert client.get(drawn.headers["location"]).status_code == 200
