"""What a target names: where a document goes that is written to an index, an alias or a data stream, and what is shown of the indices behind it."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from es_dedup.errors import IndexRefused
from es_dedup.index.elastic import templates
from es_dedup.index.elastic.server import BAD_REQUEST, NOT_FOUND
from es_dedup.index.elastic.source_metadata import Alias
from es_dedup.index.source_index import WriteTarget

if TYPE_CHECKING:
    from collections.abc import Mapping

    from es_dedup.index.elastic.server import Server


def write_target(server: Server, target: str, properties: Mapping[str, Any]) -> WriteTarget:
    """Where documents written to ``target`` go.

    Args:
        server: where it is.
        target: index, alias or data stream; an index that does not exist is created where a write would create it, see
            ``action.auto_create_index`` and index templates; elsewhere the write that follows is refused by the server.
        properties: in the mapping of an index that is created here.

    Raises:
        IndexRefused: the role does not allow it, or it is an alias with a filter.
    """
    found = _behind(server, target)
    if not found and _creates(server, target):
        mappings = {"properties": dict(properties)}
        # It is refused where another process was first, or where a template makes it a data stream.
        server.call_unless(
            lambda client: client.indices.create(index=target, mappings=mappings), BAD_REQUEST, writing=True
        )
        found = _behind(server, target)
    if not found:
        return WriteTarget(target)  # the server makes it, by a template of a data stream
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


def _creates(server: Server, target: str) -> bool:
    """Whether a write to an index that does not exist creates it; what the role may not read is taken for yes."""
    try:
        by_template = templates.auto_create(server, target)
        if by_template is not None:
            return by_template
        said = server.call(
            lambda client: client.cluster.get_settings(
                include_defaults=True, filter_path="*.action.auto_create_index"
            )
        )
    except IndexRefused:
        return True
    kinds = ("transient", "persistent", "defaults")
    given = [said[kind]["action"]["auto_create_index"] for kind in kinds if kind in said]
    return auto_creates(str(given[0]), target) if given else True


def auto_creates(setting: str, name: str) -> bool:
    """What ``action.auto_create_index`` says of a name: ``true``, ``false``, or patterns of which the first that fits decides.

    Source:
        Elasticsearch reference, "Index API", automatic index creation: ``+`` allows, ``-`` forbids, what fits nothing is forbidden.
    """
    if setting in ("true", "false"):
        return setting == "true"
    for given in setting.split(","):
        pattern = given.strip()
        if fnmatchcase(name, pattern.lstrip("+-")):
            return not pattern.startswith("-")
    return False
