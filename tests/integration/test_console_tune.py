"""Trying and applying other decision settings in the console."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from es_dedup import Deduplicator, Relation, Settings
from es_dedup.errors import ConfigError
from es_dedup.evaluation import labelled
from es_dedup.evaluation.settings_change import settings_change
from es_dedup.model.annotations import Label
from tests.integration.test_console_jobs import shown_until
from tests.samples import pages
from tests.servers import fresh_name, remove, url_of
from tests.serving import bare, browsing, serving
from tests.source_indices import attached, canonical_counts, documents, settings, source_index

ALONE = Settings(workers=1)
STRICT = {"decision.preset": "strict"}


@pytest.fixture(params=["file", "es8"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An index of the sample pages on owls and mills."""
    name = str(tmp_path / "t.db") if request.param == "file" else f"{url_of('es8')}/{fresh_name()}"
    with Deduplicator.open(name, settings=ALONE) as dedup:
        dedup.scan(page for page in pages() if "owl" in page.id or "mill" in page.id)
        first = next(each for each in dedup.clusters(min_size=2))
        dedup.annotate(first.canonical, first.members[0].page_id, Label.DIFF, reader="mz")
    yield name
    if request.param == "es8":
        remove(name)


def test_candidates_are_decided_together_as_one_by_one(place: str) -> None:
    with Deduplicator.open(place, settings=ALONE) as dedup:
        decided = list(dedup.candidate_decisions(["none", *sorted(dedup.page_ids())]))
        pairs = {tuple(sorted((each.left, each.right))) for each in decided}
        assert len(pairs) == len(decided) > 10
        for each in decided:
            explained = dedup.explain(each.left, each.right)
            assert each.relation is explained.relation is not Relation.EXACT
            assert (each.rules, each.evidence) == (explained.rules, explained.evidence)


def test_what_is_foreseen_comes_true(place: str) -> None:
    with Deduplicator.open(place, settings=ALONE) as dedup:
        ids = sorted(dedup.page_ids())
        labels = [labelled(ids[0], ids[1], Label.DUP), labelled("none", ids[0], Label.DUP)]
        none = settings_change(dedup, {}, labels, 500)
        assert (none.changed, none.clusters, none.concerned, none.labelled) == ([], [], 0, [])
        found = settings_change(dedup, STRICT, labels, 500)
        assert (found.pages, found.stored) == (len(ids), len(ids))
        assert found.labels[0].pairs == 1
        assert found.recluster is not None
        for each in found.changed:
            assert dedup.explain(each.left, each.right).relation is each.before
        part = settings_change(dedup, STRICT, labels, 5)
        assert (part.pages, part.recluster) == (5, None)
        assert set(part.changed) <= set(found.changed)
        report = dedup.recluster(settings=dedup.settings_with(STRICT))
        assert report == found.recluster
        relations = [dedup.explain(each.left, each.right).relation for each in found.changed]
        assert relations == [each.after for each in found.changed]
        with pytest.raises(ConfigError, match="no decision setting"):
            dedup.settings_with({"serve.port": 1})
        with pytest.raises(ConfigError):
            dedup.settings_with({"decision.preset": "other"})


def test_a_preset_is_tried_and_applied(place: str, tmp_path: Path) -> None:
    with serving(place, tmp_path / "s") as api, browsing(api) as client, browsing(api, "read") as reading:
        assert "On stored pages" not in bare(client.get("/console/tune").text)
        assert "These are the settings in force." in bare(client.get("/console/tune?preset=balanced").text)
        tried = bare(client.get("/console/tune?preset=strict").text)
        assert "<code>decision.preset</code></td><td>balanced</td><td>strict</td>" in tried
        assert "all pages: " in tried
        assert "1</td><td>1</td><td>" in tried
        assert "/console/compare?left=" in tried
        assert "Apply" not in reading.get("/console/tune?preset=strict").text
        other = bare(client.get("/console/tune", params={"name": "coverage.min_cover", "value": "0.9"}).text)
        assert "<td>0.6</td><td>0.9</td>" in other
        assert client.get("/console/tune", params={"name": "serve.port", "value": "1"}).status_code == 400
        assert client.get("/console/tune?preset=none").status_code == 400
        given = {"settings": '{"decision.preset": "strict"}'}
        assert reading.post("/console/tune", data=given).status_code == 403
        assert client.post("/console/tune", data={"settings": "{"}).status_code == 400
        counted = re.search(r"before (\d+), after (\d+); (\d+) pages with another", tried)
        assert counted is not None
        dry = client.post("/console/tune", data={**given, "dry_run": "true"}).headers["location"]
        job = shown_until(client, dry, f"changed {counted[3]}, clusters_before {counted[1]}")
        assert f"clusters {counted[2]}" in job
        assert "decision.preset = strict" in job
        assert "<td>balanced</td>" in bare(client.get("/console/tune?preset=strict").text)
        done = client.post("/console/tune", data=given).headers["location"]
        shown_until(client, done, f"changed {counted[3]}")
        end = shown_until(client, "/console/tune?preset=strict", "These are the settings in force.")
        assert "On stored pages" not in end


