"""Synonyms: the forms of files, codes, concepts, and refusals."""

import hashlib
import lzma
from pathlib import Path

import pytest

from es_dedup.detectors.registry import create_detectors
from es_dedup.errors import ConfigError
from es_dedup.index.factory import features_of
from es_dedup.model import Content, Skipped
from es_dedup.settings import Settings
from es_dedup.text.hashing import hash64
from es_dedup.text.synonyms import NONE, WORDNET_FILES, in_text_form, load, named, of_groups, parse, wordnet

CILIN = """Aa01A01= 人 士 人物 人士
Aa01A02# 人类 生人 全人类
Aa01A05@ 匹夫
Bp01A01= 设备 装置
"""
WORDNET = """# Chinese Open Wordnet	cmn	http://example.com/	wordnet
03183080-n	cmn:lemma	设备
03183080-n	cmn:lemma	装置
03183080-n	cmn:lemma	设备
00001740-v	cmn:lemma	呼吸
"""


def test_cilin_gives_only_its_synonyms() -> None:
    found = parse(CILIN.splitlines())
    assert [set(group) for group in found.groups] == [{"人", "士", "人物", "人士"}, {"设备", "装置"}]
    assert found.code("人类") == hash64("人类")


def test_the_shipped_groups_are_those_that_features_were_made_with() -> None:
    """Other groups make other features: raise ``version`` of multi_simhash and dwdcs with this digest."""
    digests = {
        language: hashlib.sha256(lzma.decompress(path.read_bytes())).hexdigest()
        for language, path in WORDNET_FILES.items()
    }
    assert digests == {
        "zh": "ac862eb40b483ab3f07fcb6535c6c676fc9884e7ffd1d27a5738e01022662213",
        "en": "13d9b124f24da150fcaa3e3ce2382ef0c7264d4f3660db2d5d6c1e2cd116215d",
    }
    for language, holder in (("zh", "Francis Bond"), ("en", "Princeton University")):
        licence = WORDNET_FILES[language].parent / f"LICENSE-{language}"
        assert holder in licence.read_text(encoding="utf-8")
    assert len(wordnet()) == 19_880 + 28_138


def test_the_shipped_words_stand_in_the_form_of_texts() -> None:
    """They are read without being normalised: build the lists anew when normalisation or stemming changes."""
    lines = [
        line.split()
        for path in WORDNET_FILES.values()
        for line in lzma.decompress(path.read_bytes()).decode().splitlines()
        if not line.startswith("#")
    ]
    assert in_text_form(lines) == lines
    latin = {word for words in lines for word in words if word.isascii()}
    assert not [word for word in latin if sum(map(str.isalpha, word)) < 2], "2 is not two, nor c a hundred"


def test_codes_are_equal_within_a_meaning_and_do_not_depend_on_the_file() -> None:
    one, other = of_groups([("甲", "乙"), ("丙", "丁")]), of_groups([("丙", "丁"), ("乙", "甲")])
    assert one.code("甲") == one.code("乙") == other.code("甲")
    assert one.code("甲") != one.code("丙")
    assert one.code("戊") == hash64("戊")
    assert NONE.code("甲") == hash64("甲")


def test_words_are_brought_into_the_form_of_texts() -> None:
    found = of_groups([("設備", "装置", "ＡＢＣ"), ("Houses", "homes"), ("。", "！")])
    assert [set(group) for group in found.groups] == [{"设备", "装置", "abc"}, {"house", "home"}]


def test_a_concept_is_the_word_and_its_synonyms() -> None:
    found = of_groups([("甲", "乙"), ("甲", "丙")])
    assert found.concept("甲") == {"甲", "乙"}
    assert found.concept("丁") == {"丁"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read"),
        (b"\xff\xfe\x00", "not UTF-8"),
        ("只有一个".encode(), "no line with two words"),
        ("Aa01A01= 人 士\nAa01A02=".encode(), "line 2 was cut off"),
        (WORDNET.encode(), r"make a list of it by scripts/build_synonyms\.py"),
    ],
)
def test_files_that_cannot_be_used_are_refused(tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "list.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=message):
        load(path)


def test_a_setting_names_the_shipped_groups_none_or_a_file(tmp_path: Path) -> None:
    path = tmp_path / "cilin.txt"
    path.write_text(CILIN, encoding="utf-8")
    assert named("wordnet") is wordnet()
    assert named("none") is NONE
    assert named(str(path)).code("设备") == named(str(path)).code("装置")
    with pytest.raises(ValueError, match="synonyms"):
        Settings.model_validate({"dwdcs": {"synonyms": ""}})


@pytest.mark.parametrize("method", ["multi_simhash", "dwdcs"])
def test_the_shipped_groups_are_the_default(method: str) -> None:
    text = "".join(
        f"医院第{at}台计算机在工厂的仓库里检修完成。医生报告了设备故障，城市居民恢复用水，学校的老师检查水泵。"
        for at in range(4)
    )
    pages = [Content(text), Content(text.replace("计算机", "电脑").replace("医生", "大夫"))]
    verdicts = {}
    for source in ("wordnet", "none"):
        settings = Settings.model_validate(
            {"detectors": (method,), "dwdcs": {"synonyms": source}, "multi_simhash": {"synonyms": source}}
        )
        detector = create_detectors(settings)[method]
        one, other = detector.featurise_many(pages)
        assert not isinstance(one, Skipped)
        verdicts[source] = detector.verify(one, other).evidence
    measure = {"multi_simhash": "keyword_bits", "dwdcs": "similarity"}[method]
    assert verdicts["wordnet"][measure] != verdicts["none"][measure]
    assert verdicts["wordnet"][measure] == {"multi_simhash": 0, "dwdcs": 1.0}[method]
    defaults = create_detectors(Settings(detectors=(method,)))[method]
    assert defaults.verify(*defaults.featurise_many(pages)).evidence == verdicts["wordnet"]


@pytest.mark.parametrize("method", ["multi_simhash", "dwdcs"])
def test_a_method_reads_the_file_that_its_settings_name(tmp_path: Path, method: str) -> None:
    settings = Settings.model_validate(
        {"detectors": (method,), method: {"synonyms": str(tmp_path / "none.txt")}}
    )
    with pytest.raises(ConfigError, match=r"none\.txt cannot be read"):
        create_detectors(settings)
    (tmp_path / "none.txt").write_text("甲 乙", encoding="utf-8")
    assert create_detectors(settings)[method].name == method


@pytest.mark.parametrize("method", ["multi_simhash", "dwdcs"])
def test_an_index_records_what_is_in_the_file(tmp_path: Path, method: str) -> None:
    file = tmp_path / "list.txt"
    name = f"content of {method}.synonyms"
    settings = Settings.model_validate({"detectors": (method,), method: {"synonyms": str(file)}})
    recorded = []
    for word in ("乙", "丙"):
        file.write_text(f"甲 {word}", encoding="utf-8")
        recorded.append(features_of(settings)[name])
    assert recorded[0] != recorded[1]
    assert name not in features_of(Settings(detectors=(method,)))
    file.unlink()
    with pytest.raises(ConfigError, match=r"synonyms: .*list\.txt cannot be read"):
        features_of(settings)
