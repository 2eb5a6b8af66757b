"""Dashboard and alert rules name metrics that are exported; workers and the REST API tell the same of an index."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from es_dedup_tasks import metrics
from prometheus_client import REGISTRY, CollectorRegistry, generate_latest

from es_dedup.maintenance.runner import Runner, start_follow
from es_dedup.serve.metrics import stored_gauges
from tests.source_indices import attached, made_up_documents, put, settings, source_index
from tests.workers import broker

MONITORING = Path(__file__).parents[2] / "monitoring"
NAME = re.compile(r"\bes_dedup_[a-z_]+")
OF_SERVE = {"es_dedup_http_requests", "es_dedup_http_request_seconds", "es_dedup_http_inside"}
SUFFIX = re.compile(r"_(total|bucket|sum|count)$")


def expressions() -> Iterator[tuple[str, str]]:
    """What rules and dashboard ask for, by place."""
    rules = yaml.safe_load((MONITORING / "rules.yml").read_text())
    for group in rules["groups"]:
        for rule in group["rules"]:
            yield rule["alert"], rule["expr"]
    for panel in json.loads((MONITORING / "dashboard.json").read_text())["panels"]:
        for target in panel["targets"]:
            yield panel["title"], target["expr"]


def samples(text: str) -> dict[str, float]:
    """Figures by name with labels."""
    lines = (line.rpartition(" ") for line in text.splitlines() if line and not line.startswith("#"))
    return {name: float(value) for name, _, value in lines}


def test_all_metrics_that_are_asked_for_are_exported_and_both_servers_tell_the_same() -> None:
    given = made_up_documents(6)
    with source_index(given) as (client, name), attached(name) as site:
        Runner(site).run(start_follow(site, once=True)[0].id)
        put(client, name, {"later": given["made-00001"]})
        site.index.refresh()
        config = settings(broker=broker())
        worker, serve = CollectorRegistry(), CollectorRegistry()
        worker.register(metrics.worker_gauges(site.place, config))
        serve.register(stored_gauges(site.place, config))
        of_worker, of_serve = (samples(generate_latest(each).decode()) for each in (worker, serve))
    redis = {each for each in of_worker if "queue_depth" in each or 'server="redis"' in each}
    assert of_serve == {each: value for each, value in of_worker.items() if each not in redis}
    assert of_serve['es_dedup_source_documents{state="all"}'] == 7
    assert of_serve['es_dedup_source_documents{state="with_dedup_field"}'] == 6
    assert of_serve["es_dedup_dedup_field_share"] == pytest.approx(6 / 7)
    assert of_serve["es_dedup_pages"] == 6
    assert of_serve["es_dedup_statistics_pages_since"] == 0
    assert of_serve["es_dedup_follow_documents_behind"] == 1
    assert of_serve['es_dedup_last_timestamp_seconds{what="follow"}'] > 1.7e9
    assert of_serve['es_dedup_up{server="elasticsearch"}'] == 1
    exported = {SUFFIX.sub("", each.partition("{")[0]) for each in of_worker} | OF_SERVE
    exported |= {each.name for each in REGISTRY.collect()}
    asked = {(place, name) for place, text in expressions() for name in NAME.findall(text)}
    assert len(asked) > 20
    unknown = {(place, name) for place, name in asked if SUFFIX.sub("", name) not in exported}
    assert not unknown
    documented = (MONITORING.parent / "docs" / "operations" / "README.md").read_text()
    assert not {name for _, name in asked if SUFFIX.sub("", name) not in documented}


def test_a_server_that_does_not_answer_is_told_and_gives_no_figures() -> None:
    gone = CollectorRegistry()
    gone.register(stored_gauges("http://127.0.0.1:9/none", settings()))
    assert samples(generate_latest(gone).decode()) == {'es_dedup_up{server="elasticsearch"}': 0}
    file = CollectorRegistry()
    file.register(stored_gauges("pages.db", settings()))
    assert samples(generate_latest(file).decode()) == {}


def test_the_dashboard_has_what_a_reader_needs() -> None:
    board = json.loads((MONITORING / "dashboard.json").read_text())
    names = [each["name"] for each in board["templating"]["list"]]
    assert names == ["datasource", "job", "instance"]
    panels = board["panels"]
    assert len({each["id"] for each in panels}) == len(panels)
    for panel in panels:
        assert panel["title"]
        assert panel["description"].endswith(".")
        assert panel["fieldConfig"]["defaults"]["unit"]
        assert panel["datasource"] == {"type": "prometheus", "uid": "$datasource"}
        grid = panel["gridPos"]
        assert grid["x"] + grid["w"] <= 24
        for target in panel["targets"]:
            assert target["legendFormat"]
            assert all(each in target["expr"] for each in ('job=~"$job"', 'instance=~"$instance"'))
    cells = [
        (each["gridPos"]["x"] + x, each["gridPos"]["y"] + y)
        for each in panels
        for x in range(each["gridPos"]["w"])
        for y in range(each["gridPos"]["h"])
    ]
    assert len(set(cells)) == len(cells)  # no panel lies upon another


def test_what_the_guide_shows_in_python_runs(capsys: pytest.CaptureFixture[str]) -> None:
    guide = "docs/how-to/follow-writers.md"
    text = (MONITORING.parent / guide).read_text("utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    with source_index(made_up_documents(6)) as (_, name), attached(name) as site:
        code = code.replace('"http://127.0.0.1:9200/news"', "DB")
        exec(compile(code, guide, "exec"), {"DB": site.place})  # noqa: S102 - our own guide
    assert capsys.readouterr().out.startswith(("6 ", "{'"))
