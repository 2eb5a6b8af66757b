"""What a method says by itself on labelled pairs: its own features, probes and verdicts, without judge and index.

For methods whose features are not part of what an index stores; they run on the texts of the stored pages.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from es_dedup.detectors.registry import create_detectors
from es_dedup.errors import ConfigError
from es_dedup.evaluation.report import judgement
from es_dedup.evaluation.runner import limits_of, numbers_of
from es_dedup.model import Content, Skipped

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from es_dedup.config import Settings
    from es_dedup.detectors.port import Detector
    from es_dedup.evaluation.labels import LabelledPair, Pair
    from es_dedup.evaluation.metrics import Judgement
    from es_dedup.evaluation.runner import LabelledIndex, Limit, Measured

CHUNK: Final = 256
"""Pages featurised together."""


def with_methods(
    measured: Measured,
    dedup: LabelledIndex,
    labels: Sequence[LabelledPair],
    names: Iterable[str],
    settings: Settings,
) -> Measured:
    """Measurements with those of further methods added; a method that is there already is left as it is.

    Args:
        measured: what the index says of the labels.
        dedup: holds the labelled pages with their texts.
        labels: judged pairs.
        names: registered methods.
        settings: build the methods.

    Raises:
        ConfigError: a name is not registered, a method's settings cannot be used, or the index keeps no texts.
    """
    missing = set(measured.missing)
    pairs = [each for each in labels if not missing.intersection(each.pair)]
    contents: dict[str, Content] = {}
    new = tuple(dict.fromkeys(name for name in names if name not in measured.judged))
    if new and not settings.index.keep_text:
        raise ConfigError((f"index.keep_text: must be true, {', '.join(new)} run on the texts of the pages",))
    for name, detector in create_detectors(settings.model_copy(update={"detectors": new})).items():
        if not contents:
            contents = {page: _content(dedup, page) for each in pairs for page in each.pair}
        measured = _with_method(measured, name, detector, pairs, contents)
    return measured


def _content(dedup: LabelledIndex, page: str) -> Content:
    record = dedup.record(page)
    return Content(dedup.text(page), record.title, record.language, record.url or None, record.site)


def _with_method(
    measured: Measured,
    name: str,
    detector: Detector[Any],
    pairs: Sequence[LabelledPair],
    contents: Mapping[str, Content],
) -> Measured:
    """One more method; a pair with a page that it skips gets no verdict and counts as judged different."""
    features = _features(detector, contents)
    judged: dict[Pair, Judgement] = {}
    measures = {pair: dict(found) for pair, found in measured.measures.items()}
    limits: dict[str, Limit] = dict(measured.limits)
    proposed: set[Pair] = set()
    for each in pairs:
        if each.left not in features or each.right not in features:
            continue
        left, right = features[each.left], features[each.right]
        verdict = detector.verify(left, right)
        key, value = judgement(each.left, each.right, verdict.relation, verdict.score)
        judged[key] = value
        own = {f"{name}.score": verdict.score, **numbers_of(name, verdict.evidence)}
        measures.setdefault(each.pair, {}).update(own)
        limits |= limits_of(name, verdict.evidence)
        if _finds(detector, left, right) or _finds(detector, right, left):
            proposed.add(each.pair)
    return replace(
        measured,
        judged={**measured.judged, name: judged},
        candidates={**measured.candidates, name: frozenset(proposed)},
        measures=measures,
        limits=limits,
    )


def _features(detector: Detector[Any], contents: Mapping[str, Content]) -> dict[str, Any]:
    names, values = list(contents), list(contents.values())
    found: dict[str, Any] = {}
    for start in range(0, len(names), CHUNK):
        many = detector.featurise_many(values[start : start + CHUNK])
        found |= dict(zip(names[start : start + CHUNK], many, strict=True))
    return {page: features for page, features in found.items() if not isinstance(features, Skipped)}


def _finds(detector: Detector[Any], asking: Any, stored: Any) -> bool:
    """Whether the probe of one page is answered by the stored terms of the other."""
    probe = detector.probe(asking)
    terms = frozenset(detector.terms(stored))
    groups = probe.groups if probe else ()
    return any(len(terms.intersection(group.terms)) >= group.min_shared for group in groups)
