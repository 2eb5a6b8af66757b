"""Deep paging: a point in time is walked in the order of the search, page by page, without gaps and doubles."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from es_dedup.collapse import bodies, counting, modes
from es_dedup.collapse.calls import ClosePit, OpenPit, Searches, checked
from es_dedup.collapse.cursors import Cursor, digest_of, pack, unpack
from es_dedup.collapse.hits import cluster_of, hits_of, place_of
from es_dedup.collapse.model import MAX_WINDOW, START, Mode
from es_dedup.collapse.piles import Found, Pile
from es_dedup.collapse.plans import page_of
from es_dedup.errors import SearchRefused

if TYPE_CHECKING:
    from es_dedup.collapse.calls import Answer, Plan
    from es_dedup.collapse.model import Body, GroupPage, Hit
    from es_dedup.collapse.request import Request

TIE_BREAK: Final = "_shard_doc"
NOT_DEEP: Final = ("retriever", "search_after", "pit", "rescore", "collapse", "profile")
SPARE: Final = 8
"""Hits fetched beside a third more than wanted, because some of them are not the first of their group."""


@dataclass(slots=True)
class _Walk:
    """A walk in progress."""

    request: Request
    body: Body
    pit: str
    after: tuple[Any, ...]
    answers: list[Answer]

    @property
    def point(self) -> Body:
        """The point in time, as a body names it."""
        return {"id": self.pit, "keep_alive": self.request.options.keep_alive}

    def search(self, body: Body, *, skip_unmatched: bool = False) -> Plan[Answer]:
        """One search on the point in time; its id may be another afterwards."""
        (found,) = yield Searches(
            [body | {"pit": self.point}], self.request.index, skip_unmatched=skip_unmatched
        )
        answer = checked(found)
        self.pit = answer.get("pit_id", self.pit)
        self.answers.append(answer)
        return answer


def deep(request: Request, cursor: str) -> Plan[GroupPage]:
    """The page after a cursor, or the first one; on the last page the point in time is closed."""
    _check(request)
    options = request.options
    if cursor != START:
        known = unpack(cursor)
        if known.search != digest_of(request):
            raise SearchRefused("the cursor belongs to another search", "pass index, body and mode as before")
        return (yield from _go_on(request, known))
    pit = yield OpenPit(request.index, options.keep_alive, request.header)
    try:
        return (yield from _go_on(request, Cursor(pit, digest_of(request), ()), first=True))
    except BaseException:
        yield ClosePit(pit)
        raise


def close(cursor: str) -> Plan[None]:
    """Let go of the point in time of a cursor."""
    yield ClosePit(unpack(cursor).pit)


def _check(request: Request) -> None:
    given, options = request.given, request.options
    if options.mode is Mode.FOLD or options.fold_contained:
        raise SearchRefused("a cursor cannot fold in a window", "choose mode 'collapse' or 'canonical'")
    if not request.size:
        raise SearchRefused("size is 0", "ask for one group a page or more")
    wrong = [name for name in NOT_DEEP if name in given] + (["from"] if request.first else [])
    if wrong:
        raise SearchRefused(f"a cursor does not go with {', '.join(wrong)}", "leave that out of the body")


def _go_on(request: Request, cursor: Cursor, *, first: bool = False) -> Plan[GroupPage]:
    options = request.options
    body = bodies.without_facets(request.fetched) | {"sort": _strict(request.body.get("sort"))}
    body.pop("from", None)
    counts = request.body
    if options.mode is Mode.CANONICAL:
        body = bodies.filtered(body, bodies.shown(options))
        counts = bodies.filtered(request.body, bodies.shown(options))
    walk = _Walk(request, body, cursor.pit, cursor.after, [])
    overview = Found([], cursor.documents, cursor.groups)
    if first:
        overview = yield from _overview(walk, counts)
    hits, more = yield from _heads(walk)
    problems = modes.problems_in(walk.answers)
    if problems:
        documents, groups = counting.lowered(overview.documents), counting.lowered(overview.groups)
        overview = replace(overview, documents=documents, groups=groups)
    took = sum(int(answer["took"]) for answer in walk.answers)
    piles = [Pile([hit], cluster_of(hit, options)) for hit in hits]
    page = yield from page_of(request, replace(overview, problems=problems, took_ms=took), piles)
    if not more:
        yield ClosePit(walk.pit)
        return page
    onward = Cursor(walk.pit, cursor.search, tuple(hits[-1]["sort"]), overview.documents, overview.groups)
    return replace(page, cursor=pack(onward))


def _overview(walk: _Walk, counts: Body) -> Plan[Found]:
    """Totals and facets, for the first page."""
    request, options = walk.request, walk.request.options
    grouped = options.mode is Mode.COLLAPSE
    facets = request.facets
    if grouped:
        facets = {
            name: spec for part in modes.counting_facets(request).values() for name, spec in part.items()
        }
    asked = {name: request.given[name] for name in ("suggest",) if name in request.given}
    answer = yield from walk.search(bodies.tally(counts, facets) | request.counted | asked)
    more = {name: answer[name] for name in asked if name in answer}  # nothing is said of an empty one
    if grouped:
        here = replace(request, body=request.body | {"pit": walk.point}, header={})
        groups = yield from counting.groups_in(here, answer)
        return modes.counted(request, Found([], groups=groups, more=more), [answer], answer)
    documents = groups = counting.documents_in(answer)
    if options.mode is Mode.CANONICAL and options.document_total:
        every = yield from walk.search(bodies.tally(request.body, {}) | request.counted)
        documents = counting.documents_in(every)
    facets = answer.get("aggregations", {})
    return Found([], documents if options.document_total else None, groups, facets, more=more)


def _heads(walk: _Walk) -> Plan[tuple[list[Hit], bool]]:
    """The next hits that are the first of their group, at most as many as wanted; and whether more follow."""
    wanted, grouped = walk.request.size, walk.request.options.mode is Mode.COLLAPSE
    heads: list[Hit] = []
    after = walk.after
    while True:
        missing = wanted + 1 - len(heads)
        size = min(missing + missing // 3 + SPARE if grouped else missing, MAX_WINDOW)
        body = walk.body | {"size": size} | ({"search_after": list(after)} if after else {})
        hits = hits_of((yield from walk.search(body)))
        for hit in (yield from _firsts(walk, hits)) if grouped else hits:
            if len(heads) == wanted:
                return heads, True
            heads.append(hit)
        if len(hits) < size:
            return heads, False
        after = tuple(hits[-1]["sort"])


def _firsts(walk: _Walk, hits: list[Hit]) -> Plan[list[Hit]]:
    """Those hits that no other page of their cluster comes before, in the whole search.

    The server is asked for the best hit of each cluster at hand; so nothing of the pages shown before has to be
    remembered.
    """
    options = walk.request.options
    ids = {cluster_of(hit, options) for hit in hits} - {None}
    best: set[tuple[str, str]] = set()
    if ids:
        keys = bodies.keys_only(walk.body) | {"size": len(ids)}
        body = bodies.narrowed(keys, bodies.in_clusters(sorted(map(str, ids)), options))
        body["collapse"] = {"field": options.cluster_field}
        answer = yield from walk.search(body, skip_unmatched=True)
        best = {place_of(hit) for hit in hits_of(answer)}
    return [hit for hit in hits if cluster_of(hit, options) is None or place_of(hit) in best]


def _strict(sort: Any) -> list[Any]:
    """A sort that tells any two documents of a point in time apart."""
    given = [sort] if isinstance(sort, str | dict) else list(sort or ["_score"])
    return [*given, {TIE_BREAK: "asc"}] if TIE_BREAK not in str(given) else given
