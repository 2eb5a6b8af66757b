"""Verdicts of methods that are not enabled, from the texts of two pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from es_dedup.detectors.registry import create_detectors
from es_dedup.model import Skipped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_dedup.model import Content, Verdict
    from es_dedup.settings import Settings


class TextVerdicts(NamedTuple):
    """Verdicts of some methods, and why the others give none, by method."""

    verdicts: tuple[Verdict, ...]
    skipped: dict[str, str]


def verdicts_by_texts(
    names: Sequence[str], contents: Sequence[tuple[str, Content | None]], settings: Settings
) -> TextVerdicts:
    """What methods that are not enabled say of a pair.

    Args:
        names: the methods; of those that are enabled it is only said why they gave no verdict.
        contents: page id and content of both pages; None where no text is kept.
        settings: of the methods.
    """
    verdicts, skipped = [], {}
    for name, detector in create_detectors(settings.model_copy(update={"detectors": tuple(names)})).items():
        features = [
            Skipped("its text is not kept") if content is None else detector.featurise(content)
            for _, content in contents
        ]
        reasons = [
            f"{each.detail or each.reason} in {page}"
            for (page, _), each in zip(contents, features, strict=True)
            if isinstance(each, Skipped)
        ]
        if reasons or name in settings.detectors:
            skipped[name] = "; ".join(reasons) or "nothing to compare"
        else:
            verdicts.append(detector.verify(*features))
    return TextVerdicts(tuple(verdicts), dict(sorted(skipped.items())))
