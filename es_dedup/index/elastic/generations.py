"""A whole new set of indices beside the one in use, put in use in one step, and the step back.

A generation is an index of a name of its own. What an index name stands for is decided by its aliases alone: ``swap`` moves all of
them in one request, and lets the indices that were in use be found under ``previous``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from es_dedup.errors import NotAnIndex
from es_dedup.index.elastic.mappings import JOBS, KINDS, alias_of, generation_of
from es_dedup.index.elastic.server import NOT_FOUND

if TYPE_CHECKING:
    from es_dedup.index.elastic.server import Server

PREVIOUS: Final = "previous"


def swap(server: Server, name: str, generation: str) -> None:
    """Let an index name stand for a generation; what it stood for is kept under ``previous``, what was there before goes.

    Raises:
        NotAnIndex: a part of the generation is missing; nothing was changed.
    """
    previous = generation_of(name, PREVIOUS)
    actions: list[dict[str, Any]] = []
    doomed: list[str] = []
    for kind in KINDS:
        new, old = behind(server, generation, kind), behind(server, name, kind)
        if not new:
            raise NotAnIndex(generation, f"there is no {alias_of(generation, kind)}")
        for concrete in new:
            actions.append(alias_action(concrete, alias_of(name, kind)))
            actions.append({"remove": {"index": concrete, "alias": alias_of(generation, kind)}})
        for concrete in old:
            actions.append({"remove": {"index": concrete, "alias": alias_of(name, kind)}})
            actions.append(alias_action(concrete, alias_of(previous, kind)))
        stale = [each for each in behind(server, previous, kind) if each not in new]
        actions += ({"remove": {"index": each, "alias": alias_of(previous, kind)}} for each in stale)
        doomed += stale
    server.call(lambda client: client.indices.update_aliases(actions=actions), writing=True)
    doomed += behind(server, generation, JOBS) if generation != previous else []
    for concrete in doomed:
        delete(server, concrete)


def drop(server: Server, generation: str) -> None:
    """Remove all indices of a generation that is not in use."""
    for kind in (*KINDS, JOBS):
        for concrete in behind(server, generation, kind):
            delete(server, concrete)


def behind(server: Server, name: str, kind: str) -> list[str]:
    """Indices behind an alias; none when there is no such alias."""
    alias = alias_of(name, kind)
    return server.call_unless(lambda client: list(client.indices.get_alias(name=alias)), NOT_FOUND) or []


def alias_action(concrete: str, alias: str) -> dict[str, Any]:
    """What lets an index be found, and written to, under an alias."""
    return {"add": {"index": concrete, "alias": alias, "is_hidden": True, "is_write_index": True}}


def delete(server: Server, concrete: str) -> None:
    """Remove an index; an unknown one is no error."""
    server.call(lambda client: client.indices.delete(index=concrete, ignore_unavailable=True), writing=True)
