"""Files of labelled pairs: what is read, what is refused, and the digest."""

import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_dedup.errors import InputError
from es_dedup.evaluation import Label, LabelledPair, labelled, parse_labels, read_labels
from es_dedup.evaluation.labels import digest
from es_dedup.model import Relation

HEADER = "id_a\tid_b\tjaccard5\tlabel\trelation\n"

pairs = st.builds(
    labelled,
    st.text("ab\t甲\"'\\", min_size=1, max_size=3),
    st.text("cd\n乙", min_size=1, max_size=3),
    st.sampled_from(Label),
    st.none() | st.sampled_from(Relation),
)


def test_words_and_grades_are_read_in_the_order_of_the_file() -> None:
    text = (
        HEADER
        + "a\tb\t0.1\tdup\t\nd\tc\t0.2\tcontain\tcontains\r\n\nx\ty\t0\t0\t\nx\tz\t0\t3\t\np\tq\t0\tPartial\t\n"
    )
    assert parse_labels(text, "pairs.tsv", jsonl=False) == (
        LabelledPair("a", "b", Label.DUP),
        LabelledPair("c", "d", Label.CONTAIN, Relation.CONTAINED),
        LabelledPair("x", "y", Label.DIFF),
        LabelledPair("x", "z", Label.DUP),
        LabelledPair("p", "q", Label.PARTIAL),
    )


def test_both_formats_give_the_same_labels(tmp_path: Path) -> None:
    rows = [("b", "a", "contain", "contains"), ("1", "2", "diff", ""), ("5", "6", "2", "exact")]
    tsv, jsonl = tmp_path / "a.tsv", tmp_path / "a.jsonl"
    tsv.write_text(
        "id_a\tid_b\tlabel\trelation\n" + "".join("\t".join(row) + "\n" for row in rows), encoding="utf-8-sig"
    )
    lines = [json.dumps(dict(zip(("id_a", "id_b", "label", "relation"), row, strict=True))) for row in rows]
    jsonl.write_text("\n".join(lines), encoding="utf-8")
    assert read_labels(tsv) == read_labels(str(jsonl))
    assert digest(read_labels(tsv)) == digest(read_labels(jsonl))


def test_an_undecided_pair_is_left_out() -> None:
    found = parse_labels(HEADER + "a\tb\t0\t?\t\na\tc\t0\tdup\t\n", "pairs.tsv", jsonl=False)
    assert found == (LabelledPair("a", "c", Label.DUP),)
    assert parse_labels('{"id_a": "a", "id_b": "b", "label": "?"}', "p", jsonl=True) == ()


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("a\tb", "2 columns, the header has 5"),
        ("d\tc\t0\tdiff\t", "the pair 'c', 'd' stands in line 2 already"),
        ("a\ta\t0\tdup\t", "page 'a' is paired with itself"),
        ("a\tc\t0\tmaybe\t", "label 'maybe' is none of dup, contain, partial, diff, 0, 1, 2, 3"),
        ("\td\t0\t\t", "no id_a, label"),
        ("a\te\t0\tdup\tnear", "relation 'near' is none of"),
    ],
)
def test_a_wrong_line_is_named(line: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_labels(f"{HEADER}c\td\t0\tdup\t\n\n{line}\n", "pairs.tsv", jsonl=False)
    assert str(caught.value).startswith(f"pairs.tsv:4: {problem}")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"id_a": "a"}', "no id_b, label"),
        ("[1]", "no JSON object"),
        ('{"id_a": 1 2}', "no JSON: Expecting ',' delimiter at character 12"),
        ("[" * 100_000, "JSON nested too deeply"),
        ('{"id_a": "a", "id_b": "b", "label": true}', "label True is none of"),
    ],
)
def test_a_wrong_line_of_json_is_named(line: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_labels(f"\n{line}\n", "p.jsonl", jsonl=True)
    assert str(caught.value).startswith(f"p.jsonl:2: {problem}")


def test_a_file_without_a_usable_header_or_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="lacks id_b, label"):
        parse_labels("id_a\tx\n1\t2\n", "p", jsonl=False)
    with pytest.raises(InputError, match="lacks id_a, id_b, label"):
        parse_labels("", "p", jsonl=False)
    with pytest.raises(InputError, match="cannot be read"):
        read_labels(tmp_path / "absent.tsv")
    (tmp_path / "gbk.tsv").write_bytes("标签文件".encode("gbk"))
    with pytest.raises(InputError, match="not UTF-8"):
        read_labels(tmp_path / "gbk.tsv")


@given(st.lists(pairs, max_size=6), st.randoms())
def test_the_digest_does_not_depend_on_the_order(labels: list[LabelledPair], draw: random.Random) -> None:
    before = digest(labels)
    draw.shuffle(labels)
    assert digest(labels) == before
