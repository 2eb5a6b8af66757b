"""Every command on an index file: output for people and machines, exit codes, errors."""

import csv
import errno
import json
import re
import sys
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from typer.testing import CliRunner, Result

from es_dedup.cli.group import Terminated, globals_first
from es_dedup.cli.main import app
from es_dedup.cli.output import Output, clean
from es_dedup.cli.session import Session
from es_dedup.errors import IndexLocked, MissingExtra
from es_dedup.model import WritePolicy
from es_dedup.model.plain import plain
from scripts.docssupport import reference
from tests.texts import article

STORY, OTHER, THIRD, NEW, *MORE = (article(seed, sentences=8) for seed in range(7))
PAGES = [("a", STORY), ("b", STORY), ("c", OTHER), ("d", THIRD)]
ROOT = Path(__file__).parents[3]
SCAN = "es_dedup.deduplicator.deduplicator.Deduplicator.scan"


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
    """The four pages are in the default index; files with pages beside it."""
    assert run("scan", jsonl("pages.jsonl", *PAGES)).exit_code == 0
    jsonl("more.jsonl", ("e", STORY), ("f", NEW))
    jsonl("new.jsonl", ("f", NEW))
    Path("story.txt").write_text(STORY, encoding="utf-8")
    Path("damaged.txt").write_bytes(b"\0" * 9)


def lines(result: Result) -> list[Any]:
    """Standard output, parsed line by line."""
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_a_search_where_no_texts_are_stored_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ES_DEDUP_INDEX__KEEP_TEXT", "false")
    run("scan", jsonl("pages.jsonl", *PAGES))
    assert "no texts are stored here" in run("search", title(STORY)).stderr


def test_a_search_that_finds_nothing_is_no_warning(scanned: None) -> None:
    assert "stored here" not in run("search", "xyzzy").stderr


def test_what_each_command_shows(scanned: None) -> None:
    """Of commands that change nothing: their exit codes, and what their output has."""
    evidence = r"ccs 1 \(≥ 0.6\)"
    merged = r"exact: all of a stands in b, all of b in a: merged as an exact copy\n"
    of_a = r"e: duplicate \(cluster a\)\n  duplicate of a: 100 % of this page, 100 % of the other\n"
    for line, code, *shown in (
        ("scan pages.jsonl --dry-run", 0, "would be stored +0", "unchanged +4"),
        ("check more.jsonl --evidence", 4, of_a, "f: unique", evidence),
        ("check new.jsonl", 0, "1 checked, 0 duplicate"),
        ("check more.jsonl gone.jsonl", 2, "there is no gone.jsonl"),
        ("filter gone.jsonl", 2, "there is no gone.jsonl"),
        ("index copy es-dedup.db :memory:", 2, "an index in memory ends"),
        ("explain a b --evidence", 0, merged, evidence),
        ("explain a story.txt", 0, "merged"),
        ("explain a nothing", 1, "no page 'nothing' is stored"),
        ("explain a damaged.txt", 1, "binary data"),
        ("explain a pages.jsonl", 1, "holds several pages"),
        ("explain a", 2, "name a second page"),
        ("clusters --quiet", 0, rf"^pages\tcluster\t.*\n2\ta\t{title(STORY)}\t"),
        ("clusters --evidence --limit 0", 0, "cluster a: 2 pages", evidence),
        ("show b", 0, "cluster a: 2 pages", "exact, 100 % of the canonical document, 100 % of this page"),
        ("show b --evidence", 0, "cluster a: 2 pages", evidence),
        ("show zzz", 1, "no page 'zzz' is stored"),
        (f"search {title(STORY)}", 0, r"1 of 1 groups \(clusters and unique pages\), 2 pages"),
        ("index stats", 0, "pages +4"),
        ("index export --format parquet", 2, "Parquet needs"),
        ("index export -o rows.tsv", 2, ".tsv names none"),
        ("index export -o rows.csv.gz", 2, ".gz names none"),
        ("index doctor", 0, "index file\tundamaged", "4 pages"),
        ("clusters --preset strict", 2, "decision.preset is balanced in the index and strict now"),
        ("clusters --limit x", 2, "--limit"),
        ("scan", 2, "PATH"),
        ("nothing", 2, "No such command"),
        ("scan --nothing x", 2, "--nothing"),
    ):
        result = run(*line.split())
        assert result.exit_code == code, (line, result.output)
        for pattern in shown:
            assert re.search(pattern, result.output), (line, pattern, result.output)


