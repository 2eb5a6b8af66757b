"""Settings to objects; the only module that picks adapters."""

from __future__ import annotations

from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from es_dedup.detectors.named_fields import field_types, nameless, term_fields
from es_dedup.detectors.registry import detector_versions
from es_dedup.errors import ConfigError, Difference, SettingsMismatch
from es_dedup.index import elastic
from es_dedup.index.closing import on_error
from es_dedup.index.elastic.address import Address, is_address, lacks_scheme, parse_address
from es_dedup.index.embedded import EmbeddedIndex
from es_dedup.index.texts import compress_text
from es_dedup.settings.recorded import (
    STATISTICS,
    adopted,
    clustered_with,
    differences,
    feature_settings,
    file_contents,
    named_files,
    with_recorded,
)
from es_dedup.text import idf, synonyms
from es_dedup.text.hashing import SIGNATURE_VERSION
from es_dedup.text.normalise import normalise_many
from es_dedup.text.segment import search_text

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from es_dedup.index.elastic.connecting import Options
    from es_dedup.index.elastic.documents import TermFields
    from es_dedup.index.port import Index
    from es_dedup.settings import Settings

    # both are on Elasticsearch only, so that they have no port; other packages know their types from here
    JobStore: TypeAlias = elastic.jobs.JobStore
    SourceIndex: TypeAlias = elastic.source_index.SourceIndex

_READERS: Final[dict[str, Callable[[str, str], object]]] = {"idf": idf.load, "synonyms": synonyms.load}
"""What reads the file that a setting of this name names."""


def open_index(
    path: str | Path, settings: Settings, *, read_only: bool = False, exact: bool = False
) -> Index:
    """The index at an address, at a path, or in memory; one that is there keeps its settings in the place of those that nobody has given.

    Args:
        path: ``http://host:9200/name`` (or https) for one on Elasticsearch; a file for an embedded one, or ``:memory:``.
        settings: all settings; ``fitted`` gives those that the index has.
        read_only: it must exist and is never written; then its feature settings need not be those that were given.
        exact: one that is there must have these feature settings, given or not: features made with them will be stored.

    Raises:
        ConfigError: the settings name an unknown detector, or the address is none.
        MissingExtra: the client for Elasticsearch is not installed.
        IndexError_: as ``EmbeddedIndex`` and ``ElasticIndex``.
    """
    must_be_place(path)
    try:
        return _opened(path, settings, read_only=read_only)
    except SettingsMismatch as mismatch:
        if exact:
            raise
        recorded = {each.name: each.recorded for each in mismatch.differences if each.recorded is not None}
        return _opened(path, adopted(settings, recorded), read_only=read_only)


def _opened(path: str | Path, settings: Settings, *, read_only: bool) -> Index:
    index: Index
    if is_address(path):
        features = None if read_only else features_of(settings)
        index = _on_server(str(path), settings, features=features, segment=_segment, read_only=read_only)
    else:
        index = EmbeddedIndex(
            path,
            features=None if read_only else features_of(settings, embedded=True),
            segment=_segment,
            lock_seconds=settings.index.lock_seconds,
            read_only=read_only,
        )
    with on_error(index.close):
        if not read_only and index.note(STATISTICS) is None:
            # of two that open a new index at once, the first one's settings are in force
            with index.writing():
                if index.note(STATISTICS) is None:
                    index.set_note(STATISTICS, clustered_with("", 0, settings))
    return index


def _on_server(path: str, settings: Settings, **given: Any) -> Index:
    """An index on Elasticsearch; its fields are those of the methods that it was made with."""
    return elastic.adapter.ElasticIndex(
        parse_address(path),
        options=elastic_options(settings),
        fields=lambda recorded: _fields_of(with_recorded(settings, recorded)),
        **given,
    )


def fitted(index: Index, settings: Settings, name: str) -> Settings:
    """Settings to read an index with: those given, with the feature settings that the index was made with.

    Raises:
        SettingsMismatch: it was made by another version of the methods, so that new features do not compare with those stored.
        ConfigError: it was made with settings that are not known here.
    """
    if not _differences(index, settings):
        return settings
    chosen = with_recorded(settings, index.features)
    others = _differences(index, chosen)
    if others:
        raise SettingsMismatch(name, others)
    return chosen


