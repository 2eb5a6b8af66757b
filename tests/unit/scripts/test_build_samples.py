"""``scripts/build_samples.py``: what lies in ``samples/`` is what its sources give, and a label that does not fit is refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from scripts.samplesupport import output
from scripts.samplesupport.measures import share
from scripts.samplesupport.pagetable import load_pages
from scripts.samplesupport.pairs import fault, load_pairs, measure, row_pairs
from scripts.samplesupport.stories import Para
from scripts.samplesupport.wording import recut, replace_words

ROOT = Path(__file__).resolve().parents[3]


def test_the_samples_are_up_to_date_wherever_it_is_called(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "scripts" / "build_samples.py"), "--check"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "samples are up to date\n")


def test_all_is_written_and_what_is_stale_is_put_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "SAMPLES", tmp_path)
    files = output.build()
    output.write(files)
    names = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert names == files.keys()
    changed, extra = "labels.jsonl", "pages/zhportal/unlisted.html"
    (tmp_path / changed).write_bytes(b"other")
    (tmp_path / extra).write_bytes(b"other")
    assert output.stale(files) == [changed, extra]
    output.write(files)
    assert output.stale(files) == []
    assert not (tmp_path / extra).exists()


def test_a_label_that_does_not_fit_what_was_measured_is_told() -> None:
    pair = next(each for each in load_pairs() if each.label == "dup")
    assert fault(pair) == ""
    for wrong in ("diff", "contain"):
        assert pair.a in fault(measure(pair.a, pair.b, wrong, "none", ""))


def test_a_label_of_an_unknown_page_stops_the_build() -> None:
    with pytest.raises(SystemExit, match=r"nowhere\.html"):
        measure(next(iter(load_pages())), "nowhere.html", "dup", "none", "")


@pytest.mark.parametrize(
    ("names", "pairs"),
    [
        ("a b", [("a", "b")]),
        ("star: a b c", [("a", "b"), ("a", "c")]),
        ("each: a b c", [("a", "b"), ("a", "c"), ("b", "c")]),
    ],
)
def test_a_row_of_labels_names_pairs(names: str, pairs: list[tuple[str, str]]) -> None:
    assert row_pairs(names) == [(f"{left}.html", f"{right}.html") for left, right in pairs]


def test_shares_are_of_runs_of_letters_and_digits() -> None:
    assert share("abcd", "xabcdx", 4) == 1.0
    assert share("A, b c d", "ABCD", 4) == 1.0
    assert share("xabcdx", "abcd", 4) == pytest.approx(1 / 3)
    assert share("", "abcd", 4) == 0.0


def test_recutting_keeps_every_character() -> None:
    long = "这是第一句话，写得足够长，能够单独成段。这是第二句话，同样写得足够长，可以分开。"
    paras = [Para("p", long), Para("p", "短句。"), Para("p", "又一短句。"), Para("p", "结尾。")]
    counts = {how: [p.text for p in recut(paras, how, "zh")] for how in ("split", "merge", "block")}
    assert [len(texts) for texts in counts.values()] == [5, 2, 3]
    assert {"".join(texts) for texts in counts.values()} == {"".join(p.text for p in paras)}


def test_synonyms_are_whole_words_and_keep_capitals() -> None:
    assert replace_words("Announced by an unannounced company.", "en") == "Declared by an unannounced firm."
