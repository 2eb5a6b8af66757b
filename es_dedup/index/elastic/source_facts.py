"""What decides how documents of a source index may be changed: its ``_source``, and its mapping of ``dedup``.

A ``dedup`` field is written by a partial update: the server reads ``_source``, merges the field, and indexes the result. A field that ``_source`` does not hold
is lost. ``_source.excludes``, ``_source.includes`` and ``_source.enabled: false`` leave fields out. Synthetic ``_source`` is made anew from
doc values: values of an array come back sorted and without repetitions, so that a phrase query over them finds less after the update.
Elasticsearch 9.2 and later leave vectors out of the answers of a search (``index.mapping.exclude_source_vectors``), but put them back for
partial updates. All of this is fixed when an index is created.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from es_dedup.errors import IndexError_, IndexRefused
from es_dedup.index.elastic.server import NOT_FOUND, Server
from es_dedup.index.source_index import DEDUP, Findings, WriteTarget, unread_problem
from es_dedup.model.batches import chunked
from es_dedup.model.values import value_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from elasticsearch import Elasticsearch


INDICES_AT_A_TIME: Final = 14  # of one request: its address has at most 4,096 bytes, a name 255
CLOSED: Final = "index.verified_before_close"  # a setting that only closed indices have
FILTER: Final = (
    "*.aliases",
    "*.mappings._source",
    f"*.mappings.properties.{DEDUP}",
    "*.settings.index.mode",
    "*.settings.index.mapping.source",
    "*.settings.index.default_pipeline",
    "*.settings.index.final_pipeline",
    "*.settings.index.uuid",
    f"*.settings.{CLOSED}",
)
NO_PIPELINE: Final = "_none"  # the name that stands for no pipeline
SYNTHETIC_MODES: Final = ("logsdb", "time_series")
SAMPLE_ID: Final = "es-dedup-sample"


@dataclass(frozen=True, slots=True)
class Alias:
    """What an alias does for one of its indices.

    Attributes:
        writes: the index is marked as the one that takes the alias's writes.
        routing: of documents that are written by it without a routing of their own; empty: they have none.
        part: why searches by it find a part of the index only; empty where they find all of it.
    """

    writes: bool = False
    routing: str = ""
    part: str = ""

    @property
    def filtered(self) -> bool:
        """Whether it hides documents from its own writers, too."""
        return "filter" in self.part

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> Alias:
        """As the server describes it."""
        part = [name for name in ("filter", "search_routing") if said.get(name)]
        return cls(bool(said.get("is_write_index")), said.get("index_routing", ""), " and ".join(part))


@dataclass(frozen=True, slots=True)
class IndexFacts:
    """Facts of one concrete index.

    Attributes:
        source_problem: why a partial update would lose data; empty when it loses none.
        types: the type of each field below ``dedup``, by name.
        default_pipeline: of the index, for documents that name none; empty when there is none.
        final_pipeline: of the index; empty when there is none.
        aliases: its aliases by name, and what each does.
        closed: its documents can be neither searched nor changed.
    """

    source_problem: str
    types: Mapping[str, str]
    default_pipeline: str = ""
    final_pipeline: str = ""
    aliases: Mapping[str, Alias] = field(default_factory=dict)
    closed: bool = False


def read_facts(server: Server, indices: Iterable[str]) -> dict[str, IndexFacts]:
    """The facts of concrete indices, open or closed; those that do not exist are absent."""
    return dict(facts for some in chunked(indices, INDICES_AT_A_TIME) for facts in _read_some(server, some))


def _read_some(server: Server, names: Sequence[str]) -> Iterator[tuple[str, IndexFacts]]:
    answer = server.call(
        lambda client: (
            client.indices.get(
                index=list(names), ignore_unavailable=True, expand_wildcards="all", filter_path=list(FILTER)
            ).body
        )
    )
    yield from ((name, _facts(said)) for name, said in answer.items())


def _facts(said: Mapping[str, Any]) -> IndexFacts:
    mappings, settings = said.get("mappings", {}), said.get("settings", {}).get("index", {})
    default, final = (settings.get(f"{name}_pipeline", NO_PIPELINE) for name in ("default", "final"))
    fields = mappings.get("properties", {}).get(DEDUP, {}).get("properties", {})
    return IndexFacts(
        _source_problem(mappings.get("_source", {}), settings),
        {name: field.get("type", "object") for name, field in fields.items()},
        "" if default == NO_PIPELINE else default,
        "" if final == NO_PIPELINE else final,
        {name: Alias.of(each) for name, each in said.get("aliases", {}).items()},
        "verified_before_close" in settings,
    )


def _source_problem(source: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    for name in ("excludes", "includes"):
        if fields := source.get(name):
            return f"_source.{name}: {', '.join(fields)}"
    if str(source.get("enabled", True)).lower() == "false":
        return "_source.enabled: false"
    index_mode = settings.get("mode", "")
    by_default = "synthetic" if index_mode in SYNTHETIC_MODES else "stored"
    mode = settings.get("mapping", {}).get("source", {}).get("mode", source.get("mode", by_default)).lower()
    if mode == "stored":
        return ""
    return f"_source mode {mode}" + (f", index mode {index_mode}" if index_mode else "")


def write_target(server: Server, target: str) -> WriteTarget:
    """Where documents written to ``target`` go: an index, an alias or a data stream.

    One that is not there is made by the server, where a write would make it: an update of a document that there is not makes the index alone.

    Raises:
        IndexRefused: it is an alias with a filter.
    """
    found = _behind(server, target)
    if not found:
        update: list[dict[str, Any]] = [{"update": {"_index": target, "_id": SAMPLE_ID}}, {"doc": {}}]
        server.call(lambda client: client.bulk(operations=update), writing=True)
        found = _behind(server, target)
    if not found:
        return WriteTarget(target)  # the write that follows is refused, too
    index = next((name for name, alias in found.items() if alias.writes), max(found))
    if found[index].filtered:
        problem = "the alias has a filter, and documents that it hides may stand for those that it shows"
        raise IndexRefused(target, problem, f"write to the index behind it, {index}, or to an alias without")
    return WriteTarget(index, found[index].routing)


def shown_in_part(server: Server, target: str) -> str:
    """See ``SourceIndex.shown_in_part``."""
    for name in target.split(",") if "*" not in target else ():
        for index, alias in _behind(server, name).items():
            if alias.part:
                return f"the alias {name} shows a part of {index} only ({alias.part})"
    return ""


def _behind(server: Server, target: str) -> dict[str, Alias]:
    """The concrete indices behind a target, and what it does as an alias of each; none when it is not there."""
    answer = server.call_unless(lambda client: client.indices.get_alias(index=target).body, NOT_FOUND)
    return {
        name: Alias(writes=True) if name == target else Alias.of(said["aliases"].get(target, {}))
        for name, said in (answer or {}).items()
    }


def pipeline_effects(server: Server, index: str, source: Mapping[str, Any], content: str) -> Findings:
    """What comes out of the default and the final pipeline of an index.

    Args:
        server: simulates them.
        index: that documents are sent to.
        source: a document with its ``dedup`` field.
        content: name of the field that holds the page.
    """
    document: dict[str, Any] = {"_index": index, "_id": SAMPLE_ID, "_source": dict(source)}
    facts = read_facts(server, [index]).get(index)
    names = [name for name in (facts.default_pipeline, facts.final_pipeline) if name] if facts else []
    for name in names:
        try:
            (answer,) = server.call(partial(_simulate, name, document))["docs"]
        except IndexError_ as error:
            return Findings(notes=(f"pipeline {name} of {index} could not be tried: {error}",))
        if answer is None:
            return Findings(notes=(f"pipeline {name} of {index} drops a sample document",))
        if "doc" not in answer:
            reason = answer.get("error", {}).get("reason", "an error")
            return Findings(notes=(f"pipeline {name} of {index} refuses a sample document: {reason}",))
        document = {key: answer["doc"][key] for key in ("_index", "_id", "_source")}
    if not names:
        return Findings()
    return _compared(f"pipeline {' and '.join(names)} of {index}", index, source, document, content)


def _simulate(name: str, document: Mapping[str, Any], client: Elasticsearch) -> Any:
    return client.ingest.simulate(id=name, docs=[document])


def _compared(
    who: str, index: str, source: Mapping[str, Any], document: Mapping[str, Any], content: str
) -> Findings:
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
    return Findings(tuple(problems), tuple(notes), unread=unread)
