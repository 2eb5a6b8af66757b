"""Evaluates methods alone on labelled pairs: their own features, candidates and verdicts, without the decision rules.

For methods whose features the index does not store; they run on the texts of all stored pages, as in ``compare``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from es_dedup.detectors.registry import create_detectors
from es_dedup.errors import ConfigError
from es_dedup.evaluation.methods import run_method
from es_dedup.evaluation.report import method_decision
from es_dedup.evaluation.runner import numbers_of, thresholds_of
from es_dedup.model import Content

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from es_dedup.deduplicator.index_reader import IndexReader
    from es_dedup.evaluation.labels import LabelledPair, Pair
    from es_dedup.evaluation.methods import MethodRun
    from es_dedup.evaluation.metrics import MethodDecisions
    from es_dedup.evaluation.runner import Measured, Threshold
    from es_dedup.index.records import FeatureRecord
    from es_dedup.settings import Settings


def with_methods(
    measured: Measured,
    dedup: IndexReader,
    labels: Sequence[LabelledPair],
    names: Iterable[str],
    settings: Settings,
) -> Measured:
    """Return measurements with further methods added; methods already measured are kept unchanged.

    Args:
        measured: results of the index on the labelled pairs.
        dedup: index that holds the labelled pages with their texts.
        labels: labelled pairs.
        names: registered methods.
        settings: of the methods; ``index.limit`` and ``index.max_df`` bound their candidates as in an index.

    Raises:
        ConfigError: a name is not registered, a method's settings cannot be used, or the index keeps no texts.
    """
    new = tuple(dict.fromkeys(name for name in names if name not in measured.decisions))
    if not new:
        return measured
    if not settings.index.keep_text:
        raise ConfigError((f"index.keep_text: must be true, {', '.join(new)} run on the texts of the pages",))
    detectors = create_detectors(settings.model_copy(update={"detectors": new}))
    records = list(dedup.records())
    ids = [record.page_id for record in records]
    contents = [_content(dedup, record) for record in records]
    for detector in detectors.values():
        measured = _with_method(measured, run_method(detector, ids, contents, labels, settings.index))
    return measured


def _content(dedup: IndexReader, record: FeatureRecord) -> Content:
    text = dedup.text(record.page_id)
    return Content(text, record.title, record.language, record.url or None, record.site)


def _with_method(measured: Measured, run: MethodRun) -> Measured:
    """Add one method; a pair with a page that it skipped gets no verdict and counts as different."""
    decisions: dict[Pair, MethodDecisions] = {}
    measures = {pair: dict(found) for pair, found in measured.measures.items()}
    thresholds: dict[str, Threshold] = dict(measured.thresholds)
    for pair, verdict in run.verdicts.items():
        key, value = method_decision(*pair, verdict.relation, verdict.score)
        decisions[key] = value
        own = {f"{run.name}.score": verdict.score, **numbers_of(run.name, verdict.evidence)}
        measures.setdefault(pair, {}).update(own)
        thresholds |= thresholds_of(run.name, verdict.evidence)
    return replace(
        measured,
        decisions={**measured.decisions, run.name: decisions},
        candidates={**measured.candidates, run.name: run.candidates},
        measures=measures,
        thresholds=thresholds,
    )