TITLES = {"decision.thresholds.about_title": "1.01"}


def test_a_threshold_is_tried_applied_and_given_back_to_the_preset(place: str, tmp_path: Path) -> None:
    with serving(place, tmp_path / "s") as api, browsing(api) as client:
        shown = bare(client.get("/console/tune").text)
        meaning = "minimum about_title: how much the shared text must be about the titles"
        row = f"<code>about_title</code></td><td>{meaning}</td>"
        assert f"{row}<td>0.18</td><td>0.18</td>" in shown
        assert 'name="decision.thresholds.about_title" value=""' in shown
        chinese = bare(client.get("/console/tune", params=TITLES, headers={"Accept-Language": "zh"}).text)
        assert "共有文字须在多大程度上涉及标题" in chinese
        assert "<td>预设值</td><td>1.01</td>" in chinese
        of_strict = bare(client.get("/console/tune?preset=strict").text)
        assert f"{row}<td>0.18</td><td>0.22</td>" in of_strict
        tried = bare(client.get("/console/tune", params=TITLES).text)
        assert "<code>decision.thresholds.about_title</code></td><td>of the preset</td><td>1.01</td>" in tried
        assert 'name="decision.thresholds.about_title" value="1.01"' in tried
        counted = re.search(r"before (\d+), after (\d+); (\d+) pages with another", tried)
        assert counted is not None
        assert int(counted[2]) < int(counted[1])
        same = bare(client.get("/console/tune", params={"decision.thresholds.about_title": "0.18"}).text)
        assert "These are the settings in force." in same
        for name, value in (
            ("about_title", "2"),
            ("about_title", "{"),
            ("abuot", "1"),
            ("needed_cover", "1, 1"),
        ):
            wrong = client.get("/console/tune", params={f"decision.thresholds.{name}": value})
            assert wrong.status_code == 400
            assert f"decision.thresholds.{name}: " in wrong.text
        given = {"settings": '{"decision.thresholds.about_title": 1.01}'}
        job = client.post("/console/tune", data=given).headers["location"]
        assert "decision.thresholds.about_title = 1.01" in shown_until(client, job, f"changed {counted[3]}")
        shown_until(
            client, "/console/tune?decision.thresholds.about_title=1.01", "These are the settings in force."
        )
        back = bare(client.get("/console/tune", params={"decision.thresholds.about_title": "0.18"}).text)
        assert "<td>1.01</td><td>of the preset</td>" in back
        assert "&#34;decision.thresholds.about_title&#34;: null" in back


def test_documents_follow_settings_that_are_applied(tmp_path: Path) -> None:
    few = {key: value for key, value in documents().items() if "owl" in key or "mill" in key}
    with source_index(few) as (client, name), attached(name, settings()):
        place = f"{url_of('es8')}/{name}"
        with serving(place, tmp_path) as api, browsing(api) as browser:
            job = browser.post("/console/jobs", data={"what": "backfill"}).headers["location"]
            shown_until(browser, job, "<td>done</td>")
            before = canonical_counts(client, name)
            dry = browser.post("/console/jobs", data={"what": "recluster", "dry_run": "true"})
            shown_until(browser, dry.headers["location"], "<td>done</td>")
            assert len(api.get("/v1/jobs").json()["jobs"]) == 2
            given = {"settings": '{"decision.preset": "strict"}'}
            job = browser.post("/console/tune", data=given).headers["location"]
            shown_until(browser, job, "<td>done</td>")
            assert len(canonical_counts(client, name)) > len(before)
