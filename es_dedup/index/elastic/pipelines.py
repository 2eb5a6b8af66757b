"""What the ingest pipelines of an index do with a document, tried on a sample."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from es_dedup.errors import IndexError_
from es_dedup.index.elastic.source_metadata import read_facts
from es_dedup.index.source_index import DEDUP, PipelineEffects, unread_problem, value_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from elasticsearch import Elasticsearch

    from es_dedup.index.elastic.server import Server
    from es_dedup.index.elastic.source_metadata import IndexFacts

SAMPLE_ID: Final = "es-dedup-sample"


def effects(
    server: Server, index: str, known: IndexFacts | None, source: Mapping[str, Any], content: str
) -> PipelineEffects:
    """What comes out of the default and the final pipeline of an index.

    Args:
        server: simulates them.
        index: that documents are sent to.
        known: facts of the index; None: they are read.
        source: a document with its ``dedup`` field.
        content: name of the field that holds the page.
    """
    document: dict[str, Any] = {"_index": index, "_id": SAMPLE_ID, "_source": dict(source)}
    facts = known or read_facts(server, [index]).get(index)
    names = [name for name in (facts.default_pipeline, facts.final_pipeline) if name] if facts else []
    for name in names:
        try:
            (answer,) = server.call(partial(_simulate, name, document))["docs"]
        except IndexError_ as error:
            return PipelineEffects(notes=(f"pipeline {name} of {index} could not be tried: {error}",))
        if answer is None:
            return PipelineEffects(notes=(f"pipeline {name} of {index} drops a sample document",))
        if "doc" not in answer:
            reason = answer.get("error", {}).get("reason", "an error")
            return PipelineEffects(notes=(f"pipeline {name} of {index} refuses a sample document: {reason}",))
        document = {key: answer["doc"][key] for key in ("_index", "_id", "_source")}
    if not names:
        return PipelineEffects()
    return _compared(f"pipeline {' and '.join(names)} of {index}", index, source, document, content)


def _simulate(name: str, document: Mapping[str, Any], client: Elasticsearch) -> Any:
    return client.ingest.simulate(id=name, docs=[document])


def _compared(
    who: str, index: str, source: Mapping[str, Any], document: Mapping[str, Any], content: str
) -> PipelineEffects:
    problems, notes, after = [], [], document["_source"]
    if not after.get(DEDUP):
        problems.append(
            f"{who} removes the field {DEDUP}, so that searches find no clusters: let the pipeline keep it"
        )
    elif after[DEDUP] != source[DEDUP]:
        problems.append(f"{who} changes the field {DEDUP}: let the pipeline keep it as it is")
    text, stored = value_of(source, content), value_of(after, content)
    unread = text is not None and stored is None
    if unread:
        renamed = next(
            (f" to {name!r}" for name, value in after.items() if value == text and name not in source), ""
        )
        problems.append(unread_problem(who, "renames" if renamed else "removes", content, renamed))
    elif text != stored:
        notes.append(f"{who} changes the content field {content!r}: decisions rest on the text before")
    if document["_index"] != index:
        notes.append(
            f"{who} moves documents to {document['_index']}: attach that index, or a pattern with it"
        )
    if document["_id"] != SAMPLE_ID:
        notes.append(f"{who} gives documents another _id: they are read again after the write")
    return PipelineEffects(tuple(problems), tuple(notes), unread=unread)
