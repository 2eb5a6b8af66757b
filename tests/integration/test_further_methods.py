"""Methods beyond the default three in an index: stored, asked, shown, found again."""

from pathlib import Path

import pytest

from es_dedup import Deduplicator, Page
from es_dedup.detectors.features import featurise, pack, unpack
from es_dedup.detectors.registry import create_detectors
from es_dedup.errors import SettingsMismatch
from es_dedup.model import Content, Skipped
from es_dedup.settings import Settings
from es_dedup.text.hashing import TERM_BITS
from experiments.settings import COMPARATORS
from tests.samples import pages as sample_pages

FURTHER = ("char_frequency", "dwdcs", "multi_simhash")
SETTINGS = Settings(detectors=("ccdet", "simhash", "coverage", *FURTHER))


@pytest.fixture(scope="module")
def pages() -> list[Page]:
    return list(sample_pages())


@pytest.fixture(scope="module")
def filled(pages: list[Page], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("further") / "pages.db"
    with Deduplicator.open(path, settings=SETTINGS) as dedup:
        assert dedup.scan(pages).stored == len(pages)
    return path


def test_every_method_shows_its_numbers(filled: Path) -> None:
    with Deduplicator.open(filled, settings=SETTINGS, read_only=True) as dedup:
        pair = dedup.explain("zhportal/bridge-opening.html", "forum/bridge-excerpt.html")
    said = [verdict.detector for verdict in pair.verdicts]
    assert said == [name for name in SETTINGS.detectors if name in said]
    assert set(FURTHER) & set(said)


def test_clusters_are_those_of_the_default_methods(filled: Path, pages: list[Page]) -> None:
    with Deduplicator.open(filled, settings=SETTINGS, read_only=True) as dedup:
        found = {cluster.id: cluster.members for cluster in dedup.clusters()}
    with Deduplicator.open(":memory:") as dedup:
        dedup.scan(pages)
        assert {cluster.id: cluster.members for cluster in dedup.clusters()} == found


def test_a_method_alone_finds_candidates_for_scan_and_for_check(pages: list[Page]) -> None:
    settings = Settings(detectors=("char_frequency",))
    with Deduplicator.open(":memory:", settings=settings) as dedup:
        dedup.scan(pages)
        clusters = [cluster for cluster in dedup.clusters() if cluster.members]
        copies = [member.page_id for cluster in clusters for member in cluster.members]
        assert copies
        for page in [page for page in pages if page.id in copies][:5]:
            decision = dedup.check(Page(id="asked", html=page.html, text=page.text, url=page.url))
            assert decision.duplicate_of is not None


def test_features_come_back_from_their_bytes() -> None:
    texts = ["泵站检修完成。" * 20, "", "第二个泵站今日开始供水，居民恢复正常用水。" * 5]
    table = featurise(texts, ["", "", ""], SETTINGS)
    again = unpack(pack(table))
    assert again.packed == table.packed
    detectors = create_detectors(SETTINGS)
    for name in FURTHER:
        alone = detectors[name].featurise_many([Content(text) for text in texts])
        expected = [None if isinstance(each, Skipped) else detectors[name].pack(each) for each in alone]
        assert list(table.packed[name]) == expected


@pytest.mark.parametrize("cut", [1, 3, 6, 40])
def test_damaged_bytes_are_refused(cut: int) -> None:
    (payload,) = pack(featurise(["泵站检修完成。" * 20], [""], SETTINGS))
    with pytest.raises(ValueError, match=r"."):
        unpack([payload[:cut]])


def test_pages_with_and_without_further_features_do_not_mix() -> None:
    (plain,) = pack(featurise(["泵站检修完成。" * 20], [""], Settings()))
    (more,) = pack(featurise(["泵站检修完成。" * 20], [""], SETTINGS))
    with pytest.raises(ValueError, match="further methods"):
        unpack([more, plain])


def test_an_index_made_with_other_methods_refuses_those_that_are_given(filled: Path) -> None:
    with pytest.raises(SettingsMismatch):
        Deduplicator.open(filled, settings=Settings(detectors=("ccdet",)))


def test_no_two_methods_share_a_kind_of_term() -> None:
    methods = (*SETTINGS.detectors, *COMPARATORS)  # other readings of a system have its terms
    settings = Settings(detectors=methods)
    contents = [
        Content(
            "".join(f"泵站{at}检修完成，居民用水。The pump is at work, and water flows." for at in range(40))
        )
    ]
    owner: dict[int, str] = {}
    for name, detector in create_detectors(settings).items():
        for found in detector.featurise_many(contents):
            terms = () if isinstance(found, Skipped) else detector.terms(found)
            for tag in {term >> (TERM_BITS - 8) for term in terms}:
                assert owner.setdefault(tag, name) == name, (tag, name)
    assert len(owner) >= len(methods) // 2
