"""The source index, the user's own: which documents are pages, how they are named, and what is written into them.

A page's key is (index, ``_id``, routing); ``page_id`` is its stable string form. The ``dedup`` field of a document is a
``DedupField``; nothing else of the document is ever written.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import quote, unquote

from es_dedup.errors import wrong_type
from es_dedup.model import MAX_ID_BYTES, Page

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

DEDUP: Final = "dedup"
ATTACHMENTS: Final = "attachments"
"""Note of the feature index: which source indices are attached."""
"""Name of the field that es-dedup writes into a document."""


@dataclass(frozen=True, slots=True, order=True)
class DocumentKey:
    """Where a document is: a concrete (backing) index, never an alias; its ``_id``; its routing where it has one."""

    index: str
    id: str
    routing: str = ""

    @property
    def page_id(self) -> str:
        """``index/_id``, or ``index?routing/_id`` with the routing percent-encoded; no index name has ``/`` or ``?``."""
        head = (
            f"{self.index}?{quote(self.routing, safe='', errors='surrogatepass')}"
            if self.routing
            else self.index
        )
        return f"{head}/{self.id}"

    @property
    def problem(self) -> str:
        """Why the document cannot be a page; empty when it can."""
        if len(self.page_id.encode(errors="surrogatepass")) > MAX_ID_BYTES:
            return f"index name and _id have more than {MAX_ID_BYTES - 1} bytes together"
        return ""


def document_key(page_id: str) -> DocumentKey:
    """The key of which ``DocumentKey.page_id`` made a page id.

    Raises:
        ValueError: the page is of no source index.
    """
    head, slash, name = page_id.partition("/")
    index, _, routing = head.partition("?")
    if not slash or not index or not name or ":" in index:  # as in a URL: no index has one in its name
        raise ValueError(f"{page_id!r} names no document: index/_id is needed")
    return DocumentKey(index, name, unquote(routing))


def index_of(page_id: str) -> str:
    """The index of a page's document; empty for a page that was added without one."""
    with suppress(ValueError):
        return document_key(page_id).index
    return ""


def documents_of(page_ids: Iterable[str]) -> set[str]:
    """Those of some page ids that name a document."""
    return set(filter(index_of, page_ids))


