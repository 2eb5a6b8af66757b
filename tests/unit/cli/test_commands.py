"""Every command on an index file: output for people and machines, exit codes, errors."""

from __future__ import annotations

import csv
import errno
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import pytest
from typer.testing import CliRunner

from es_dedup.cli.group import Terminated, globals_first
from es_dedup.cli.main import app
from es_dedup.cli.output import clean
from es_dedup.errors import IndexLocked
from es_dedup.model import WritePolicy
from es_dedup.model.plain import plain
from tests.texts import article

if TYPE_CHECKING:
    from typer.testing import Result

STORY, OTHER, THIRD, NEW, *MORE = (article(seed, sentences=8) for seed in range(7))
PAGES = [("a", STORY), ("b", STORY), ("c", OTHER), ("d", THIRD)]
ROOT = Path(__file__).parents[3]
PIPELINE = "es_dedup.deduplicator.deduplicator"


def run(*arguments: str, stdin: str | None = None) -> Result:
    """The command line with these arguments."""
    return CliRunner().invoke(app, arguments, input=stdin)


def jsonl(path: str, *pages: tuple[str, str]) -> str:
    """A file of pages, which have the first characters of their texts as titles."""
    rows = [{"id": page_id, "title": title(text), "text": text} for page_id, text in pages]
    Path(path).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def title(text: str) -> str:
    """The title of a page with this text."""
    return text[:4]


@pytest.fixture
def scanned() -> None:
    """The four pages are in the default index."""
    assert run("scan", jsonl("pages.jsonl", *PAGES)).exit_code == 0


def lines(result: Result) -> list[Any]:
    """Standard output, parsed line by line."""
    return [json.loads(line) for line in result.stdout.splitlines()]


class TestScan:
    def test_a_summary_is_shown_and_the_index_made(self) -> None:
        result = run("scan", jsonl("pages.jsonl", *PAGES))
        assert result.exit_code == 0
        assert re.search(r"stored +4", result.stdout)
        assert "clusters` lists the clusters" in result.stderr
        assert Path("es-dedup.db").exists()

    def test_json_has_everything_on_one_line(self) -> None:
        (summary,) = lines(run("--json", "--db", "x.db", "scan", jsonl("pages.jsonl", *PAGES)))
        assert (summary["command"], summary["read"], summary["stored"], summary["db"]) == (
            "scan",
            4,
            4,
            "x.db",
        )
        assert (summary["pages"], summary["clusters"], summary["input"]["left_out"]) == (4, 1, 0)

    def test_bad_input_is_named_counted_and_told_by_the_exit_code(self) -> None:
        path = jsonl("pages.jsonl", *PAGES)
        with Path(path).open("a", encoding="utf-8") as stream:
            stream.write("no json\n" * 25)
        result = run("scan", path, "--json", "gone.html")
        assert result.exit_code == 3
        assert "left out: pages.jsonl:5: not valid JSON" in result.stderr
        assert result.stderr.count("left out:") == 21
        (summary,) = lines(result)
        assert (summary["stored"], summary["input"]["left_out"], len(summary["input"]["failures"])) == (
            4,
            26,
            26,
        )

    def test_a_dry_run_writes_nothing(self) -> None:
        result = run("scan", jsonl("pages.jsonl", *PAGES), "--dry-run")
        assert "would be stored" in result.stdout
        assert not Path("es-dedup.db").exists()

    def test_standard_input_is_read(self) -> None:
        assert run("scan", "-", stdin='{"id": "1", "text": "x"}\n').exit_code == 0

    def test_field_names_may_be_given(self) -> None:
        Path("p.jsonl").write_text('{"k": "1", "main": "x"}\n', encoding="utf-8")
        assert run("scan", "p.jsonl", "--id-field", "k", "--text-field", "main").exit_code == 0

    def test_the_report_is_written(self) -> None:
        result = run("scan", jsonl("pages.jsonl", *PAGES), "--report", "out.html", "--report-clusters", "1")
        assert result.exit_code == 0
        assert title(STORY) in Path("out.html").read_text(encoding="utf-8")

    @pytest.mark.parametrize(
        "arguments",
        [
            ("--report", "no/folder/out.html"),
            ("--report", "out.html", "--dry-run"),
            ("--encoding", "klingon"),
        ],
    )
    def test_what_cannot_work_is_refused_before_the_work(self, arguments: tuple[str, ...]) -> None:
        assert run("scan", jsonl("pages.jsonl", *PAGES), *arguments).exit_code == 2
        assert not Path("es-dedup.db").exists()


