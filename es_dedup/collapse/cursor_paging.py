"""Cursor paging: pages of a point in time in the order of the search, without gaps or repetitions.

The cursor is opaque: the state of a search as one string.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from pydantic import TypeAdapter

from es_dedup.collapse import modes, search_bodies, totals
from es_dedup.collapse.group_pages import page_of
from es_dedup.collapse.hits import cluster_of, groups_of, hits_of, key_of
from es_dedup.collapse.model import MAX_WINDOW, START, Body, GroupPage, Hit, Mode, Total
from es_dedup.collapse.operations import checked
from es_dedup.collapse.search_bodies import MATCHING, ORDERING
from es_dedup.errors import DedupError, SearchRefused

if TYPE_CHECKING:
    from es_dedup.collapse.operations import Answer, Server
    from es_dedup.collapse.search_request import Request


MOST_BYTES: Final = 1_000_000
"""Of an unpacked cursor; a longer one was not made here."""
_PAGING: Final = frozenset({"from", "size", "pit", "search_after"})
TIE_BREAK: Final = "_shard_doc"
OPENSEARCH_TIE_BREAK: Final = ("_id", "_index")  # up to 3.2 it has nothing cheaper that is unique
UNSUPPORTED: Final = ("retriever", "search_after", "pit", "rescore", "collapse", "profile")
SPARE: Final = 8
"""Hits fetched beside a third more than wanted, because some of them are not the first of their group."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where a search on a point in time stands.

    Attributes:
        pit: id of the point in time.
        search: digest of the search, so that it is not continued by another one.
        after: sort values of the last hit shown.
        documents, groups: totals, which are counted for the first page only.
    """

    pit: str
    search: str
    after: tuple[Any, ...]
    documents: Total | None = None
    groups: Total | None = None


_CURSOR: Final = TypeAdapter(Cursor)


def pack(cursor: Cursor) -> str:
    """The cursor as letters, digits, ``-``, ``_`` and ``=``."""
    return base64.urlsafe_b64encode(zlib.compress(json.dumps(asdict(cursor)).encode())).decode()


def unpack(text: str) -> Cursor:
    """The cursor that ``pack`` made.

    Raises:
        SearchRefused: the text is no cursor.
    """
    try:
        opened = zlib.decompressobj()
        data = opened.decompress(base64.b64decode(text, altchars=b"-_", validate=True), MOST_BYTES)
        return _CURSOR.validate_python(json.loads(data if opened.eof else b""))
    except (ValueError, RecursionError, zlib.error) as error:
        raise SearchRefused(
            "the cursor is damaged", "pass on what the page before gave, unchanged"
        ) from error


def digest_of(request: Request) -> str:
    """What identifies a search: index, mode, what matches and in which order; 16 hexadecimal characters."""
    deciding = (MATCHING | ORDERING) - _PAGING
    parts = {name: value for name, value in request.body.items() if name in deciding}
    said = json.dumps(
        [request.index, request.options.mode, dict(request.header), parts], sort_keys=True, default=str
    )
    return hashlib.sha256(said.encode()).hexdigest()[:16]


@dataclass(slots=True)
class _Scan:
    """State of one page: the point in time, the sort values to continue after, the responses so far."""

    request: Request
    body: Body
    pit: str
    after: tuple[Any, ...]
    answers: list[Answer]

    @property
    def point(self) -> Body:
        """The ``pit`` of a search body."""
        return {"id": self.pit, "keep_alive": self.request.options.keep_alive}

    async def search(self, body: Body, *, skip_unmatched: bool = False) -> Answer:
        """One search on the point in time, whose id the response may change."""
        (found,) = await self.request.ask([body | {"pit": self.point}], skip_unmatched=skip_unmatched)
        answer = checked(found)
        self.pit = answer.get("pit_id", self.pit)
        self.answers.append(answer)
        return answer


async def next_page(request: Request, cursor: str) -> GroupPage:
    """The page after a cursor, or the first one; with the last page the point in time is closed."""
    _check(request)
    options = request.options
    if cursor != START:
        known = unpack(cursor)
        if known.search != digest_of(request):
            raise SearchRefused("the cursor belongs to another search", "pass index, body and mode as before")
        return await _page(request, known)
    pit = await request.server.open_point_in_time(request.index, options.keep_alive, request.header)
    try:
        return await _page(request, Cursor(pit, digest_of(request), ()), first=True)
    except BaseException:
        # The caller gets the error that ended the search, not one of closing; the server drops the point in time after ``keep_alive``.
        with suppress(DedupError):
            await request.server.close_point_in_time(pit)
        raise


async def close(cursor: str, server: Server) -> None:
    """Close the point in time of a cursor."""
    await server.close_point_in_time(unpack(cursor).pit)


def _check(request: Request) -> None:
    given, options = request.body, request.options
    if options.mode is Mode.GROUP or options.nest_contained:
        raise SearchRefused("a cursor cannot group within a window", "choose mode 'collapse' or 'canonical'")
    if not request.size:
        raise SearchRefused("size is 0", "ask for one group a page or more")
    wrong = [name for name in UNSUPPORTED if name in given] + (["from"] if request.first else [])
    if wrong:
        raise SearchRefused(f"a cursor does not go with {', '.join(wrong)}", "leave that out of the body")


async def _page(request: Request, cursor: Cursor, *, first: bool = False) -> GroupPage:
    options = request.options
    body = search_bodies.without_facets(request.fetched) | {"sort": _total_order(request)}
    body.pop("from", None)
    counts = request.body
    if options.mode is Mode.CANONICAL:
        body = search_bodies.filtered(body, search_bodies.SHOWN)
        counts = search_bodies.filtered(request.body, search_bodies.SHOWN)
    walk = _Scan(request, body, cursor.pit, cursor.after, [])
    overview = GroupPage((), cursor.documents, cursor.groups)
    if first:
        overview = await _overview(walk, counts)
    hits, more = await _group_heads(walk)
    problems = modes.problems_in(walk.answers)
    if problems:
        overview = replace(
            overview,
            total_documents=totals.as_lower_bound(overview.total_documents),
            total_groups=totals.as_lower_bound(overview.total_groups),
        )
    took = sum(int(answer["took"]) for answer in walk.answers)
    found = replace(overview, groups=groups_of(hits), problems=problems, took_ms=took)
    page = await page_of(request, found)
    if not more:
        await request.server.close_point_in_time(walk.pit)
        return page
    onward = Cursor(
        walk.pit, cursor.search, tuple(hits[-1]["sort"]), overview.total_documents, overview.total_groups
    )
    return replace(page, cursor=pack(onward))


async def _overview(walk: _Scan, counts: Body) -> GroupPage:
    """Totals and facets, for the first page."""
    request, options = walk.request, walk.request.options
    grouped = options.mode is Mode.COLLAPSE
    facets = request.facets
    if grouped:
        facets = totals.count_groups(facets) | totals.counters(request)
    asked = {name: request.body[name] for name in ("suggest",) if name in request.body}
    answer = await walk.search(search_bodies.tally(counts, facets) | request.counted | asked)
    more = {name: answer[name] for name in asked if name in answer}  # nothing is said of an empty one
    if grouped:
        here = replace(request, body=request.body | {"pit": walk.point}, header={})
        groups = await totals.groups_in(here, answer)
        return modes.counted(request, GroupPage((), total_groups=groups, **more), [answer], answer)
    documents = groups = totals.documents_in(answer)
    if options.mode is Mode.CANONICAL and options.document_total:
        every = await walk.search(search_bodies.tally(request.body, {}) | request.counted)
        documents = totals.documents_in(every)
    facets = answer.get("aggregations", {})
    return GroupPage((), documents if options.document_total else None, groups, facets, **more)


async def _group_heads(walk: _Scan) -> tuple[list[Hit], bool]:
    """The next hits that are the first of their group, at most ``size``; and whether more follow."""
    wanted, grouped = walk.request.size, walk.request.options.mode is Mode.COLLAPSE
    heads: list[Hit] = []
    after = walk.after
    while True:
        missing = wanted + 1 - len(heads)
        size = min(missing + missing // 3 + SPARE if grouped else missing, MAX_WINDOW)
        body = walk.body | {"size": size} | ({"search_after": list(after)} if after else {})
        hits = hits_of(await walk.search(body))
        for hit in await _first_of_cluster(walk, hits) if grouped else hits:
            if len(heads) == wanted:
                return heads, True
            heads.append(hit)
        if len(hits) < size:
            return heads, False
        after = tuple(hits[-1]["sort"])


async def _first_of_cluster(walk: _Scan, hits: list[Hit]) -> list[Hit]:
    """Hits that are the best of their cluster in the whole search.

    The server is asked for the best hit of each of these clusters, so no earlier page has to be remembered.
    """
    ids = {cluster_of(hit) for hit in hits} - {None}
    best: set[tuple[str, str]] = set()
    if ids:
        keys = search_bodies.keys_only(walk.body) | {"size": len(ids)}
        body = search_bodies.narrowed(keys, search_bodies.in_clusters(sorted(map(str, ids))))
        body["collapse"] = {"field": search_bodies.CLUSTER_FIELD}
        answer = await walk.search(body, skip_unmatched=True)
        best = {key_of(hit) for hit in hits_of(answer)}
    return [hit for hit in hits if cluster_of(hit) is None or key_of(hit) in best]


def _total_order(request: Request) -> list[Any]:
    """The sort with a tie-breaker that makes it total within a point in time."""
    sort = request.body.get("sort")
    given = [sort] if isinstance(sort, str | dict) else list(sort or ["_score"])
    if not request.server.is_opensearch:
        return [*given, {TIE_BREAK: "asc"}] if TIE_BREAK not in str(given) else given
    order = [_missing_last(each) for each in given]
    return [*order, *({name: "asc"} for name in OPENSEARCH_TIE_BREAK if repr(name) not in str(given))]


def _missing_last(sort: Any) -> Any:
    """A field of a sort that says where documents without it come: without that OpenSearch 2.19 ends a walk at the first of them."""
    parts = {sort: {}} if isinstance(sort, str) else sort
    return {
        name: how
        if name.startswith("_")
        else {"missing": "_last"} | (how if isinstance(how, dict) else {"order": how})
        for name, how in parts.items()
    }
