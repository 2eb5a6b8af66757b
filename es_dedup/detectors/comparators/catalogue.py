"""The comparators by name, built from the settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from es_dedup.detectors.comparators.codet import CodetLike
from es_dedup.detectors.comparators.feature_sentence import FeatureSentence
from es_dedup.detectors.comparators.imatch import Imatch, ImatchPeriods, ImatchRandom, ImatchSpots
from es_dedup.detectors.comparators.lsh import LshPeriods, LshSpots
from es_dedup.detectors.comparators.minhash import Minhash
from es_dedup.detectors.comparators.punctuation import Punctuation
from es_dedup.detectors.comparators.shingling import Shingling, ShinglingContainment, Supershingles
from es_dedup.detectors.comparators.spotsigs import Spotsigs

if TYPE_CHECKING:
    from collections.abc import Callable

    from es_dedup.detectors.port import Detector
    from es_dedup.settings import Settings

    Factory: TypeAlias = Callable[[Settings], Detector[Any]]

FACTORIES: Final[dict[str, Factory]] = {
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
}