def feature_differences(index: Index, settings: Settings) -> tuple[Difference, ...]:
    """The settings that shape features, were given, and differ from those of an index."""
    return _differences(index, adopted(settings, index.features))


def _differences(index: Index, settings: Settings) -> tuple[Difference, ...]:
    return differences(index.features, features_of(settings, embedded=isinstance(index, EmbeddedIndex)))


def open_to_copy(
    origin: str | Path, settings: Settings, place: str | Path, place_settings: Settings
) -> tuple[Index, Index, Settings]:
    """An index that is read with whatever feature settings it was made with, and one made with the same.

    Which methods are stored beside those of ``detectors`` (``elastic.also_stored``) is no feature of an index in a file: one on
    Elasticsearch that is made of it has those of its settings.

    Args:
        origin: the index that is read.
        settings: to reach it.
        place: the other one, which is made where it is not there.
        place_settings: to reach it, and what it is made with beside the feature settings.

    Returns:
        Both, to be closed, and the settings of the second.

    Raises:
        SettingsMismatch: the first was made by another version of the methods, or the second is there and has other feature settings.
        ConfigError, IndexError_: see ``open_index``.
    """
    with ExitStack() as opened:
        source = opened.enter_context(open_index(origin, settings, read_only=True))
        chosen = with_recorded(place_settings, source.features)
        if source.keeps_named:
            also = {"also_stored": tuple(source.features.get("elastic.also_stored", ()))}
            chosen = chosen.model_copy(update={"elastic": chosen.elastic.model_copy(update=also)})
        ours = features_of(chosen, embedded=True)
        if found := differences({name: source.features.get(name) for name in ours}, ours):
            raise SettingsMismatch(shown(origin), found)
        target = open_index(place, chosen, exact=True)
        opened.pop_all()
        return source, target, chosen


def open_source_index(path: str | Path, settings: Settings) -> SourceIndex:
    """The source indices of the cluster that an index on Elasticsearch is in, or of that in section ``source``.

    Raises:
        ConfigError: the address is none of a server.
        MissingExtra: the client for Elasticsearch is not installed.
    """
    options, address = _source_connection(path, settings)
    return elastic.source_index.SourceIndex(elastic.server.Server(address, options))


def _source_connection(path: str | Path, settings: Settings) -> tuple[Options, Address]:
    options, address = elastic_options(settings), parse_address(str(path))
    if settings.source.url:
        options = options.model_copy(update=settings.source.connection | {"section": "source"})
        address = parse_address(f"{settings.source.url.rstrip('/')}/{address.name}")
    return options, address


def open_stored(path: str, settings: Settings) -> Index:
    """An index on Elasticsearch with whatever settings it was made with; for what does not compare features."""
    return _on_server(path, settings, features=None)


def must_fit(path: str, settings: Settings) -> None:
    """Refuse an index on Elasticsearch that cannot be written to with these settings.

    Raises:
        NotAnIndex, SchemaMismatch, SettingsMismatch: see ``ElasticIndex``.
    """
    _on_server(path, settings, features=features_of(settings), read_only=True).close()


def swap_generation(path: str, generation: str, settings: Settings) -> None:
    """Let an index's name stand for another generation, in one step; see ``index.elastic.schema.swap_generation``."""
    server, name = _server(path, settings)
    with closing(server):
        elastic.schema.swap_generation(server, name, generation)


def drop_generation(path: str, generation: str, settings: Settings) -> None:
    """Remove a generation that is not in use."""
    with closing(_server(path, settings)[0]) as server:
        elastic.schema.drop_generation(server, generation)


def _server(path: str | Path, settings: Settings) -> tuple[elastic.server.Server, str]:
    """The server of an index, and the name of the index there."""
    address = parse_address(str(path))
    return elastic.server.Server(address, elastic_options(settings)), address.name


def beside(path: str, ending: str) -> tuple[str, str]:
    """The address and the name of another generation of an index on the same server; ``ending`` tells generations apart."""
    name = parse_address(path).name
    generation = elastic.schema.generation_of(name, ending)
    return path.rstrip("/") + generation.removeprefix(name), generation


