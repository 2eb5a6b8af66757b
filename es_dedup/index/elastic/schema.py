"""Creation of the indices behind one index, the mapping metadata that identifies them, and what its name stands for meanwhile.

``reindex`` moves the aliases to another generation while other processes have the index open. Each answer to a write names the real index
it went to, so that it costs no request to notice that.
"""

from __future__ import annotations

import json
import time
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from es_dedup.errors import IndexError_, NotAnIndex, SchemaMismatch, SettingsMismatch
from es_dedup.index.elastic.documents import TermFields
from es_dedup.index.elastic.server import NOT_FOUND, Server
from es_dedup.settings.recorded import differences

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from importlib.resources.abc import Traversable

    from es_dedup.index.elastic.connecting import Options


EXISTS: Final = "resource_already_exists_exception"
PREVIOUS: Final = "previous"
SCHEMA_VERSION: Final = 2
FEATURES: Final = "features"
CLUSTERS: Final = "clusters"
TEXTS: Final = "texts"
META: Final = "meta"
NEVER: Final = "-1"  # its few searches refresh first: each write of the lock would make a segment
KINDS: Final = (FEATURES, CLUSTERS, TEXTS, META)
JOBS: Final = "jobs"
"""Jobs and dead letters; made when they are first asked for."""
SOURCE_INDEX: Final = "host"
"""The mapping of ``dedup`` in the source index, as a component template."""
OF_TEMPLATES: Final = ("index.default_pipeline", "index.final_pipeline", "index.lifecycle.name")
"""Settings that a template of the user may give to an index, and by which its documents would change or be deleted."""
META_KEY: Final = "es_dedup"
"""Key of our own object in a mapping's ``_meta``."""
NAMED_FIELDS: Final = "named_fields"
"""Beside the schema in the mapping of features: whether people can read them."""