class TestAdd:
    def test_known_pages_are_named(self, scanned: None) -> None:
        result = run("add", jsonl("more.jsonl", ("e", STORY), ("f", NEW)))
        assert "e: duplicate of a" in result.stdout
        assert "f:" not in result.stdout

    def test_the_policy_is_passed_on(self, scanned: None) -> None:
        run("add", jsonl("more.jsonl", ("e", STORY)), "--policy", str(WritePolicy.SKIP))
        assert lines(run("index", "stats", "--json"))[0]["pages"] == 4

    def test_json_holds_the_decisions(self, scanned: None) -> None:
        (summary,) = lines(run("add", "--json", jsonl("more.jsonl", ("e", STORY))))
        assert summary["decisions"]["e"]["duplicate_of"] == "a"


class TestCheck:
    def test_a_known_page_ends_with_code_4(self, scanned: None) -> None:
        result = run("check", jsonl("more.jsonl", ("e", STORY), ("f", NEW)), "--evidence")
        assert result.exit_code == 4
        assert "e: duplicate of a (cluster a), 100 % of e, 100 % of a" in result.stdout
        assert "f: unique" in result.stdout
        assert "ccs 1 (≥ 0.6)" in result.stdout

    def test_new_pages_end_with_code_0(self, scanned: None) -> None:
        assert run("check", jsonl("more.jsonl", ("f", NEW))).exit_code == 0

    def test_input_left_out_comes_before_known(self, scanned: None) -> None:
        assert run("check", jsonl("more.jsonl", ("e", STORY)), "gone.jsonl").exit_code == 3

    def test_json_is_one_decision_a_line(self, scanned: None) -> None:
        result = run("check", "--json", jsonl("more.jsonl", ("e", STORY), ("f", NEW)))
        assert [decision["outcome"] for decision in lines(result)] == ["duplicate", "unique"]

    def test_without_an_index_it_says_what_to_do(self) -> None:
        result = run("check", jsonl("more.jsonl", ("f", NEW)))
        assert result.exit_code == 1
        assert "es-dedup scan PATH" in result.stderr


class TestExplain:
    def test_two_ids(self, scanned: None) -> None:
        result = run("explain", "a", "b", "--evidence")
        assert "merged (exact): 100 % of a stands in b, 100 % of b in a\n" in result.stdout
        assert "ccs 1 (≥ 0.6)" in result.stdout

    def test_an_id_and_a_file(self, scanned: None) -> None:
        Path("x.txt").write_text(STORY, encoding="utf-8")
        assert lines(run("explain", "a", "x.txt", "--json"))[0]["relation"] == "exact"

    def test_two_files_need_no_index(self) -> None:
        Path("x.txt").write_text("一", encoding="utf-8")
        Path("y.txt").write_text("二", encoding="utf-8")
        assert run("explain", "x.txt", "y.txt").stdout.startswith("not merged: ")

    def test_an_unknown_id_is_an_error(self, scanned: None) -> None:
        result = run("explain", "a", "nothing")
        assert (result.exit_code, "no page 'nothing' is stored" in result.stderr) == (1, True)

    def test_a_file_without_a_page_is_an_error(self, scanned: None) -> None:
        Path("x.txt").write_bytes(b"\xff\xff\xff")
        assert "encoding" in run("explain", "a", "x.txt").stderr