def test_what_each_command_says_to_machines(scanned: None) -> None:
    """Of commands that change nothing, the lines of JSON; ``found`` is the first one."""
    explained = lines(run("explain", "a", "story.txt", "--json"))[0]
    assert explained["relation"] == "exact"
    checked = lines(run("check", "--json", "more.jsonl"))
    assert [decision["outcome"] for decision in checked] == ["duplicate", "unique"]
    clusters = lines(run("clusters", "--json", "--min-size", "1"))
    assert [cluster["id"] for cluster in clusters] == ["a", "c", "d"]
    assert clusters[0]["members"][0]["page_id"] == "b"
    (shown,) = lines(run("show", "b", "a", "--json", "--evidence"))
    assert shown["members"][0]["evidence"]["relation"] == "exact"
    assert "evidence" not in lines(run("show", "b", "--json"))[0]["members"][0]
    assert len(run("show", "b").stdout.splitlines()) < len(run("show", "b", "--evidence").stdout.splitlines())
    assert len(lines(run("search", STORY[:4], "--json"))[0]["hits"]) == 1
    assert len(lines(run("search", STORY[:4], "--json", "--no-collapse"))[0]["hits"]) == 2
    assert lines(run("text", "a", "--json"))[0]["text"] == STORY
    assert lines(run("index", "remove", "a", "b", "--dry-run", "--json"))[0]["repaired_clusters"] == 1
    assert lines(run("index", "stats", "--json"))[0]["pages"] == 4


class TestScan:
    def test_a_summary_is_shown_and_the_index_made(self) -> None:
        result = run("scan", jsonl("pages.jsonl", *PAGES), "--report", "out.html")
        assert result.exit_code == 0
        assert re.search(r"stored +4", result.stdout)
        assert "clusters` lists the clusters" in result.stderr
        assert Path("es-dedup.db").exists()
        assert title(STORY) in Path("out.html").read_text(encoding="utf-8")

    def test_bad_input_is_named_counted_and_told_by_the_exit_code(self) -> None:
        path = jsonl("pages.jsonl", *PAGES)
        with Path(path).open("a", encoding="utf-8") as stream:
            stream.write("no json\n" * 25)
        result = run("--db", "x.db", "scan", path, "--json")
        assert result.exit_code == 3
        assert "left out: pages.jsonl:5: not valid JSON" in result.stderr
        assert result.stderr.count("left out:") == 21
        (summary,) = lines(result)
        assert [summary[name] for name in ("command", "db", "read", "stored", "pages", "clusters")] == [
            "scan", "x.db", 4, 4, 4, 1,
        ]  # fmt: skip
        assert (summary["input"]["left_out"], len(summary["input"]["failures"])) == (25, 25)

    def test_fields_of_standard_input_may_be_named(self) -> None:
        named = run("scan", "-", "--id-field", "k", "--text-field", "main", stdin='{"k": "1", "main": "x"}\n')
        assert named.exit_code == 0

    def test_what_cannot_work_is_refused_before_the_work(self) -> None:
        jsonl("pages.jsonl", *PAGES)
        for wrong in ("--report no/folder/out.html", "--report out.html --dry-run", "--encoding klingon"):
            assert run("scan", "pages.jsonl", *wrong.split()).exit_code == 2
        assert run("scan", "pages.jsonl", "--dry-run").exit_code == 0
        assert not Path("es-dedup.db").exists()


def test_add_names_known_pages_and_follows_the_policy(scanned: None) -> None:
    result = run("add", "more.jsonl", "--policy", str(WritePolicy.SKIP))
    assert re.search("e: duplicate of [ab]", result.stdout)
    assert "f:" not in result.stdout
    assert lines(run("index", "stats", "--json"))[0]["pages"] == 5
    (summary,) = lines(run("add", "--json", jsonl("further.jsonl", ("g", STORY))))
    assert summary["decisions"]["g"]["duplicate_of"] == "a"


def test_without_an_index_a_command_says_so_and_makes_none() -> None:
    jsonl("new.jsonl", ("f", NEW))
    for command in ("check new.jsonl", "clusters", "index remove a", "index export"):
        result = run(*command.split())
        assert (result.exit_code, "es-dedup scan PATH" in result.stderr) == (1, True)
    checks = {check["name"]: check["state"] for check in lines(run("index", "doctor", "--json"))[0]["checks"]}
    assert (checks["Python"], checks["SQLite"], checks["index"]) == ("ok", "ok", "note")
    for name, text in (("x.txt", "一"), ("y.txt", "二")):
        Path(name).write_text(text, encoding="utf-8")
    assert run("explain", "x.txt", "y.txt").stdout.startswith("different: 0 % of x.txt stands in y.txt")
    assert not Path("es-dedup.db").exists()


