"""The script that builds the shipped synonyms: what it writes is read as the file it was made from."""

import importlib.util
import lzma
from pathlib import Path
from types import ModuleType
from typing import Final

import pytest

from es_dedup.text.synonyms import load

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
    assert [set(group) for group in load(plain).groups] == [{"设备", "装置"}, {"认真", "严谨"}]


def test_a_folder_of_wordnet_gives_its_most_frequent_synsets_first(
    script: ModuleType, tmp_path: Path
) -> None:
    for part in ("noun", "verb", "adj", "adv"):
        (tmp_path / f"data.{part}").write_text("  1 a licence line\n", encoding="utf-8")
    data = (
        "00000100 06 n 02 crane 0 derrick 0 000 | lifts\n00000200 05 n 03 Cranes 0 wader 0 wading_bird 0 000 | a bird\n"
        "00000300 23 n 02 two 0 2 0 000 | a number\n00000400 23 n 03 five 0 V 0 fin 0 000 | another\n"
    )
    (tmp_path / "data.noun").write_text(data, encoding="utf-8")
    near = "00000100 00 s 03 beautiful(a) 0 fair 1 good_looking 0 000 | pretty\n"
    (tmp_path / "data.adj").write_text(near, encoding="utf-8")
    counts = "crane%1:05:00:: 00000200 1 3\nfair%5:00:00:: 00000100 1 9\nderrick%1:06:00:: 00000100 1 1\n"
    (tmp_path / "index.sense").write_text(counts, encoding="utf-8")
    output = tmp_path / "groups.txt.xz"
    assert script.main([str(tmp_path), "--output", str(output)]) == 0
    lines = lzma.decompress(output.read_bytes()).decode().splitlines()
    assert lines[0].startswith("# WordNet 3.1 Copyright")
    assert lines[3:] == ["beautiful fair", "crane wader", "crane derrick", "five fin"]
