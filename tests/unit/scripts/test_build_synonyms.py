"""The script that builds the shipped synonyms: what it writes is read as the file it was made from."""

from __future__ import annotations

import importlib.util
import lzma
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from es_dedup.text.synonyms import load, parse

if TYPE_CHECKING:
    from types import ModuleType

SCRIPT: Final = Path(__file__).parents[3] / "scripts" / "build_synonyms.py"
SOURCE: Final = """# Chinese Open Wordnet\tcmn\thttp://example.com/\twordnet
03183080-n\tcmn:lemma\t设备
00001740-v\tcmn:lemma\t呼吸
03183080-n\tcmn:lemma\t装置
03183080-n\tcmn:lemma\t设备
00435342-r\tcmn:lemma\t严谨+的
00435342-r\tcmn:lemma\t认真+地
00435342-r\tcmn:lemma\t小心 谨慎+地
"""


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_synonyms", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("ending", [".tab", ".tab.xz"])
def test_the_list_holds_the_groups_of_the_source(script: ModuleType, tmp_path: Path, ending: str) -> None:
    source, output = tmp_path / f"cow{ending}", tmp_path / "built" / "groups.txt.xz"
    data = SOURCE.encode()
    source.write_bytes(lzma.compress(data) if ending.endswith("xz") else data)
    assert script.main([str(source), "--output", str(output)]) == 0
    text = lzma.decompress(output.read_bytes()).decode()
    assert text.startswith("# Chinese Open Wordnet, Copyright")
    plain = tmp_path / "groups.txt"
    plain.write_text(text, encoding="utf-8")
    assert set(load(plain).groups) == set(parse(SOURCE.splitlines()).groups)
    assert [set(group) for group in load(plain).groups] == [{"设备", "装置"}, {"认真", "严谨"}]


def test_the_most_frequent_meaning_of_a_word_comes_first(script: ModuleType) -> None:
    lines = [
        f"{synset}\tcmn:lemma\t{word}"
        for synset, word in (("1-n", "计算机"), ("1-n", "加法机"), ("2-n", "计算机"), ("2-n", "电脑"))
    ]
    assert script.groups_of(lines, {"计算机": 5, "电脑": 9}) == [["计算机", "电脑"], ["计算机", "加法机"]]
    assert script.groups_of(lines, {}) == [["计算机", "加法机"], ["计算机", "电脑"]]


def test_a_file_without_synsets_is_refused(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "empty.tab"
    source.write_text("# nothing\n", encoding="utf-8")
    assert script.main([str(source), "--output", str(tmp_path / "out.xz")]) == 1
    assert "no synset" in capsys.readouterr().err
    assert not (tmp_path / "out.xz").exists()
