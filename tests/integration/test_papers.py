"""The preset ``papers``, end to end: the published methods find candidates, verify and decide, in a file and on a server."""

from pathlib import Path
from typing import Any, Final

import pytest
from typer.testing import CliRunner

from es_dedup import Deduplicator, Outcome, Page, Relation, Settings
from es_dedup.cli.main import app
from es_dedup.decision import comparison
from es_dedup.settings.decision import DecisionConfig
from es_dedup.settings.presets import PAPERS, VOTES
from tests.commands import rows
from tests.samples import SAMPLES, truths
from tests.texts import ZH, topical

WHOLE = max((truth.text for truth in truths() if "。" in truth.text), key=len)
PAGES = (
    Page("original", text=WHOLE, published="2024-05-01"),
    Page("excerpt", text="。".join(WHOLE.split("。")[:14]) + "。", published="2024-05-02"),
    Page("other", text=topical(8, sentences=40), published="2024-05-03"),
    Page("notice", text="".join(ZH[:2]), published="2024-05-03"),
)
COPY = Page("asked", text=WHOLE + "又及。")


def papers(rule: str = "any") -> Settings:
    return Settings(decision=DecisionConfig(preset=PAPERS, method=rule), workers=1)


def edges_of(dedup: Deduplicator) -> dict[tuple[str, str], Relation]:
    """Stored relations."""
    found = dedup._index.edges_of([page.id for page in PAGES])
    return {(edge.left, edge.right): edge.relation for edge in found}


@pytest.mark.parametrize("rule", VOTES)
def test_a_scan_and_a_check_go_by_the_rule(place: str, rule: str) -> None:
    with Deduplicator.open(place, settings=papers(rule)) as dedup:
        assert dedup.scan(PAGES).stored == len(PAGES)
        decision = dedup.check(COPY)
        assert (decision.outcome, decision.duplicate_of) == (Outcome.DUPLICATE, "original")
        (pair,) = [pair for pair in decision.verdicts if pair.right == "original"]
        assert pair.decided_by == f"{rule}: ccdet, simhash, dwdcs"
        assert pair.reason.startswith(f"accepted by {rule}: ")
        contained = dedup.explain("excerpt", "original").relation is Relation.CONTAINED
        assert contained == (rule in {"any", "ordered"})
        edges = edges_of(dedup)
        dedup.recluster()
        assert edges == edges_of(dedup)
        assert edges == ({("excerpt", "original"): Relation.CONTAINED} if contained else {})
        assert dedup.explain("original", "other").relation is Relation.DIFFERENT


def test_evidence_has_the_names_of_the_papers(place: str) -> None:
    with Deduplicator.open(place, settings=papers()) as dedup:
        dedup.scan(PAGES)
        (pair,) = [pair for pair in dedup.check(COPY).verdicts if pair.right == "original"]
    evidence = {verdict.detector: verdict.evidence for verdict in pair.verdicts}
    assert list(evidence) == ["ccdet", "simhash", "dwdcs"]
    assert {"ccs", "min_ccs", "clr", "min_clr"} <= evidence["ccdet"].keys()
    assert {"hamming_distance", "max_hamming_distance"} <= evidence["simhash"].keys()
    assert {"similarity", "position_variance", "max_position_variance"} <= evidence["dwdcs"].keys()


