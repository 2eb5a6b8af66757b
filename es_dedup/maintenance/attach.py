"""Attaching source indices, and detaching them: the mapping of ``dedup``, and how pages are read.

Before anything is written, a sample of the documents shows whether they hold what the fields name.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from es_dedup.errors import ConfigError, PreflightFailed
from es_dedup.index.jobs import JobState
from es_dedup.index.source_index import Findings, SourceDocument, SourceFields, index_of
from es_dedup.maintenance.context import Attachment, MaintenanceContext, save_attachments
from es_dedup.model.batches import chunked
from es_dedup.model.values import plain_value, value_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


SAMPLE: Final = 200
"""Documents of one target that are read."""
MIN_SAMPLE: Final = 20
"""Documents of each index that are read where a target has many."""
SHARDS_READ: Final = 8  # of one index
FEW: Final = 0.5  # share of documents with content below which it is worth a warning
# share of texts with tags above which content that is not declared as HTML seems to be HTML
MANY: Final = 0.5
BATCH: Final = 500  # pages that are detached at a time
REWRITING: Final = frozenset({"backfill", "refill", "recluster", "update"})
"""Kinds of jobs that go through all documents."""
_TAG: Final = re.compile(
    r"<(?:!doctype|html|head|body|div|p|a|span|br|table|article|section|h[1-6])\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Attached:
    """What ``attach`` did or, on a dry run, would do.

    Attributes:
        target: as given.
        indices: concrete indices that have the mapping now.
        documents: in them.
        mapping: of ``dedup``, for ``mappings.properties`` of the templates that make later indices of the target; whether these have it
            is not checked.
        warnings: what a sample of the documents says against the fields.
    """

    target: str
    indices: tuple[str, ...]
    documents: int
    mapping: Mapping[str, Any]
    warnings: tuple[str, ...] = ()


def attach(
    context: MaintenanceContext,
    target: str,
    fields: SourceFields,
    *,
    dry_run: bool = False,
    force: bool = False,
) -> Attached:
    """Attach an index, an alias, a data stream or a pattern; repeating it changes which fields are read.

    Documents are not changed; ``backfill`` writes their ``dedup`` fields.

    Args:
        context: its index records the attachment.
        target: an index, an alias, a data stream or a pattern.
        fields: which fields of its documents hold a page.
        dry_run: change nothing.
        force: also when sampled documents do not have these fields, or no index matches the pattern yet.

    Raises:
        ConfigError: there is no such index, and the target is no pattern; or an alias shows a part of its indices only.
        IndexRefused: a field ``dedup`` of another kind is there, or the role does not allow it.
        PreflightFailed: sampled documents do not have the fields, and ``force`` is not set.
        SourceIncomplete: the ``_source`` of an index does not hold whole documents.
    """
    indices = context.source_index.indices(target)
    if not indices and "*" not in target:
        raise ConfigError(
            (f"there is no open index {target}: make it first, or name a pattern with *",), "attach"
        )
    if part := context.source_index.shown_in_part(target):
        raise ConfigError(
            (f"{part}, and all documents of an attached index are marked: attach the index",), "attach"
        )
    context.source_index.check(indices)
    warnings = check_fields(context, target, fields, force=force)
    documents = sum(shard.documents for index in indices for shard in context.source_index.shards(index))
    if not dry_run:
        context.source_index.prepare(indices)
        others = {each.target: each for each in context.attachments}
        before = others.pop(target, Attachment(target, fields))
        save_attachments(context.index, [*others.values(), before._replace(fields=fields)])
        context.note_indices()
    return Attached(target, tuple(indices), documents, context.source_index.mapping, warnings)


@dataclass(frozen=True, slots=True)
class Detached:
    """What ``detach`` did or, on a dry run, would do.

    Attributes:
        cleared: documents whose field ``dedup`` was set to null.
        removed: pages that were removed from the index.
        failed: documents that keep their field ``dedup``, as the server refused to change them.
    """

    cleared: int
    removed: int
    failed: int = 0


def detach(
    context: MaintenanceContext,
    target: str,
    *,
    keep_fields: bool = False,
    dry_run: bool = False,
    force: bool = False,
) -> Detached:
    """Detach a target. It may be repeated when it was interrupted.

    The mapping of ``dedup`` stays on existing indices: Elasticsearch cannot take a field away.

    Args:
        context: with its attachments.
        target: as attached.
        keep_fields: keep the ``dedup`` field in the documents.
        dry_run: change nothing.
        force: also when more documents are changed than the guard allows.

    Raises:
        NotAttached: there is no such attachment.
        ConfigError: a job is running that writes the fields of all documents.
        SourceIncomplete: documents would lose data, and their ``dedup`` fields are not kept.
        MassChange: too many documents would be changed; nothing was.
    """
    rest = [each for each in context.attachments if each.target != target]
    still_attached = {
        name for each in rest for name in context.source_index.indices(each.target, closed=True)
    }
    noted = {name for each in context.attachments if each.target == target for name in each.indices}
    leaving = noted.union(context.indices(target)) - still_attached
    pages = [
        each.page_id
        for records in context.index.scan(batch=BATCH)
        for each in records
        if index_of(each.page_id) in leaving
    ]
    written = 0 if keep_fields else len(pages)
    if dry_run:
        return Detached(written, len(pages))
    for job in context.jobs.jobs(unfinished=True):
        if job.state is JobState.RUNNING and job.what in REWRITING:
            problem = f"job {job.id} ({job.what}) would write the fields again"
            raise ConfigError(
                (f"{problem}: wait for it, or `es-dedup elastic jobs {job.id} --cancel`",), "detach"
            )
    if not keep_fields:
        context.source_index.check(leaving)
    context.guard("detach", written, context.index.count(), force=force)
    context.note_removed(leaving)
    changed, failed = 0, 0
    for some in chunked(pages, BATCH):
        if not keep_fields:
            report = context.source_index.write_dedup_fields(dict.fromkeys(some))
            changed += report.changed
            failed += len(report.failed)
        context.remove_pages(some, leave=leaving)
    save_attachments(context.index, rest)
    return Detached(changed, len(pages), failed)


def check_fields(
    context: MaintenanceContext, target: str, fields: SourceFields, *, force: bool
) -> tuple[str, ...]:
    """Check the fields of a target by a sample of the documents of each of its indices.

    Returns:
        Warnings; with ``force`` the problems too.

    Raises:
        PreflightFailed: there are problems, and ``force`` is not set.
    """
    source = context.source_index
    indices = source.indices(target)
    size = max(MIN_SAMPLE, SAMPLE // max(1, len(indices)))
    problems, warnings = [], []
    for index in indices:
        documents = list(sample(context, index, fields.names, size))
        found = check_sample(index, fields, [each.source for each in documents])
        effects = source.pipeline_effects(index, fields.sample(), fields.content)
        problems += [*found.problems, *effects.problems]
        warnings += [*found.notes, *effects.notes]
        own = next((each for each in documents if each.external), None)
        if own is not None:
            problems.append(
                f"documents of {index} have external versions ({own.key.id} has version {own.version}): updating `dedup` increments `_version`, "
                "and later writes with version_type may conflict; let their writer leave out version_type, or use --force where nothing "
                "writes these documents any more"
            )
    if not indices:
        problems = [f"no index matches {target} yet: the fields cannot be checked"]
    if problems and not force:
        raise PreflightFailed(target, tuple(problems))
    return (*problems, *warnings)


def check_sample(index: str, fields: SourceFields, sources: Sequence[Mapping[str, Any]]) -> Findings:
    """What sampled documents of one index say of the fields."""
    if not sources:
        return Findings(notes=(f"{index} has no documents: the fields cannot be checked",))
    total = len(sources)
    of = f"of {total} sampled documents of {index}"
    texts = [plain_value(value_of(source, fields.content)) for source in sources]
    filled = sum(text not in (None, "") for text in texts)
    if not filled:
        return Findings((f"0 {of} have the content field {fields.content!r}",))
    if strange := sum(not isinstance(text, str | None) for text in texts):
        kind = "an object, a number or a boolean"
        return Findings((f"the content field {fields.content!r} is {kind} in {strange:,} {of}",))
    warnings = []
    if filled < total * FEW:
        warnings.append(f"only {filled} {of} have the content field {fields.content!r}")
    warnings += _html_warnings([text for text in texts if text], html=fields.html, of=of)
    for name in ("title", "url", "published", "site"):
        field = getattr(fields, name)
        found = [value_of(source, field) for source in sources] if field else []
        if field and all(value in (None, "", []) for value in found):
            warnings.append(f"0 {of} have the {name} field {field!r}")
        elif any(isinstance(value, dict) for value in found):
            warnings.append(f"the {name} field {field!r} is an object in some {of}")
    return Findings((), tuple(warnings))


def _html_warnings(texts: Sequence[str], *, html: bool, of: str) -> Iterator[str]:
    with_tags = sum(bool(_TAG.search(text)) for text in texts)
    if html and not with_tags:
        yield f"the content is declared as HTML, and 0 {of} have HTML tags in it"
    if not html and with_tags > len(texts) * MANY:
        yield f"the content is not declared as HTML, and {with_tags} {of} have HTML tags in it"


def sample(
    context: MaintenanceContext, index: str, names: Sequence[str], size: int
) -> Iterator[SourceDocument]:
    """Documents from some places of some shards, chosen at random, the same each time."""
    generator = random.Random(0)  # noqa: S311 - which documents are read
    shards = [shard for shard in context.source_index.shards(index) if shard.documents]
    some = generator.sample(shards, min(len(shards), SHARDS_READ))
    for shard in some:
        start = generator.randrange(shard.last + 1)
        left = -(-size // len(some))
        for above, to in ((start - 1, None), (-1, start - 1)):
            if left > 0:
                found = next(context.source_index.scan(shard, names, above=above, to=to, batch=left), [])
                yield from found
                left -= len(found)
