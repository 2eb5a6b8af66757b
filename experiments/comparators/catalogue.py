"""The comparators by name, and their registration as methods of es-dedup."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from es_dedup.detectors.registry import register
from experiments.comparators.codet import CodetLike
from experiments.comparators.feature_sentence import FeatureSentence
from experiments.comparators.imatch import Imatch, ImatchPeriods, ImatchRandom, ImatchSpots
from experiments.comparators.lsh import LshPeriods, LshSpots
from experiments.comparators.minhash import Minhash
from experiments.comparators.punctuation import Punctuation
from experiments.comparators.shingling import Shingling, ShinglingContainment, Supershingles
from experiments.comparators.spotsigs import Spotsigs
from experiments.settings import with_comparators

if TYPE_CHECKING:
    from collections.abc import Callable

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
}


def _factory(name: str) -> Callable[[Settings], Detector[Any]]:
    return lambda settings: _FACTORIES[name](with_comparators(settings))


def register_all() -> None:
    """Let ``create_detectors`` build the comparators, with the default settings where it is given none of theirs."""
    for name in _FACTORIES:
        register(name, _factory(name))
