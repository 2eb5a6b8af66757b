"""The source index, the user's own: which documents are pages, how they are named, and what is written into them.

A page's key is (index, ``_id``, routing); ``page_id`` is its stable string form. The ``dedup`` field of a document is a
``DedupField``; nothing else of the document is ever written.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote

from es_dedup.errors import wrong_type
from es_dedup.model import MAX_ID_BYTES, Edge, Page, Relation
from es_dedup.model.times import time_given
from es_dedup.model.values import plain_value, put_nested, value_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from es_dedup.index.cluster_changes import Assignment
    from es_dedup.index.port import ClusterUpdates


DEDUP: Final = "dedup"
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
        routing = f"?{quote(self.routing, safe='', errors='surrogatepass')}" if self.routing else ""
        return f"{self.index}{routing}/{self.id}"

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
    """Which fields of a document hold a page; dotted names reach into objects, and into all objects of a list; empty: there is none.

    Attributes:
        content: main text, or the HTML as served when ``html`` is true.
        html: ``content`` is HTML and is extracted.
        title, url, published, site: as in ``Page``. ``published`` may also be a number, see ``time_given``.

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

    def pages(self, documents: Collection[SourceDocument]) -> tuple[list[Page], dict[str, str]]:
        """The pages that documents hold; and by page id why others cannot be pages."""
        problems = {each.key.page_id: each.key.problem for each in documents if each.key.problem}
        pages = [self.page(each.key.page_id, each.source) for each in documents if not each.key.problem]
        return pages, problems

    def sample(self) -> dict[str, Any]:
        """A document with all fields, and a ``dedup`` field, that shows what a pipeline does with them."""
        text = "This is a sample document of es-dedup."
        made: dict[str, Any] = {DEDUP: {"cluster_id": "sample", "canonical": True, "relation": "unique"}}
        values = dict.fromkeys((self.title, self.site), text) | {
            self.url: "https://sample.example/",
            self.published: "2026-01-01T00:00:00.000Z",
            self.content: f"<html><body><p>{text}</p></body></html>" if self.html else text,
        }
        return put_nested(made, {name: value for name, value in values.items() if name})

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
    value = plain_value(value_of(source, name))
    values = value if isinstance(value, list) else [value]
    return "\n".join(str(each) for each in values if each is not None)


def _moment(value: Any) -> str | datetime | None:
    if isinstance(value, list):
        value = value[0] if value else None
    given = time_given(value)
    return given if isinstance(given, datetime) else str(given or "") or None


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

    ``term`` is 0 where it was not asked for; with ``seq_no`` it tells versions of a document apart. ``version`` is the ``_version``. One that is to be written
    back has neither, and the index of its key may be a data stream.
    """

    key: DocumentKey
    source: Mapping[str, Any]
    dedup: Mapping[str, Any] | None = None
    seq_no: int = -1
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
        changed: documents that were written; those that had the same ``dedup`` field do not count.
        gone: page ids whose document is not there any more.
        failed: page id to reason; ``conflict: …`` (others kept writing it), ``mapping: …`` (the document's ``dedup`` field is
            of another type), ``refused: …`` (anything else).
    """

    changed: int
    gone: Collection[str]
    failed: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Findings:
    """What sampled documents say of the fields that are read, or what ingest pipelines do with a sample document.

    Attributes:
        problems: why clusters would be wrong, or not be found.
        notes: what may be meant so, or could not be tried.
        unread: the content field is not in what a pipeline stores.
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


def dedup_fields_of(index: ClusterUpdates, page_ids: Iterable[str]) -> dict[str, DedupField]:
    """``dedup`` fields of all pages of the clusters that these pages are in: a change of one page changes the fields of the others.

    Pages that are not clustered yet are absent.
    """
    clusters = {each.cluster_id for each in index.assignments(page_ids).values()}
    groups = list(index.members(clusters).values())
    return dedup_fields_of_groups(groups, index.edges_of(each.page_id for group in groups for each in group))


def dedup_fields_after(
    index: ClusterUpdates, page_ids: Iterable[str], cluster_ids: Collection[str]
) -> dict[str, DedupField]:
    """``dedup`` fields that follow from a change of clusters: of these pages, and of the canonical documents of all clusters concerned, which hold the sizes.

    Args:
        index: with the clusters after the change.
        page_ids: pages that got another cluster or another canonical document, or an edge; those that are not clustered are absent.
        cluster_ids: clusters that pages have left.
    """
    assigned = index.assignments(page_ids)
    groups = index.members({each.cluster_id for each in assigned.values()}.union(cluster_ids)).values()
    sizes = {group[0].canonical: len(group) for group in groups}
    assigned |= index.assignments(sizes)
    names = documents_of(assigned)
    within = contained_in(index.edges_of(names))
    return {
        name: dedup_field_of(each, sizes.get(each.canonical, 1), within.get(name, ()))
        for name, each in assigned.items()
        if name in names
    }


def dedup_fields_of_groups(
    groups: Iterable[Sequence[Assignment]], edges: Iterable[Edge]
) -> dict[str, DedupField]:
    """``dedup`` fields of all documents of whole clusters.

    Args:
        groups: each cluster's assignments.
        edges: all that touch their pages.
    """
    within = contained_in(edges)
    return {
        name: dedup_field_of(members[name], len(group), within.get(name, ()))
        for group in groups
        for members in ({each.page_id: each for each in group},)
        for name in documents_of(members)
    }


def dedup_field_of(assignment: Assignment, size: int, inside: Sequence[str] = ()) -> DedupField:
    """The ``dedup`` field of one page of a cluster of ``size`` pages; ``inside``: pages that contain it."""
    canonical = assignment.page_id == assignment.canonical
    relation = str(assignment.relation)
    if canonical:
        relation = str(Relation.CONTAINED) if inside else "unique"
    return DedupField(
        assignment.cluster_id,
        canonical=canonical,
        relation=relation,
        duplicate_of="" if canonical else assignment.canonical,
        contained_in=tuple(sorted(inside)),
        cluster_size=size if canonical else 0,
    )


def contained_in(edges: Iterable[Edge]) -> Mapping[str, list[str]]:
    """For each page that is contained in others, which these are."""
    found: dict[str, list[str]] = {}
    for edge in edges:
        if edge.relation is Relation.CONTAINED:
            found.setdefault(edge.left, []).append(edge.right)
        elif edge.relation is Relation.CONTAINS:
            found.setdefault(edge.right, []).append(edge.left)
    return found
