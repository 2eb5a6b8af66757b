"""Detection methods by name, built from the settings.

Traps:
    - The default methods share one pass over the text (``features``), which is what an index stores. A registered
      method beyond them is built and checked here; its features are not yet part of that pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from es_dedup import detectors
from es_dedup.errors import ConfigError
from es_dedup.settings import methods
from es_dedup.text import synonyms

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from es_dedup.detectors.port import Detector
    from es_dedup.settings import Settings

    Factory: TypeAlias = Callable[[Settings], Detector[Any]]


_FACTORIES: Final[dict[str, Factory]] = {  # a method is imported when it is made
    "ccdet": lambda settings: detectors.ccdet.Ccdet(settings.ccdet),
    "simhash": lambda settings: detectors.simhash.Simhash(settings.simhash),
    "coverage": lambda settings: detectors.coverage.Coverage(settings.coverage),
    "multi_simhash": lambda settings: detectors.multi_simhash.MultiSimhash(
        settings.multi_simhash, synonyms.named(settings.multi_simhash.synonyms, "multi_simhash.synonyms")
    ),
    "char_frequency": lambda settings: detectors.char_frequency.CharFrequency(settings.char_frequency),
    "dwdcs": lambda settings: detectors.dwdcs.Dwdcs(
        settings.dwdcs, synonyms.named(settings.dwdcs.synonyms, "dwdcs.synonyms")
    ),
}


def detector_names() -> tuple[str, ...]:
    """Names that ``create_detectors`` knows, in alphabetical order."""
    return tuple(sorted(_FACTORIES))


methods.known[methods.DETECTORS] = detector_names


def register(name: str, factory: Factory) -> None:
    """Add a method under a name of its own.

    Args:
        name: what ``Settings.detectors`` calls it; the detectors that the factory makes carry the same name.
        factory: makes the detector from the settings; called at each ``create_detectors``.

    Raises:
        ValueError: the name is empty or taken.
    """
    if not name or name in _FACTORIES:
        problem = "taken already" if name else "empty"
        raise ValueError(f"the detector name {name!r} is {problem}: choose another name")
    _FACTORIES[name] = factory


def create_detectors(settings: Settings) -> dict[str, Detector[Any]]:
    """The detectors that the settings enable, by name, in the order of ``settings.detectors``.

    Raises:
        ConfigError: names that are not registered, or a name given twice; all are named at once.
    """
    problems = tuple(
        f"detectors: {each}" for each in methods.wrong_names(settings.detectors, methods.DETECTORS)
    )
    if problems:
        raise ConfigError(problems)
    return {name: _FACTORIES[name](settings) for name in settings.detectors}


def detector_versions(settings: Settings, also: Collection[str] = ()) -> dict[str, int]:
    """``Detector.version`` of each enabled detector and of those in ``also``, by name; errors as for ``create_detectors``."""
    names = tuple(dict.fromkeys((*settings.detectors, *also)))
    created = create_detectors(settings.model_copy(update={"detectors": names}))
    return {name: detector.version for name, detector in created.items()}