class TestBrowse:
    def test_clusters_in_a_pipe_are_tab_separated(self, scanned: None) -> None:
        head, row = run("clusters", "--quiet").stdout.splitlines()
        assert head.split("\t")[:2] == ["pages", "cluster"]
        assert row.split("\t")[:3] == ["2", "a", title(STORY)]

    def test_clusters_as_json(self, scanned: None) -> None:
        found = lines(run("clusters", "--json", "--min-size", "1"))
        assert [cluster["id"] for cluster in found] == ["a", "c", "d"]
        assert found[0]["members"][0]["page_id"] == "b"

    def test_clusters_with_evidence(self, scanned: None) -> None:
        result = run("clusters", "--evidence", "--limit", "0")
        assert "cluster a: 2 pages" in result.stdout
        assert "ccs 1 (≥ 0.6)" in result.stdout

    def test_show_takes_any_page_of_the_cluster(self, scanned: None) -> None:
        assert "cluster a: 2 pages" in run("show", "b").stdout
        assert lines(run("show", "b", "--json"))[0]["members"][0]["evidence"]["relation"] == "exact"
        assert "evidence" not in lines(run("show", "b", "--json", "--no-evidence"))[0]["members"][0]

    def test_show_of_an_unknown_cluster(self, scanned: None) -> None:
        assert run("show", "zzz").exit_code == 1

    def test_search_is_collapsed_unless_asked(self, scanned: None) -> None:
        assert len(lines(run("search", STORY[:4], "--json"))[0]["hits"]) == 1
        assert len(lines(run("search", STORY[:4], "--json", "--no-collapse"))[0]["hits"]) == 2
        assert "1 of 1 groups (clusters and unique pages), 2 pages" in run("search", STORY[:4]).stderr