def test_pages_that_are_not_clustered_yet_are_named_and_not_exported(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as broken:
        broken.setattr("es_dedup.batch.whole_corpus.recluster_corpus", Mock(side_effect=KeyboardInterrupt()))
        assert run("scan", jsonl("pages.jsonl", *PAGES)).exit_code == 130
    said = "pages are stored that are not clustered yet: run the same scan again, or `es-dedup elastic recluster`"
    result = run("index", "export", "-o", "out.jsonl")
    assert (result.exit_code, said in result.stderr) == (1, True)
    assert not Path("out.jsonl").exists()
    for command in (["clusters"], ["index", "doctor"], ["check", jsonl("more.jsonl", ("f", NEW))]):
        assert said in run(*command).stderr


class TestExport:
    def test_keep_and_drop_are_every_page_once(self, scanned: None) -> None:
        keep = lines(run("index", "export", "--what", "keep", "--records"))
        (drop,) = lines(run("index", "export", "--what", "drop"))
        texts = {"a": STORY, "c": OTHER, "d": THIRD}
        assert {row["page_id"]: (row["title"], row["text"]) for row in keep} == {
            page: (title(text), text) for page, text in texts.items()
        }
        assert (drop["page_id"], drop["because_of"], drop["reason"]) == ("b", "a", "exact")

    def test_every_format_has_the_same_pages(self, scanned: None) -> None:
        pq = pytest.importorskip("pyarrow.parquet")
        first = lines(run("index", "export", "--records"))[0]
        assert (first["canonical"], list(first)[-4:]) == (True, ["site", "published", "language", "text"])
        for name in ("out.csv", "out.parquet"):
            assert run("index", "export", "-o", name).exit_code == 0
        with Path("out.csv").open(encoding="utf-8", newline="") as stream:
            rows = list(csv.DictReader(stream))
        assert [(row["page_id"], row["canonical"]) for row in rows] == [("a", "True"), ("b", "False")]
        assert pq.read_table("out.parquet").column("page_id").to_pylist() == ["a", "b"]

    def test_a_failed_export_leaves_the_old_file(
        self, scanned: None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        Path("out.csv").write_text("page_id,old", encoding="utf-8")
        full = OSError(errno.ENOSPC, "No space left on device", "out.csv")
        monkeypatch.setattr("es_dedup.views.rows._pages", Mock(side_effect=full))
        result = run("index", "export", "-o", "out.csv")
        assert (result.exit_code, "no space left on the disk" in result.stderr) == (1, True)
        assert Path("out.csv").read_text(encoding="utf-8") == "page_id,old"


def test_remove_takes_ids_also_from_standard_input_and_names_unknown_ones(scanned: None) -> None:
    result = run("index", "remove", "a", "-", "--json", stdin="b\r\n\nzzz\n")
    expected = {"removed": 2, "unknown": ["zzz"], "repaired_clusters": 0, "dry_run": False}
    assert (result.exit_code, lines(result)) == (3, [expected])
    assert lines(run("index", "remove", "-", "--json", stdin=""))[0]["removed"] == 0


def test_doctor_finds_faults(scanned: None) -> None:
    Path("es-dedup.toml").write_text("nothing = 1", encoding="utf-8")
    result = run("index", "doctor")
    assert result.exit_code == 1
    assert "unknown key" in result.stdout


def test_work_without_celery_is_done_with_inline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "es_dedup_tasks", None)
    with pytest.raises(MissingExtra, match=r"without --inline\) needs celery: install the extra celery"):
        Session("http://localhost:9/pages", None, Output(as_json=False, quiet=True)).dispatch()


class TestConfig:
    def test_values_are_shown_with_their_origins(self, scanned: None) -> None:
        Path("es-dedup.toml").write_text("[index]\nlimit = 20", encoding="utf-8")
        assert re.search(r"index.limit\t20\t1 to 1000\tes-dedup.toml", run("config").stdout)
        (shown,) = lines(run("config", "--json"))
        assert shown["differences"] == [{"name": "index.limit", "recorded": 50, "current": 20}]

    def test_what_nobody_has_given_is_as_the_index_records_it(self) -> None:
        run("--keep", "latest", "--preset", "strict", "scan", jsonl("pages.jsonl", *PAGES))
        shown = run("config").stdout
        assert re.search(r"^cluster.order\tlatest\t.*\tindex\t", shown, re.MULTILINE)
        assert re.search(r"^decision.preset\tstrict\t.*\tindex\t", shown, re.MULTILINE)
        assert "in the index and" not in shown
        given = run("--keep", "longest", "config").stdout
        assert re.search(r"^cluster.order\tlongest\t.*\targument\t", given, re.MULTILINE)
        assert "cluster.order is latest in the index and longest now" in given

    def test_keep_chooses_the_canonical_order(self) -> None:
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
        for command in ("clusters", "show a", f"search {STORY[:4]}", "explain a b", "check pages.jsonl"):
            result = run(*command.split())
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
    @pytest.fixture(autouse=True)
    def labels(self) -> None:
        rows = ["id_a\tid_b\tlabel", "a\tb\tdup", "c\td\tdiff", "e\tf\tdup", "g\th\tpartial"]
        Path("labels.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
        jsonl("corpus.jsonl", *PAGES, ("e", NEW), ("f", NEW), ("g", MORE[0]), ("h", MORE[1]))

    def quality(self, command: str) -> Result:
        return run("quality", *command.split(), "labels.tsv", "--corpus", "corpus.jsonl")

    def test_eval_reports_every_method(self) -> None:
        result = self.quality("eval")
        assert result.exit_code == 0, result.stderr
        assert "rules\t1.000 (2/2" in result.stdout
        assert "ccdet\t1.000 (2/2" in result.stdout
        (found,) = lines(self.quality("eval --json"))
        assert found["methods"]["rules"]["pairs"]["f1"] == 1.0
        assert found["candidates"]["index"]["value"] == 1.0

    def test_any_method_that_is_enabled_is_measured(self, monkeypatch: pytest.MonkeyPatch) -> None:
        refused = self.quality("eval --method multi_simhash")
        assert (refused.exit_code, "is not among rules, ccdet" in refused.stderr) == (2, True)
        monkeypatch.setenv("ES_DEDUP_DETECTORS", "ccdet,simhash,coverage,multi_simhash")
        (found,) = lines(self.quality("eval --method multi_simhash --json"))
        assert set(found["methods"]) == {"rules", "multi_simhash"}
        assert found["methods"]["multi_simhash"]["pairs"]["f1"] == 1.0
        swept = self.quality("tune --folds 2 --measure multi_simhash.text_bits")
        assert "multi_simhash.max_text_bits" in swept.stdout

    def test_missing_pages_are_named(self) -> None:
        jsonl("corpus.jsonl", *PAGES)
        result = self.quality("eval")
        assert result.exit_code == 3
        assert "4 labelled pages are not in the corpus" in result.stderr

    def test_tune_shows_what_would_change(self) -> None:
        result = self.quality("tune --folds 2")
        assert result.exit_code == 0, result.stderr
        assert "ccdet.ccs: best threshold 1, now 0.6 (ccdet.min_ccs)" in result.stdout
        found = lines(self.quality("tune --folds 2 --json"))
        measures = ["rules.score", "ccdet.ccs", "simhash.hamming_distance", "coverage.score"]
        assert [sweep["measure"] for sweep in found] == measures

    def test_what_cannot_be_measured_is_refused(self) -> None:
        unknown = self.quality("tune --measure ccdet.cls")
        assert (unknown.exit_code, "ccdet.ccs" in unknown.stderr) == (2, True)
        Path("labels.tsv").write_text("id_a\tid_b\tlabel\na\ta\tdup\n", encoding="utf-8")
        assert self.quality("eval").exit_code == 1


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
        ("raised", "code", "said"),
        [
            (
                KeyboardInterrupt(),
                130,
                "0 pages are stored in es-dedup.db. To go on, run the same command again",
            ),
            (Terminated(), 143, "interrupted; "),
            (IndexLocked("x.db", 10), 1, "error: x.db is being written by another process"),
        ],
    )
    def test_what_ends_a_command_is_one_line_and_a_code(
        self, monkeypatch: pytest.MonkeyPatch, raised: BaseException, code: int, said: str
    ) -> None:
        monkeypatch.setattr(SCAN, Mock(side_effect=raised))
        result = run("scan", jsonl("p.jsonl", *PAGES))
        assert (result.exit_code, said in result.stderr.splitlines()[-1]) == (code, True), result.stderr


def test_global_options_may_stand_anywhere() -> None:
    assert globals_first(["scan", "x", "--json", "--db", "y", "-q", "--config=z"]) == [
        "--json", "--db", "y", "-q", "--config=z", "scan", "x",
    ]  # fmt: skip
    assert globals_first(["search", "--", "--json"]) == ["search", "--", "--json"]


def test_every_argument_and_option_has_help() -> None:
    found = {
        f"{name} {each.name}": each.help
        for name, command in {**reference.commands(), "": reference.root()}.items()
        for each in command.params
    }
    assert not [name for name, text in found.items() if not text or not text.endswith((".", ")"))]


def test_pages_cannot_steer_the_terminal() -> None:
    assert clean("a\x1b[31m\r\nb\u202e") == "a [31m  b "


def test_everything_becomes_json() -> None:
    assert plain({"a": (1, float("nan"), Path("x")), "b": WritePolicy.SKIP}) == {
        "a": [1, None, "x"],
        "b": "skip",
    }