class Schema:
    """The indices of one name: made when they are not there, checked against version and settings."""

    def __init__(
        self,
        server: Server,
        name: str,
        features: Mapping[str, Any] | None = None,
        fields: Callable[[Mapping[str, Any]], TermFields] | None = None,
    ) -> None:
        """Nothing is sent yet."""
        self._fields_for = fields
        self._server, self._name, self._features = server, name, features
        self._concrete: dict[str, frozenset[str]] = {}  # names of what was opened, by kind
        self._refused = False  # the name stands for a generation that was refused
        self.keeps_named = server.options.named_fields  # whether terms are stored as text where they have one

    @property
    def features(self) -> Mapping[str, Any]:
        """The settings that shape features: those given, or those that the index was found to record."""
        return self._features or {}

    @cached_property
    def fields(self) -> TermFields:
        """Those of the methods that the index stores."""
        return TermFields() if self._fields_for is None else self._fields_for(self.features)

    def open(self, *, read_only: bool) -> None:
        """Make what is missing and check what is there.

        Raises:
            NotAnIndex: nothing is there while ``read_only``, or an index of another application.
            SchemaMismatch: made by another version.
            SettingsMismatch: filled with other settings.
            IndexUnavailable, IndexRefused: see ``Server.call``.
        """
        for kind in KINDS:
            found = self.mappings(kind)
            if not found and read_only:
                raise NotAnIndex(self._server.name, f"there is no {alias_of(self._name, kind)}")
            if not found:
                self.make(kind, concrete_of(self._name, kind, 1), alias=True)
                found = self.mappings(kind)
            for concrete, mapping in found.items():
                self._check(kind, concrete, mapping)
            self._concrete[kind] = frozenset(found)

    def noticed(self, kind: str, names: Iterable[str]) -> None:
        """Take note of the real indices that requests for a kind of index went to.

        Raises:
            SettingsMismatch: they are of a generation that other settings made.
            IndexError_: they are something else that is not ours; see ``open``.
        """
        if not self._concrete[kind].issuperset(names):
            self._look_again()

    def check(self) -> None:
        """Refuse to go on with a generation that was refused before; after a roll-back it is the one that was opened again.

        Raises:
            IndexError_: as ``noticed``.
        """
        if self._refused:
            self._look_again()

    def _look_again(self) -> None:
        try:
            self.open(read_only=True)
        except IndexError_ as error:
            self._refused = not error.retryable
            raise
        self._refused = False

    def mappings(self, kind: str) -> dict[str, Mapping[str, Any]]:
        """The mapping of each index behind an alias, by name; none when the alias is not there."""
        alias = alias_of(self._name, kind)
        found = self._server.call_unless(
            lambda client: {
                concrete: said["mappings"]
                for concrete, said in client.indices.get_mapping(index=alias).items()
            },
            NOT_FOUND,
        )
        return found or {}

    def make(self, kind: str, concrete: str, *, alias: bool) -> None:
        """Make an empty index, behind its alias at once or not; one of that name is left as it is."""
        body = body_of(kind, self.features, self._server.options)
        if kind == FEATURES:
            add_fields(body["mappings"], self.fields)
        if alias:
            body["aliases"] = {alias_of(self._name, kind): {"is_hidden": True, "is_write_index": True}}

        self._server.call_unless(
            lambda client: client.indices.create(index=concrete, wait_for_active_shards="1", **body),
            EXISTS,
            writing=True,
        )
        self._without_templates(concrete, {alias_of(self._name, kind)})

    def _without_templates(self, concrete: str, aliases: Collection[str]) -> None:
        """Take from a new index what a template of the user, whose pattern its name matches, has given to it.

        Args:
            concrete: the index.
            aliases: those that it is to keep.
        """
        said = self._server.call(
            lambda client: client.indices.get(index=concrete, flat_settings=True)[concrete]
        )
        given = dict.fromkeys(name for name in OF_TEMPLATES if name in said["settings"])
        if given:
            self._server.call(
                lambda client: client.indices.put_settings(index=concrete, settings=given), writing=True
            )
        if others := [alias for alias in said["aliases"] if alias not in aliases]:
            remove = {"remove": {"index": concrete, "aliases": others}}
            self._server.call(lambda client: client.indices.update_aliases(actions=[remove]), writing=True)

    def next_index(self, kind: str) -> str:
        """Make an empty index beside the one in use and give its name; ``swap`` puts it in use."""
        concrete = concrete_of(self._name, kind, time.time_ns() // 1_000_000)
        self.make(kind, concrete, alias=False)
        return concrete

    def swap(self, kind: str, concrete: str) -> None:
        """Put an index in use in one step, and remove the one that was."""
        old = [name for name in behind(self._server, self._name, kind) if name != concrete]
        actions: list[dict[str, Any]] = [{"remove_index": {"index": name}} for name in old]
        actions.append(alias_action(concrete, alias_of(self._name, kind)))
        self._server.call(lambda client: client.indices.update_aliases(actions=actions), writing=True)

    def size(self, kind: str) -> int:
        """Bytes stored of a kind of index, without replicas."""
        alias = alias_of(self._name, kind)
        said = self._server.call(lambda client: client.indices.stats(index=alias, metric="store"))
        return int(said["_all"]["primaries"]["store"]["size_in_bytes"])

    def _check(self, kind: str, concrete: str, mapping: Mapping[str, Any]) -> None:
        metadata = mapping.get("_meta", {}).get(META_KEY)
        if not isinstance(metadata, dict):
            raise NotAnIndex(self._server.name, f"{concrete} was made by another application")
        version, recorded = int(metadata.get("schema") or 0), metadata.get("features")
        if version != SCHEMA_VERSION or recorded is None:
            raise SchemaMismatch(self._server.name, SCHEMA_VERSION, version)
        fields = load_mapping(kind)["mappings"]["properties"]
        # There may be more: settings choose named fields, and templates of the user add others.
        earlier = [name for name in fields if mapping["properties"].get(name) != fields[name]]
        if earlier:
            found = f"{version} as it was before the field {kind}.{earlier[0]} became what it is"
            raise SchemaMismatch(self._server.name, SCHEMA_VERSION, found)
        if kind == FEATURES:
            self.keeps_named = bool(metadata.get(NAMED_FIELDS))
        if self._features is None:
            self._features = recorded
        elif recorded != self._features:
            raise SettingsMismatch(self._server.name, differences(recorded, self._features))


def swap_generation(server: Server, name: str, generation: str) -> None:
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
        delete_index(server, concrete)


def drop_generation(server: Server, generation: str) -> None:
    """Remove all indices of a generation that is not in use."""
    for kind in (*KINDS, JOBS):
        for concrete in behind(server, generation, kind):
            delete_index(server, concrete)


def behind(server: Server, name: str, kind: str) -> list[str]:
    """Indices behind an alias; none when there is no such alias."""
    alias = alias_of(name, kind)
    return server.call_unless(lambda client: list(client.indices.get_alias(name=alias)), NOT_FOUND) or []


def alias_action(concrete: str, alias: str) -> dict[str, Any]:
    """What lets an index be found, and written to, under an alias."""
    return {"add": {"index": concrete, "alias": alias, "is_hidden": True, "is_write_index": True}}


def delete_index(server: Server, concrete: str) -> None:
    """Remove an index; an unknown one is no error."""
    server.call(lambda client: client.indices.delete(index=concrete, ignore_unavailable=True), writing=True)


def alias_of(name: str, kind: str) -> str:
    """The alias by which everybody reads and writes; it names one index at a time."""
    return f"{name}-dedup-{kind}"


def generation_of(name: str, ending: str) -> str:
    """The name of another generation of an index; like all names of ours it begins with the index's name and ``-dedup-``."""
    return f"{name}-dedup-{ending}"


def concrete_of(name: str, kind: str, number: int) -> str:
    """The name of the index behind the alias: schema version and a number that others before it do not have."""
    return f"{alias_of(name, kind)}-v{SCHEMA_VERSION}-{number:06}"


def folder() -> Traversable:
    """The folder with the mapping files: of the installed package, or of the repository."""
    packaged = resources.files("es_dedup.index.elastic") / "mappings"
    return packaged if packaged.is_dir() else Path(__file__).parents[3] / "mappings"


def load_mapping(kind: str) -> dict[str, Any]:
    """Settings and mappings of one kind of index, as in ``mappings/v2/<kind>.json``."""
    text = (folder() / f"v{SCHEMA_VERSION}" / f"{kind}.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def body_of(kind: str, features: Mapping[str, Any], options: Options) -> dict[str, Any]:
    """What an index of this kind is created with.

    Features and texts have the wanted shards, the other kinds have one. Notes and the lock are read by id, and never shown by themselves.
    Only writes of features may be lost in a crash (``durability``), all else is safe when a call returns.

    Args:
        kind: one of ``KINDS``.
        features: the settings that shape features, by name; kept in ``_meta``.
        options: what indices are made with.
    """
    body = load_mapping(kind)
    index = body["settings"]["index"]
    if kind in (FEATURES, TEXTS):
        index["number_of_shards"] = options.shards
    index["refresh_interval"] = NEVER if kind == META else options.refresh
    if kind == FEATURES:
        index["translog.durability"] = options.durability
        body["mappings"]["_meta"][META_KEY][NAMED_FIELDS] = options.named_fields
    if "-" in options.replicas:
        index["auto_expand_replicas"] = options.replicas
    else:
        index["auto_expand_replicas"] = "false"
        index["number_of_replicas"] = int(options.replicas)
    body["mappings"]["_meta"][META_KEY]["features"] = dict(features)
    body["mappings"]["_routing"] = {"required": False}  # as a template of the user may say otherwise
    return body


def add_fields(mappings: dict[str, Any], fields: TermFields) -> None:
    """Add the fields of the methods to the mappings of features; ``_source`` shows those that people read, if the index keeps them."""
    hidden = fields.hashed if mappings["_meta"][META_KEY][NAMED_FIELDS] else fields.searched
    mappings["properties"] |= fields.properties()
    mappings["_source"]["excludes"] = list(dict.fromkeys((*mappings["_source"]["excludes"], *hidden)))
