"""Names of the Elasticsearch indices behind one index, and the mappings they are made with."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.resources.abc import Traversable

    from es_dedup.index.elastic.fields import TermFields
    from es_dedup.index.elastic.options import Options

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
META_KEY: Final = "es_dedup"
"""Key of our own object in a mapping's ``_meta``."""
NAMED_FIELDS: Final = "named_fields"
"""Beside the schema in the mapping of features: whether people can read them."""


def alias_of(name: str, kind: str) -> str:
    """The alias by which everybody reads and writes; it names one index at a time."""
    return f"{name}-dedup-{kind}"


def generation_of(name: str, ending: str) -> str:
    """The name of another generation of an index; like all names of ours it begins with the index's name and ``-dedup-``."""
    return f"{name}-dedup-{ending}"


def concrete_of(name: str, kind: str, number: int) -> str:
    """The name of the index behind the alias: schema version and a running number."""
    return f"{alias_of(name, kind)}-v{SCHEMA_VERSION}-{number:06}"


def number_of(concrete: str) -> int:
    """The running number out of a name that ``concrete_of`` made."""
    return int(concrete.rpartition("-")[2])


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
    return body


def add_fields(mappings: dict[str, Any], fields: TermFields) -> None:
    """Add the fields of the methods to the mappings of features; ``_source`` shows those that people read, if the index keeps them."""
    hidden = fields.hashed if mappings["_meta"][META_KEY][NAMED_FIELDS] else fields.searched
    mappings["properties"] |= fields.properties()
    mappings["_source"]["excludes"] = list(dict.fromkeys((*mappings["_source"]["excludes"], *hidden)))