@dataclass(frozen=True, slots=True)
class SourceFields:
    """Which fields of a document hold a page; dotted names reach into objects; empty: there is none.

    Attributes:
        content: main text, or the HTML as served when ``html`` is true.
        html: ``content`` is HTML and is extracted.
        title, url, published, site: as in ``Page``. ``published`` may be text or milliseconds since 1970.

    Raises:
        TypeError: a value is of another type.
    """

    content: str
    html: bool = False
    title: str = "title"
    url: str = "url"
    published: str = ""
    site: str = ""

    def __post_init__(self) -> None:
        """Refuse values of wrong types."""
        for name in ("content", "title", "url", "published", "site"):
            if not isinstance(value := getattr(self, name), str):
                raise wrong_type(name, "the name of a field", value, "an empty string stands for none")
        if not isinstance(self.html, bool):
            raise wrong_type("html", "True or False", self.html, "content names the field")

    @property
    def names(self) -> tuple[str, ...]:
        """All fields that are read, each once."""
        found = (self.content, self.title, self.url, self.published, self.site)
        return tuple(dict.fromkeys(name for name in found if name))

    def page(self, page_id: str, source: Mapping[str, Any]) -> Page:
        """The page that a document holds; a missing field stays empty, a page without text is stored without features."""
        content = text_of(source, self.content)
        return Page(
            id=page_id,
            html=content if self.html else None,
            text=None if self.html else content,
            url=text_of(source, self.url) or None,
            title=text_of(source, self.title) or None,
            published=_moment(value_of(source, self.published)),
            site=text_of(source, self.site) or None,
        )

    def sample(self) -> dict[str, Any]:
        """A document with all fields, and a ``dedup`` field, that shows what a pipeline does with them."""
        text = "This is a sample document of es-dedup."
        made: dict[str, Any] = {DEDUP: {"cluster_id": "sample", "canonical": True, "relation": "unique"}}
        values = {name: text for name in (self.title, self.site) if name} | {
            self.url: "https://sample.example/",
            self.published: "2026-01-01T00:00:00.000Z",
            self.content: f"<html><body><p>{text}</p></body></html>" if self.html else text,
        }
        for name, value in values.items():
            *parents, last = name.split(".")
            place = made
            for parent in parents:
                place = place.setdefault(parent, {})
            if last:
                place[last] = value
        return made

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready form; ``SourceFields(**…)`` reads it."""
        return asdict(self)


def checked_fields(fields: SourceFields) -> SourceFields:
    """The fields themselves.

    Raises:
        TypeError: they are no ``SourceFields``.
    """
    if not isinstance(fields, SourceFields):
        raise wrong_type(
            "fields", "a SourceFields object", fields, 'SourceFields(content="body") names the fields'
        )
    return fields


def text_of(source: Mapping[str, Any], name: str) -> str:
    """A field as text: several values are joined by newlines, a missing one is empty."""
    value = value_of(source, name)
    if isinstance(value, list):
        return "\n".join(str(part) for part in value if part is not None)
    return "" if value is None else str(value)


def value_of(source: Mapping[str, Any], name: str) -> Any:
    """The value of a field by its dotted name, None where there is none, whether the document writes it nested or with the dots in the key."""
    if not name:
        return None
    if name in source:
        return source[name]
    head, dot, rest = name.partition(".")
    while dot:
        inner = source.get(head)
        if isinstance(inner, dict):
            return value_of(inner, rest)
        more, dot, rest = rest.partition(".")
        head = f"{head}.{more}"
    return None


def _moment(value: Any) -> str | datetime | None:
    if isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            return datetime.fromtimestamp(value / 1000, tz=UTC)
        except (OverflowError, ValueError, OSError):
            return None
    return str(value) if value not in (None, "") else None


@dataclass(frozen=True, slots=True)
class DedupField:
    """The object ``dedup`` of one document.

    Attributes:
        cluster_id: never empty.
        canonical: the page stands for its cluster.
        relation: ``exact`` or ``duplicate`` to ``duplicate_of``; of a canonical document ``contained`` when another page
            contains it, else ``unique``.
        duplicate_of: page id of the canonical document; empty for the canonical document itself.
        contained_in: pages that contain this one, by id.
        cluster_size: pages in the cluster, at least 1, in its canonical document; 0 in all others, which therefore stay as they are
            while the cluster grows.
        waiting: the document, as it is now, waits for a decision; False leaves as it is what the document says.
    """

    cluster_id: str
    canonical: bool
    relation: str
    duplicate_of: str = ""
    contained_in: tuple[str, ...] = ()
    cluster_size: int = 1
    waiting: bool = False

    def as_dict(self) -> dict[str, Any]:
        """As it stands in a document; empty values are null, so that a partial update takes old ones away."""
        state = {"waiting": True} if self.waiting else {}
        return state | {
            "cluster_id": self.cluster_id,
            "canonical": self.canonical,
            "relation": self.relation,
            "duplicate_of": self.duplicate_of or None,
            "contained_in": list(self.contained_in) or None,
            "cluster_size": self.cluster_size or None,
        }


@dataclass(frozen=True, slots=True)
class SourceDocument:
    """A document as read: its key, the fields that were asked for, its ``dedup`` object (None: it has none), and its place.

    ``term`` is 0 where it was not asked for; with ``seq_no`` it tells versions of a document apart. ``version`` is the ``_version``.
    """

    key: DocumentKey
    source: Mapping[str, Any]
    dedup: Mapping[str, Any] | None
    seq_no: int
    term: int = 0
    version: int = 0

    @property
    def external(self) -> bool:
        """Whether its owner gives the version: each write of a shard takes a sequence number, so others are never higher."""
        return self.version > self.seq_no + 1

    @property
    def waits(self) -> bool:
        """Whether it waits for a decision."""
        return bool(self.dedup and self.dedup.get("waiting"))


@dataclass(frozen=True, slots=True)
class RestoredDocument:
    """A document to be written back: its index or data stream, ``_id``, routing, fields, and its external version (0: none)."""

    index: str
    id: str
    routing: str
    source: Mapping[str, Any]
    version: int = 0


@dataclass(frozen=True, slots=True)
class Shard:
    """One shard of a concrete source index; ``last`` is its highest sequence number that a search sees, -1 when empty."""

    index: str
    number: int
    documents: int
    last: int


@dataclass(frozen=True, slots=True)
class ShardWrites:
    """How many writes a shard of a source index has had.

    Attributes:
        history: name of its sequence numbers; another one after a restore or a forced allocation, when they mean other writes.
        complete: every write up to this sequence number is on all copies, will survive the loss of any, and is found by searches
            after the next refresh; -1 when there is none.
        last: highest sequence number that was given out; gaps below it may still be filled.
        deletions: name of a count of deletions, and the count: it rises with each; the name changes where counting began anew.
    """

    history: str
    complete: int
    last: int
    deletions: tuple[str, int]


@dataclass(frozen=True, slots=True)
class WriteTarget:
    """Where a document goes that is written to an index, an alias or a data stream: a concrete index, and the routing that an alias gives it."""

    index: str
    routing: str = ""


@dataclass(frozen=True, slots=True)
class FieldUpdateReport:
    """What became of writes of ``dedup`` fields.

    Attributes:
        changed: documents that were written.
        unchanged: documents that had the same ``dedup`` field.
        gone: page ids whose document is not there any more.
        failed: page id to reason; ``conflict: …`` (others kept writing it), ``mapping: …`` (the document's ``dedup`` field is
            of another type), ``refused: …`` (anything else).
    """

    changed: int = 0
    unchanged: int = 0
    gone: tuple[str, ...] = ()
    failed: Mapping[str, str] = field(default_factory=dict)

    def __add__(self, other: FieldUpdateReport) -> FieldUpdateReport:
        """Both together."""
        return FieldUpdateReport(
            self.changed + other.changed,
            self.unchanged + other.unchanged,
            self.gone + other.gone,
            {**self.failed, **other.failed},
        )


@dataclass(frozen=True, slots=True)
class PipelineEffects:
    """What ingest pipelines do with a sample document.

    Attributes:
        problems: why clusters would be wrong, or not be found.
        notes: what may be meant so, or could not be tried.
        unread: the content field is not in what is stored.
    """

    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    unread: bool = False


def unread_problem(who: str, does: str, content: str, into: str = "") -> str:
    """What is said where a document is stored without its content field."""
    return (
        f"{who} {does} the content field {content!r}{into}: documents that are read again seem to have no text. "
        f"Write them with the field that is stored, and name that field as content"
    )


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """Lowest version of the nodes, and seconds by which its clock is ahead of ours, about."""

    version: str
    clock_seconds: float


class SourceIndex(Protocol):
    """Reads documents of source indices and writes their ``dedup`` fields; ``target`` is an index, an alias, a data stream or a pattern."""

    def indices(self, target: str) -> list[str]:
        """Concrete open indices behind a target, by name, without our own; empty when there is none."""

    def prepare(self, indices: Iterable[str], *, external_versions: bool = False) -> None:
        """Put the mapping of ``dedup`` on existing indices; on one that has it nothing changes.

        Args:
            indices: concrete ones; those that do not exist are passed over.
            external_versions: documents keep the ``_version`` that their owner gives them, from now on and for all writers of
                ``dedup`` fields: the whole document is indexed again with its version, in place of a partial update.

        Raises:
            IndexRefused: a field ``dedup`` of another kind is there, or the role does not allow it.
            MappingConflict: a field below ``dedup`` has another type, most often by dynamic mapping.
            SourceIncomplete: see ``check``; no mapping was changed.
        """

    def prepared(self, index: str) -> bool:
        """Whether a concrete index has the mapping of ``dedup``."""

    def pipeline_effects(self, index: str, source: Mapping[str, Any], content: str) -> PipelineEffects:
        """What the default and the final pipeline of a concrete index do with a document, which is not written.

        Args:
            index: as it is known; no effects where there is none.
            source: the document, with its ``dedup`` field.
            content: name of the field that holds the page.
        """

    def external_versions(self, index: str) -> bool:
        """Whether documents of a concrete index keep external versions, see ``prepare``."""

    def check(self, indices: Iterable[str], *, readable: bool = False) -> None:
        """Refuse concrete indices whose documents cannot be updated without losing data; indices that do not exist pass.

        Every method that writes to documents checks their indices first. ``readable``: refuse those, too, of which a part is left out of
        what is read.

        Raises:
            SourceIncomplete: ``_source`` of an index does not hold whole documents.
        """

    def install(
        self,
        target: str,
        *,
        dry_run: bool = False,
        external_versions: bool = False,
        own_templates: bool = False,
    ) -> str:
        """Give indices that are created later the mapping of ``dedup``; says in plain words what was done, or would be.

        Args:
            target: as attached.
            dry_run: change nothing.
            external_versions: see ``prepare``.
            own_templates: make a component template only, which the user names in her index templates.
        """

    def installed(self) -> bool:
        """Whether what ``install`` made is there."""

    def cluster(self) -> str:
        """UUID of the cluster."""

    def server(self) -> ServerFacts:
        """Version and clock of the server."""

    def uninstall(self, *, dry_run: bool = False) -> list[str]:
        """Take back what ``install`` did; names of the templates that were changed or removed."""

    def shards(self, index: str) -> list[Shard]:
        """The shards of a concrete index, after a refresh; none when the index was deleted."""

    def writes(self, indices: Iterable[str]) -> dict[str, dict[int, ShardWrites]]:
        """How many writes the shards of concrete open indices have had, by index and number of the shard.

        Indices that do not exist or are closed are absent; so are shards without a primary.
        """

    def exists(self, index: str) -> bool:
        """Whether there is a concrete index, open or closed."""

    def remember(self, documents: Iterable[SourceDocument]) -> None:
        """Note that documents are known as they were read; only of the latest some ten thousand it is kept in mind."""

    def forget(self, documents: Iterable[SourceDocument]) -> None:
        """Take ``remember`` back."""

    def knows(self, document: SourceDocument) -> bool:
        """Whether a document is as it was remembered, but for its ``dedup`` field as this process wrote it."""

    def read(self, page_ids: Iterable[str], fields: Sequence[str] | None) -> dict[str, SourceDocument]:
        """Documents as they are now, by page id; those that are not there are absent.

        Args:
            page_ids: of the documents; what an alias or another routing leads to is not there.
            fields: that are read; None: all.
        """

    def scan(
        self, shard: Shard, fields: Sequence[str], *, above: int = -1, to: int | None = None, batch: int = 500
    ) -> Iterator[list[SourceDocument]]:
        """Documents of a shard by sequence number ascending; none when the index was deleted.

        A sequence number survives restarts of the server, so that a scan goes on where another stopped. A document
        that is written meanwhile gets a higher one, and is met there.

        Args:
            shard: of a concrete index.
            fields: that are read.
            above: only documents with a higher sequence number.
            to: only documents with at most this one; None: all.
            batch: most documents at once.
        """

    def without_dedup_field(
        self, index: str, fields: Sequence[str], *, batch: int = 500
    ) -> Iterator[list[SourceDocument]]:
        """Documents of a concrete index without ``dedup.cluster_id``, and those that wait for a decision."""

    def write_dedup_fields(
        self, dedup_fields: Mapping[str, DedupField | None], *, checked: bool = False
    ) -> FieldUpdateReport:
        """Write ``dedup`` fields by page id; None removes the field. Repeating it is safe.

        Args:
            dedup_fields: by page id.
            checked: a ``check`` or ``write_target`` of all their indices within the last second counts as the check of this call.

        Raises:
            SourceIncomplete: see ``check``; no document was changed.
        """

    def count(self, target: str, query: Mapping[str, Any] | None = None) -> int:
        """Number of documents of a target, or of those that a query finds; 0 when there is no such index."""

    def refresh(self, target: str) -> None:
        """Make earlier writes to a target visible to searches."""

    def shown_in_part(self, target: str) -> str:
        """Which alias of a target has a filter or a search routing, in words: searches by it find a part of its indices; empty when none has."""

    def write_target(
        self, target: str, *, external_versions: bool = False, known: WriteTarget | None = None
    ) -> WriteTarget:
        """Where a document that is written to a target goes; the index is ready for ``dedup``.

        An index that is not there is made; a target whose index the server alone can make is given back as it is.

        Args:
            target: index, alias or data stream.
            external_versions: see ``prepare``.
            known: what the last call gave; where it still is that, this takes one request.
        """

    def delete(self, page_ids: Iterable[str]) -> None:
        """Remove documents; those that are not there are no error.

        Raises:
            IndexUnavailable: some could not be removed.
        """

    def delete_unchanged(self, documents: Iterable[SourceDocument]) -> dict[str, str]:
        """Remove those documents that are still as they were read; by page id why one was not removed, empty where it was.

        The reason is ``gone``, ``conflict`` (it was written meanwhile), or what the server said.
        """

    def create(self, documents: Iterable[RestoredDocument]) -> list[tuple[str, str]]:
        """Write documents that are not there; for each its page id, and why it was not written, empty where it was.

        The reason is ``conflict`` where a document of that id is there, or what the server said.
        """

    def waiting(self, target: str, fields: Sequence[str]) -> Iterator[list[SourceDocument]]:
        """Documents that wait for a decision (``dedup.waiting``), as far as they were written before the call."""

    def decided(self, documents: Iterable[SourceDocument], fields: Sequence[str]) -> int:
        """Say that documents were decided on as they were read with these fields.

        Those that waited and still hold the same do not wait any more; what was written meanwhile waits on.

        Returns:
            How many do not wait any more.
        """

    def count_waiting(self, target: str) -> int:
        """How many these are, as a search sees it; 0 when there is no such index."""

    def close(self) -> None:
        """Let go of the connections; may be called twice."""
