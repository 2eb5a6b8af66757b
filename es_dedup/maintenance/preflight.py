"""Whether documents of a target hold what its fields name, checked on a sample, before anything is written."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from es_dedup.errors import PreflightFailed
from es_dedup.index.source_index import value_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from es_dedup.index.source_index import Shard, SourceDocument, SourceFields
    from es_dedup.maintenance.context import MaintenanceContext

SAMPLE: Final = 200
"""Documents of one target that are read."""
MIN_SAMPLE: Final = 20
"""Documents of each index that are read where a target has many."""
SHARDS_READ: Final = 8  # of one index
FEW: Final = 0.5  # share of documents with content below which it is worth a warning
MOST: Final = (
    0.5  # share of texts with tags above which content that is not declared as HTML seems to be HTML
)
_TAG: Final = re.compile(
    r"<(?:!doctype|html|head|body|div|p|a|span|br|table|article|section|h[1-6])\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Preflight:
    """What a sample says of the fields of a target.

    Attributes:
        problems: why decisions would be wrong; to go on needs ``force``.
        warnings: what may be meant so.
    """

    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def check_fields(
    context: MaintenanceContext,
    target: str,
    fields: SourceFields,
    *,
    force: bool,
    external_versions: bool = False,
) -> tuple[str, ...]:
    """Check the fields of a target by a sample of the documents of each of its indices.

    Returns:
        Warnings; with ``force`` the problems too.

    Raises:
        PreflightFailed: there are problems, and ``force`` is not set.
    """
    indices = context.source_index.indices(target)
    size = max(MIN_SAMPLE, SAMPLE // max(1, len(indices)))
    found = [_look(context, index, fields, size, external_versions=external_versions) for index in indices]
    for index in indices:
        effects = context.source_index.pipeline_effects(index, fields.sample(), fields.content)
        found.append(Preflight(effects.problems, effects.notes))
    problems = [problem for each in found for problem in each.problems]
    if not indices:
        problems = [f"no index matches {target} yet: the fields cannot be checked"]
    if problems and not force:
        raise PreflightFailed(target, tuple(problems))
    return (*problems, *(warning for each in found for warning in each.warnings))


def _look(
    context: MaintenanceContext, index: str, fields: SourceFields, size: int, *, external_versions: bool
) -> Preflight:
    documents = list(sample(context, index, fields.names, size))
    found = check_sample(index, fields, [each.source for each in documents])
    own = next((each for each in documents if each.external), None)
    if own is None or external_versions or context.source_index.external_versions(index):
        return found
    problem = (
        f"documents of {index} have external versions ({own.key.id} has version {own.version}): writing dedup raises the version, and "
        f"a write of its owner that follows may conflict: use --external-versions"
    )
    return Preflight((*found.problems, problem), found.warnings)


def check_sample(index: str, fields: SourceFields, sources: Sequence[Mapping[str, Any]]) -> Preflight:
    """What sampled documents of one index say of the fields."""
    if not sources:
        return Preflight(warnings=(f"{index} has no documents: the fields cannot be checked",))
    total = len(sources)
    of = f"of {total} sampled documents of {index}"
    values = [value_of(source, fields.content) for source in sources]
    texts = [text for value in values for text in (value if isinstance(value, list) else [value])]
    there = sum(value not in (None, "", []) for value in values)
    strange = sum(not isinstance(text, str | None) for text in texts)
    if not there:
        return Preflight((f"0 {of} have the content field {fields.content!r}",))
    if strange:
        problem = (
            f"the content field {fields.content!r} is an object, a number or a boolean in {strange:,} {of}"
        )
        return Preflight((problem,))
    warnings = []
    if there < total * FEW:
        warnings.append(f"only {there} {of} have the content field {fields.content!r}")
    warnings += _about_html([text for text in texts if text], html=fields.html, of=of)
    for name in ("title", "url", "published", "site"):
        field = getattr(fields, name)
        found = [value_of(source, field) for source in sources] if field else []
        if field and all(value in (None, "", []) for value in found):
            warnings.append(f"0 {of} have the {name} field {field!r}")
        elif any(isinstance(value, dict) for value in found):
            warnings.append(f"the {name} field {field!r} is an object in some {of}")
    return Preflight((), tuple(warnings))


def _about_html(texts: Sequence[str], *, html: bool, of: str) -> Iterator[str]:
    with_tags = sum(bool(_TAG.search(text)) for text in texts)
    if html and not with_tags:
        yield f"the content is declared as HTML, and 0 {of} have HTML tags in it"
    if not html and with_tags > len(texts) * MOST:
        yield f"the content is not declared as HTML, and {with_tags} {of} have HTML tags in it"


def sample(
    context: MaintenanceContext, index: str, names: Iterable[str], size: int
) -> Iterator[SourceDocument]:
    """Documents from some places of some shards, chosen at random, the same each time."""
    chosen = random.Random(0)  # noqa: S311 - which documents are read
    shards = [shard for shard in context.source_index.shards(index) if shard.documents]
    some = chosen.sample(shards, min(len(shards), SHARDS_READ))
    for shard in some:
        start = chosen.randrange(shard.last + 1)
        left = -(-size // len(some))
        for part in ({"above": start - 1}, {"to": start - 1}):
            if left > 0 and (found := _first(context, shard, tuple(names), left, **part)):
                yield from found
                left -= len(found)


def _first(
    context: MaintenanceContext, shard: Shard, names: Sequence[str], count: int, **part: int
) -> list[SourceDocument]:
    return next(context.source_index.scan(shard, names, batch=count, **part), [])
