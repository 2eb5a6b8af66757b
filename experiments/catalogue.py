"""The comparators and readings by name, and their registration as methods of es-dedup."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from es_dedup.detectors.registry import register
from es_dedup.text import synonyms
from experiments.comparators.codet import CodetLike
from experiments.comparators.feature_sentence import FeatureSentence
from experiments.comparators.imatch import Imatch, ImatchPeriods, ImatchRandom, ImatchSpots
from experiments.comparators.lsh import LshPeriods, LshSpots
from experiments.comparators.minhash import Minhash
from experiments.comparators.punctuation import Punctuation
from experiments.comparators.shingling import Shingling, ShinglingContainment, Supershingles
from experiments.comparators.spotsigs import Spotsigs
from experiments.readings.ccdet import CcdetIdf, CcdetKeptCounts
from experiments.readings.char_frequency import CharFrequencyAuxAlone, CharFrequencyBothLong
from experiments.readings.dwdcs import DwdcsContribution, DwdcsPhrases, DwdcsPrinted, DwdcsTfidf, Dwswn
from experiments.readings.multi_simhash import MultiSimhashEach, MultiSimhashTfidf
from experiments.settings import with_comparators

if TYPE_CHECKING:
    from collections.abc import Callable

    from es_dedup.detectors.dwdcs import Dwdcs
    from es_dedup.detectors.multi_simhash import MultiSimhash
    from es_dedup.detectors.port import Detector
    from es_dedup.settings import Settings
    from experiments.settings import ExperimentSettings

    Factory: TypeAlias = Callable[[ExperimentSettings], Detector[Any]]

_FACTORIES: Final[dict[str, Factory]] = {
    CodetLike.name: lambda settings: CodetLike(settings.codet),
    FeatureSentence.name: lambda settings: FeatureSentence(settings.feature_sentence),
    Imatch.name: lambda settings: Imatch(settings.imatch),
    ImatchPeriods.name: lambda settings: ImatchPeriods(settings.imatch),
    ImatchRandom.name: lambda settings: ImatchRandom(settings.imatch),
    ImatchSpots.name: lambda settings: ImatchSpots(settings.imatch, settings.spotsigs),
    LshPeriods.name: lambda settings: LshPeriods(settings.lsh),
    LshSpots.name: lambda settings: LshSpots(settings.lsh, settings.spotsigs),
    Minhash.name: lambda settings: Minhash(settings.minhash),
    Punctuation.name: lambda settings: Punctuation(settings.punctuation),
    Shingling.name: lambda settings: Shingling(settings.shingling),
    ShinglingContainment.name: lambda settings: ShinglingContainment(settings.shingling),
    Spotsigs.name: lambda settings: Spotsigs(settings.spotsigs),
    Supershingles.name: lambda settings: Supershingles(settings.shingling),
    CcdetIdf.name: lambda settings: CcdetIdf(settings.ccdet),
    CcdetKeptCounts.name: lambda settings: CcdetKeptCounts(settings.ccdet),
    CharFrequencyAuxAlone.name: lambda settings: CharFrequencyAuxAlone(settings.char_frequency),
    CharFrequencyBothLong.name: lambda settings: CharFrequencyBothLong(settings.char_frequency),
    DwdcsContribution.name: lambda settings: _of_dwdcs(DwdcsContribution, settings),
    DwdcsPhrases.name: lambda settings: _of_dwdcs(DwdcsPhrases, settings),
    DwdcsPrinted.name: lambda settings: _of_dwdcs(DwdcsPrinted, settings),
    DwdcsTfidf.name: lambda settings: _of_dwdcs(DwdcsTfidf, settings),
    Dwswn.name: lambda settings: Dwswn(settings.dwdcs),
    MultiSimhashEach.name: lambda settings: _of_multi_simhash(MultiSimhashEach, settings),
    MultiSimhashTfidf.name: lambda settings: _of_multi_simhash(MultiSimhashTfidf, settings),
}


def _of_dwdcs(kind: type[Dwdcs], settings: Settings) -> Dwdcs:
    return kind(settings.dwdcs, synonyms.named(settings.dwdcs.synonyms))


def _of_multi_simhash(kind: type[MultiSimhash], settings: Settings) -> MultiSimhash:
    config = settings.multi_simhash
    return kind(config, synonyms.named(config.synonyms))


def _factory(name: str) -> Callable[[Settings], Detector[Any]]:
    return lambda settings: _FACTORIES[name](with_comparators(settings))


def register_all() -> None:
    """Let ``create_detectors`` build them, with the default settings where it is given none of theirs."""
    for name in _FACTORIES:
        register(name, _factory(name))