def open_jobs(path: str | Path, settings: Settings, *, read_only: bool = False) -> JobStore:
    """The jobs and dead letters of an index on Elasticsearch; errors as ``open_source_index``."""
    return elastic.jobs.JobStore(*_server(path, settings), read_only=read_only)


def reach(path: str | Path, seconds: float, settings: Settings) -> None:
    """Make sure that somebody listens at the address of an index; see ``index.elastic.address.reach``."""
    elastic.address.reach(parse_address(str(path)), seconds, settings.elastic.proxy.get_secret_value())


def reach_source(path: str | Path, seconds: float, settings: Settings) -> None:
    """The same for the cluster of the source indices, where it is another one."""
    if settings.source.url:
        options, address = _source_connection(path, settings)
        elastic.address.reach(address, seconds, options.proxy.get_secret_value())


def must_be_place(path: str | Path) -> None:
    """Refuse a server's address without scheme, which would be taken for a file.

    Raises:
        ConfigError: it is one, and there is no such file.
    """
    if not isinstance(path, str) or not lacks_scheme(path):
        return
    file = Path(path)
    if not file.exists() and not (len(file.parts) > 1 and file.parent.is_dir()):
        raise ConfigError(
            (f"{path} is not a file: for an index on Elasticsearch write http://{path}",), "index"
        )


@contextmanager
def online_copy(origin: str | Path, place: str | Path) -> Iterator[Index]:
    """A copy of an index in a file, to be read in the block, and in its place afterwards; see ``EmbeddedIndex.copy_to``.

    Raises:
        IndexError_: the original cannot be read, or the copy cannot be made.
    """
    with (
        EmbeddedIndex(origin, features=None, read_only=True) as source,
        source.copy_to(place) as part,
        EmbeddedIndex(part, features=None) as copy,  # for reading only it would leave its log
    ):
        yield copy


is_remote: Final = is_address
"""Whether an index is on a server."""


def shown(path: str | Path) -> str:
    """An index's place as it may be shown: without user and password."""
    return str(parse_address(str(path))) if is_address(path) else str(path)


def elastic_options(settings: Settings) -> Options:
    """How to talk to Elasticsearch, out of section ``elastic``."""
    return elastic.connecting.Options(**dict(settings.elastic), lock_seconds=settings.index.lock_seconds)


def features_of(settings: Settings, *, embedded: bool = False) -> dict[str, Any]:
    """The settings that stored features depend on, with versions of the code and what is in the files they name; see ``recorded``.

    Args:
        settings: all settings.
        embedded: of an index in a file; one on Elasticsearch also stores the methods in ``elastic.also_stored``.

    Raises:
        ConfigError: the settings name an unknown detector, one that is only stored and names no features, or a file that
            cannot be read or used.
    """
    also = () if embedded else settings.elastic.also_stored
    if unnamed := nameless(settings, also):
        said = f"elastic.also_stored: {', '.join(unnamed)} names no features that could be stored; add it to detectors"
        raise ConfigError((said,))
    found = feature_settings(settings, SIGNATURE_VERSION, detector_versions(settings, also), also)
    read_word_lists(settings, also)  # before an index is made whose first page would fail
    return found | file_contents(settings, also)


def read_word_lists(settings: Settings, also: Collection[str] = ()) -> None:
    """Read the files of idf and synonyms that settings in use name; ``also``: methods that are stored beside the enabled ones.

    Raises:
        ConfigError: one cannot be read or used.
    """
    for key, path in named_files(settings, also).items():
        if read := _READERS.get(key.rpartition(".")[2]):
            read(path, key)


def _fields_of(settings: Settings) -> TermFields:
    """The fields that the enabled methods, and those that are only stored, declare."""
    return elastic.documents.TermFields(
        term_fields(settings), field_types(settings, also=settings.elastic.also_stored)
    )


def _segment(texts: Sequence[str]) -> list[str]:
    """Texts and queries in words, as they are searched."""
    normalised = normalise_many(texts)
    return [search_text(normalised.string(at)) for at in range(len(texts))]


def text_codec(settings: Settings) -> Callable[[str], bytes] | None:
    """How worker processes pack texts for the index; None when texts are not kept."""
    return compress_text if settings.index.keep_text else None