def test_listing_clusters_decides_nothing_again(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Evidence of members is what was measured; the methods have decided when the pages were stored."""
    with Deduplicator.open(place, settings=papers()) as dedup:
        dedup.scan([*PAGES, COPY])
        monkeypatch.setattr(comparison, "verdicts_by", None)
        (cluster,) = dedup.clusters(min_size=2)
    (copy,) = [each for each in cluster.members if each.page_id != cluster.canonical]
    assert 1.0 in (copy.evidence["left_cover"], copy.evidence["right_cover"])


def run(*words: str, code: int = 0) -> list[dict[str, Any]]:
    """What a command says, as JSON."""
    return rows("--quiet", *words, code=code)


@pytest.mark.slow
def test_the_commands_take_the_preset(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the two labelled pages one holds most of the other; the forum's page is found by its signatures."""
    monkeypatch.setenv("ES_DEDUP_WORKERS", "1")
    pages, labels = str(SAMPLES / "pages"), str(SAMPLES / "labels.jsonl")
    (report,) = run("--db", place, "--preset", "papers", "scan", pages)
    assert report["stored"] > 100
    decisions = run("--db", place, "scan", pages, "--preset", "papers", "--dry-run")
    assert decisions
    found = run("--db", place, "--preset", "papers", "check", str(SAMPLES / "pages" / "zhportal"), code=4)
    pairs = [pair for decision in found for pair in decision["verdicts"]]
    assert {pair["decided_by"] for pair in pairs} == {"any: ccdet, simhash, dwdcs"}
    (settings,) = [line["settings"] for line in run("--db", place, "index", "stats")]
    assert settings["decision.preset"] == "papers"
    assert settings["detectors"] == ["ccdet", "dwdcs", "simhash"]
    (report,) = run("--db", place, "--preset", "papers", "quality", "eval", labels, "--corpus", pages)
    assert report["methods"]["rules"]["pairs"]["recall"] > report["methods"]["ccdet"]["pairs"]["recall"] > 0.5


READING: Final = ("index stats", "clusters", "show a", "explain a a", "search 消息", "check {}")
WITH_JOBS: Final = ("elastic jobs", "elastic dead list")


@pytest.mark.parametrize(
    ("environment", "options", "codes", "said"),
    [
        ({}, [], (0, 4), ""),
        ({"ES_DEDUP_DECISION__PRESET": "balanced"}, [], (0, 4), "recluster"),
        ({"ES_DEDUP_CCDET__WINDOW": "12"}, [], (0, 4), "reindex"),
        ({}, ["--preset", "balanced"], (2,), "recluster"),
    ],
)
def test_an_index_knows_its_settings(
    place: str,
    environment: dict[str, str],
    options: list[str],
    codes: tuple[int, ...],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """What nobody has set is as the index was made with; what the environment sets is a note, an option that contradicts an error."""
    sample = tmp_path / "sample.txt"
    sample.write_text(WHOLE, encoding="utf-8")
    with Deduplicator.open(place, settings=papers()) as dedup:
        dedup.scan(PAGES[:1])
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    for command in (*READING, *(WITH_JOBS if place.startswith("http") else ())):
        words = [{"a": "original", "{}": str(sample)}.get(word, word) for word in command.split()]
        done = CliRunner().invoke(app, ["--db", place, *options, *words])
        assert done.exit_code in codes, (command, done.output)
        assert said in done.stderr, command
        assert said or "settings" not in done.stderr, command
    told = CliRunner().invoke(app, ["--db", place, *options, "index", "doctor"]).stdout
    assert options or "ccdet, dwdcs, simhash; preset papers" in told, "doctor names the methods of the index"
    if not said:
        with Deduplicator.open(place) as dedup:
            assert dedup.add(COPY).duplicate_of == "original"
            dedup.recluster()
            assert [cluster.size for cluster in dedup.clusters()] == [2]
            assert dedup.preset.startswith(PAPERS)


@pytest.mark.parametrize(("preset", "advice"), [(PAPERS, "reindex"), ("strict", "recluster")])
def test_an_option_that_contradicts_is_one_error_with_advice_that_works(
    place: str, preset: str, advice: str
) -> None:
    with Deduplicator.open(place) as dedup:
        dedup.scan(PAGES[:1])
    done = CliRunner().invoke(app, ["--db", place, "--preset", preset, "clusters"])
    assert done.exit_code in (1, 2)
    assert "another release" not in done.stderr, "the methods are others, not of other versions"
    assert [each for each in ("reindex", "recluster") if each in done.stderr] == [advice]