class TestPendingClusters:
    def test_commands_say_so_and_export_ends(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with monkeypatch.context() as broken:
            broken.setattr("es_dedup.batch.ingest.recluster_corpus", Mock(side_effect=KeyboardInterrupt()))
            assert run("scan", jsonl("pages.jsonl", *PAGES)).exit_code == 130
        said = "pages are stored that are not clustered yet: run the same scan again, or `es-dedup elastic recluster`"
        result = run("index", "export", "-o", "out.jsonl")
        assert (result.exit_code, said in result.stderr) == (1, True)
        assert not Path("out.jsonl").exists()
        for command in (["clusters"], ["index", "doctor"], ["check", jsonl("more.jsonl", ("f", NEW))]):
            assert said in run(*command).stderr


class TestExport:
    def test_keep_and_drop_are_every_page_once(self, scanned: None) -> None:
        keep = [row["page_id"] for row in lines(run("index", "export", "--what", "keep"))]
        drop = lines(run("index", "export", "--what", "drop"))
        assert (keep, [row["page_id"] for row in drop]) == (["a", "c", "d"], ["b"])
        assert (drop[0]["because_of"], drop[0]["reason"]) == ("a", "exact")

    def test_records_have_what_is_stored_of_a_page(self, scanned: None) -> None:
        rows = lines(run("index", "export", "--what", "keep", "--records"))
        assert [(row["page_id"], row["title"]) for row in rows] == [
            ("a", title(STORY)),
            ("c", title(OTHER)),
            ("d", title(THIRD)),
        ]
        assert all(row["text"] for row in rows)
        first = lines(run("index", "export", "--records"))[0]
        assert (first["canonical"], list(first)[-4:]) == (True, ["site", "published", "language", "text"])

    def test_csv_into_a_file(self, scanned: None) -> None:
        assert run("index", "export", "-o", "out.csv").exit_code == 0
        with Path("out.csv").open(encoding="utf-8", newline="") as stream:
            rows = list(csv.DictReader(stream))
        assert [(row["page_id"], row["canonical"]) for row in rows] == [("a", "True"), ("b", "False")]

    def test_parquet_needs_a_file(self, scanned: None) -> None:
        pq = pytest.importorskip("pyarrow.parquet")
        assert run("index", "export", "--format", "parquet").exit_code == 2
        assert run("index", "export", "--output", "out.parquet").exit_code == 0
        assert pq.read_table("out.parquet").column("page_id").to_pylist() == ["a", "b"]

    def test_a_failed_export_leaves_the_old_file(
        self, scanned: None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        Path("out.csv").write_text("page_id,old", encoding="utf-8")

        full = OSError(errno.ENOSPC, "No space left on device", "out.csv")
        monkeypatch.setattr("es_dedup.report.rows._pages", Mock(side_effect=full))
        result = run("index", "export", "-o", "out.csv")
        assert (result.exit_code, "no space left on the disk" in result.stderr) == (1, True)
        assert Path("out.csv").read_text(encoding="utf-8") == "page_id,old"


class TestManage:
    def test_remove_names_unknown_ids(self, scanned: None) -> None:
        result = run("index", "remove", "b", "zzz", "--json")
        assert result.exit_code == 3
        assert lines(result)[0] == {
            "removed": 1,
            "unknown": ["zzz"],
            "repaired_clusters": 0,
            "dry_run": False,
        }

    def test_remove_reads_ids_from_standard_input(self, scanned: None) -> None:
        result = run("index", "remove", "a", "-", "--json", stdin="b\r\n\nzzz\n")
        assert (result.exit_code, lines(result)[0]["removed"], lines(result)[0]["unknown"]) == (3, 2, ["zzz"])
        assert lines(run("index", "remove", "-", "--json", stdin=""))[0]["removed"] == 0

    def test_remove_on_a_dry_run_keeps_everything(self, scanned: None) -> None:
        assert lines(run("index", "remove", "a", "b", "--dry-run", "--json"))[0]["repaired_clusters"] == 1
        assert lines(run("index", "stats", "--json"))[0]["pages"] == 4

    def test_remove_does_not_make_an_index(self) -> None:
        assert run("index", "remove", "a").exit_code == 1
        assert not Path("es-dedup.db").exists()

    def test_stats(self, scanned: None) -> None:
        assert re.search(r"pages +4", run("index", "stats").stdout)

    def test_doctor_without_an_index_is_content(self) -> None:
        result = run("index", "doctor", "--json")
        checks = {check["name"]: check["state"] for check in lines(result)[0]["checks"]}
        assert (result.exit_code, checks["Python"], checks["SQLite"], checks["index"]) == (
            0,
            "ok",
            "ok",
            "note",
        )

    def test_doctor_finds_faults(self, scanned: None) -> None:
        Path("es-dedup.toml").write_text("nothing = 1", encoding="utf-8")
        result = run("index", "doctor")
        assert result.exit_code == 1
        assert "unknown key" in result.stdout

    def test_doctor_looks_into_the_file(self, scanned: None) -> None:
        assert "damaged" in run("index", "doctor").stdout

    def test_config_show_names_values_and_origins(self, scanned: None) -> None:
        Path("es-dedup.toml").write_text("[index]\nlimit = 20", encoding="utf-8")
        assert re.search(r"index.limit\t20\t1 to 1000\tes-dedup.toml", run("config").stdout)
        (shown,) = lines(run("config", "--json"))
        assert shown["differences"] == [{"name": "index.limit", "recorded": 50, "current": 20}]

    def test_keep_chooses_the_canonical_order(self, scanned: None) -> None:
        words = "config --json --keep latest --keep prefer=a.cn --keep prefer=b.cn".split()
        (shown,) = lines(run(*words))
        found = {line["key"]: line for line in shown["settings"]}
        assert found["cluster.order"]["value"] == "latest"
        assert found["cluster.order"]["choices"] == ["earliest", "latest", "longest", "shortest-url"]
        assert found["cluster.preferred_sites"]["value"] == ["a.cn", "b.cn"]
        for wrong in (("latest", "longest"), ("prefer=",), ("newest",)):
            given = [word for each in wrong for word in ("--keep", each)]
            assert run("config", *given).exit_code == 2

    def test_thresholds_are_shown_with_the_values_of_the_preset(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("ES_DEDUP_DECISION__THRESHOLDS__ABOUT_TITLE", "0.3")
        (shown,) = lines(run("config", "--json", "--preset", "strict"))
        found = {line["key"]: line for line in shown["settings"]}
        assert found["decision.thresholds.about_title"]["value"] == 0.3
        line = found["decision.thresholds.needed_cover"]
        assert (line["value"], line["origin"]) == ([0.95, 0.85, 0.7], "preset strict")
        assert "0.95, 0.85, 0.7" in run("config", "--preset", "strict").stdout

    def test_settings_that_are_not_in_force_are_named(self, scanned: None) -> None:
        Path("es-dedup.toml").write_text('[decision]\npreset = "strict"', encoding="utf-8")
        said = "decision.preset is balanced in the index and strict now"
        for command in (
            ["clusters"],
            ["show", "a"],
            ["search", STORY[:4]],
            ["explain", "a", "b"],
            ["check", "pages.jsonl"],
        ):
            result = run(*command)
            assert said in result.stderr, command
            assert "es-dedup elastic recluster" in result.stderr, command
        assert said in run("config").stdout
        (shown,) = lines(run("config", "--json"))
        assert shown["differences"] == [
            {"name": "decision.preset", "recorded": "balanced", "current": "strict"}
        ]
        assert said in run("index", "doctor").stdout
        assert said not in run("scan", "pages.jsonl").stderr


class TestEvaluate:
    @pytest.fixture
    def labels(self) -> str:
        rows = ["id_a\tid_b\tlabel", "a\tb\tdup", "c\td\tdiff", "e\tf\tdup", "g\th\tpartial"]
        Path("labels.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
        jsonl("corpus.jsonl", *PAGES, ("e", NEW), ("f", NEW), ("g", MORE[0]), ("h", MORE[1]))
        return "labels.tsv"

    def test_eval_reports_every_method(self, labels: str) -> None:
        result = run("quality", "eval", labels, "--corpus", "corpus.jsonl")
        assert result.exit_code == 0, result.stderr
        assert "rules\t1.000 (2/2" in result.stdout
        assert "ccdet\t1.000 (2/2" in result.stdout
        (found,) = lines(run("quality", "eval", labels, "--corpus", "corpus.jsonl", "--json"))
        assert found["methods"]["rules"]["pairs"]["f1"] == 1.0
        assert found["candidates"]["index"]["value"] == 1.0

    def test_eval_measures_any_method_that_is_enabled(
        self, labels: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        args = ("quality", "eval", labels, "--corpus", "corpus.jsonl", "--method", "multi_simhash", "--json")
        refused = run(*args)
        assert (refused.exit_code, "is not among rules, ccdet" in refused.stderr) == (2, True)
        monkeypatch.setenv("ES_DEDUP_DETECTORS", "ccdet,simhash,coverage,multi_simhash")
        (found,) = lines(run(*args))
        assert set(found["methods"]) == {"rules", "multi_simhash"}
        assert found["methods"]["multi_simhash"]["pairs"]["f1"] == 1.0
        swept = run(
            *f"quality tune {labels} -c corpus.jsonl --folds 2 --measure multi_simhash.text_bits".split()
        )
        assert "multi_simhash.max_text_bits" in swept.stdout

    def test_missing_pages_are_named(self, labels: str) -> None:
        jsonl("corpus.jsonl", *PAGES)
        result = run("quality", "eval", labels, "-c", "corpus.jsonl")
        assert result.exit_code == 3
        assert "4 labelled pages are not in the corpus" in result.stderr

    def test_tune_shows_what_would_change(self, labels: str) -> None:
        result = run("quality", "tune", labels, "--corpus", "corpus.jsonl", "--folds", "2")
        assert result.exit_code == 0, result.stderr
        assert "ccdet.ccs: best threshold 1, now 0.6 (ccdet.min_ccs)" in result.stdout
        found = lines(run("quality", "tune", labels, "--corpus", "corpus.jsonl", "--folds", "2", "--json"))
        assert [sweep["measures"] for sweep in found] == [
            ["rules.score"],
            ["ccdet.ccs"],
            ["simhash.hamming_distance"],
            ["coverage.score"],
        ]

    def test_tune_may_go_by_f1(self, labels: str) -> None:
        assert (
            run("quality", "tune", labels, "--corpus", "corpus.jsonl", "--folds", "2", "--f1").exit_code == 0
        )

    def test_an_unknown_measure_lists_the_known(self, labels: str) -> None:
        result = run("quality", "tune", labels, "--corpus", "corpus.jsonl", "--measure", "ccdet.cls")
        assert (result.exit_code, "ccdet.ccs" in result.stderr) == (2, True)

    def test_bad_labels_are_an_error(self, labels: str) -> None:
        Path(labels).write_text("id_a\tid_b\tlabel\na\ta\tdup\n", encoding="utf-8")
        assert run("quality", "eval", labels, "--corpus", "corpus.jsonl").exit_code == 1


class TestErrors:
    def test_bad_settings_end_with_code_2_and_all_problems(self) -> None:
        Path("bad.toml").write_text("x = 1\ny = 2", encoding="utf-8")
        result = run("--config", "bad.toml", "index", "stats")
        assert result.exit_code == 1  # there is no index: settings are not needed to say so
        result = run("scan", jsonl("p.jsonl", *PAGES), "--config=bad.toml")
        assert result.exit_code == 2
        assert "2 problem(s)" in result.stderr
        assert "Traceback" not in result.stderr

    @pytest.mark.parametrize(
        "arguments", [("scan",), ("nothing",), ("scan", "--nothing", "x"), ("clusters", "--limit", "x")]
    )
    def test_wrong_usage_ends_with_code_2(self, arguments: tuple[str, ...]) -> None:
        assert run(*arguments).exit_code == 2

    def test_an_interruption_tells_how_to_go_on(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(f"{PIPELINE}.Deduplicator.scan", Mock(side_effect=KeyboardInterrupt()))
        result = run("scan", jsonl("p.jsonl", *PAGES))
        assert result.exit_code == 130
        assert "0 pages are stored in es-dedup.db. To go on, run the same command again" in result.stderr

    def test_termination_has_its_own_code(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(f"{PIPELINE}.Deduplicator.scan", Mock(side_effect=Terminated()))
        assert run("scan", jsonl("p.jsonl", *PAGES)).exit_code == 143

    def test_errors_are_one_line(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(f"{PIPELINE}.Deduplicator.scan", Mock(side_effect=IndexLocked("x.db", 10)))
        result = run("scan", jsonl("p.jsonl", *PAGES))
        assert result.exit_code == 1
        assert result.stderr.splitlines()[-1].startswith("error: x.db is being written by another process")


class TestOutput:
    def test_global_options_may_stand_anywhere(self) -> None:
        assert globals_first(["scan", "x", "--json", "--db", "y", "-q", "--config=z"]) == [
            "--json", "--db", "y", "-q", "--config=z", "scan", "x",
        ]  # fmt: skip
        assert globals_first(["search", "--", "--json"]) == ["search", "--", "--json"]

    def test_pages_cannot_steer_the_terminal(self) -> None:
        assert clean("a\x1b[31m\r\nb\u202e") == "a [31m  b "

    def test_everything_becomes_json(self) -> None:
        assert plain({"a": (1, float("nan"), Path("x")), "b": WritePolicy.SKIP}) == {
            "a": [1, None, "x"],
            "b": "skip",
        }


def test_help_loads_no_heavy_package() -> None:
    code = "import sys; import es_dedup.cli.main; print(*sys.modules)"
    found = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    loaded = {name.partition(".")[0] for name in found.stdout.split()}
    assert not loaded & {"numpy", "pyarrow", "jieba", "rjieba", "opencc", "lxml", "fastwarc", "pydantic"}
