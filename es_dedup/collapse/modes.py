"""The modes as plans: which searches are made, and what their answers say."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from es_dedup.collapse import bodies, counting
from es_dedup.collapse.calls import Relate, Searches, checked, lacks_only_unmapped, not_mapped, problems_of
from es_dedup.collapse.facets import by_document, count_groups, read_groups
from es_dedup.collapse.folding import fold_hits
from es_dedup.collapse.hits import cluster_of, hits_of, more_of, page_id_of
from es_dedup.collapse.model import Mode
from es_dedup.collapse.piles import Found, Pile

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from es_dedup.collapse.calls import Answer, Plan
    from es_dedup.collapse.model import Body, Hit
    from es_dedup.collapse.request import Request

ANY: Final = {"track_total_hits": 1}
FACETS: Final = "facets"
COUNTS: Final = "counts"


def plain(request: Request) -> Plan[Found]:
    """Modes ``canonical`` and ``off``: each hit is a group."""
    options = request.options
    canonical = options.mode is Mode.CANONICAL
    body = bodies.filtered(request.fetched, bodies.shown(options)) if canonical else request.fetched
    wanted = [body]
    if canonical and options.document_total:
        wanted.append(bodies.tally(request.body, {}) | request.counted)
    answers = yield Searches(wanted, request.index, request.header)
    found = [checked(answer) for answer in answers]
    problems = problems_in(found)
    hits = hits_of(found[0])
    return Found(
        [Pile([hit], cluster_of(hit, options)) for hit in hits],
        counting.documents_in(found[-1], whole=not problems) if options.document_total else None,
        counting.documents_in(found[0], whole=not problems),
        found[0].get("aggregations", {}),
        problems,
        took_ms=max(int(answer["took"]) for answer in found),
        ended=len(hits) < request.size,
        more=more_of(found[0]),
    )


def collapse(request: Request) -> Plan[Found]:
    """Mode ``collapse``: the best match of each cluster, and each page that has no cluster id.

    Elasticsearch makes one group of all documents without the field. So they are looked for apart, in the same request;
    only when there are some, a second and third request put both kinds in one order.
    """
    options = request.options
    main, apart = parts_of(request, counting_facets(request))
    grouped = main | {"collapse": {"field": options.cluster_field}}
    loose = bodies.narrowed(bodies.matching(request.body), bodies.unassigned(options)) | ANY
    first, *more = yield Searches([grouped, *apart.values(), loose], request.index, request.header)
    mapped = not not_mapped(first)
    if not mapped:  # an index that was never attached: what it holds has no cluster id
        only_counts = main | {"size": 0, "from": 0}
        (first,) = yield Searches([only_counts], request.index, request.header)
    found = [checked(answer) for answer in (first, *more)]
    hits: Sequence[Hit] = hits_of(first)
    if not mapped or found[-1]["hits"]["total"]["value"]:
        hits, others = yield from _with_loose(request)
        found += others
    told = dict(zip(apart, more, strict=False))
    groups = yield from counting.groups_in(request, told.get(COUNTS, first))
    piles = [Pile([hit], cluster_of(hit, options)) for hit in hits]
    facets = told.get(FACETS, first)
    listed = Found(piles, groups=groups, ended=len(hits) < request.size, more=more_of(first))
    return counted(request, listed, found, facets)


def fold(request: Request) -> Plan[Found]:
    """Mode ``fold``: the best hits, whatever their group, folded here."""
    main, apart = parts_of(request, {FACETS: count_groups(request.facets, request.options)})
    answers = yield Searches([main, *apart.values()], request.index, request.header)
    found = [checked(answer) for answer in answers]
    hits = hits_of(found[0])
    piles, notes = yield from folded(request, hits)
    documents = counting.documents_in(found[0])
    ended = len(hits) < request.size or (
        documents is not None and documents.exact and documents.value == len(hits)
    )
    listed = Found(piles, notes=notes, ended=ended, more=more_of(found[0]))
    return counted(request, listed, found, found[-1])


def folded(request: Request, hits: Sequence[Hit]) -> Plan[tuple[list[Pile], tuple[str, ...]]]:
    """Hits in piles, with the help of the sidecar where cluster ids are missing; and what it could not help with."""
    options = request.options
    known = {page_id_of(hit): cluster_of(hit, options) for hit in hits}
    bare = [page_id for page_id, cluster_id in known.items() if cluster_id is None]
    related = None
    if bare:
        related = yield Relate(bare, [page_id for page_id in known if known[page_id] is not None])
    alone = bool(bare) and related is None
    notes = (
        (f"{len(bare)} pages have no cluster id and no sidecar was given: each is shown",) if alone else ()
    )
    return fold_hits(hits, related, options), notes


def counting_facets(request: Request) -> dict[str, Body]:
    """Aggregations that count by group: the request's own, and those of totals."""
    return {FACETS: count_groups(request.facets, request.options), COUNTS: counting.counters(request)}


def parts_of(request: Request, facets: Mapping[str, Body]) -> tuple[Body, dict[str, Body]]:
    """The search for hits, and by name those that only count, which run beside it and need no scores.

    Neighbours of vectors are looked for once: there the search for hits counts too.
    """
    if bodies.has_vectors(request.body):
        every = {name: spec for part in facets.values() for name, spec in part.items()}
        return bodies.with_facets(request.fetched, every), {}
    uncounted = {"track_total_hits": False}
    apart = {name: bodies.tally(request.body, part) | uncounted for name, part in facets.items() if part}
    return bodies.with_facets(request.fetched, {}), apart


def counted(request: Request, found: Found, answers: Sequence[Answer], facets: Answer) -> Found:
    """Findings with the documents of the first answer, and the facets of the one that has them."""
    first, problems = answers[0], problems_in(answers)
    documents, groups = counting.documents_in(first) if request.options.document_total else None, found.groups
    if problems:
        documents, groups = counting.lowered(documents), counting.lowered(groups)
    answered = facets.get("aggregations", {})
    own = {name: answered[name] for name in request.facets if name in answered}
    return replace(
        found,
        documents=documents,
        groups=groups,
        facets=read_groups(request.facets, own),
        problems=problems,
        notes=(*found.notes, *notes_on(request)),
        took_ms=sum(int(answer["took"]) for answer in answers),
    )


def _with_loose(request: Request) -> Plan[tuple[list[Hit], list[Answer]]]:
    """Best matches of clusters and pages without cluster id, in the order of the request.

    Which documents these are is found first, the first so many of each kind; then the server sorts, highlights and
    cuts the page out of them.
    """
    options, last = request.options, request.first + request.size
    keys = bodies.keys_only(request.body) | {"from": 0, "size": last}
    named = bodies.named_fields(keys, options, containment=False)
    heads = bodies.narrowed(named, bodies.assigned(options)) | {"collapse": {"field": options.cluster_field}}
    loose = bodies.narrowed(keys, bodies.unassigned(options))
    one, other = yield Searches([heads, loose], request.index, request.header, skip_unmatched=True)
    found = [checked(other)]
    best: list[Hit] = []
    if not lacks_only_unmapped(one):
        found.append(checked(one))
    if "error" not in one:
        best = [hit for hit in hits_of(one) if cluster_of(hit, options) is not None]
    best += hits_of(other)
    if not best:
        return [], found
    body = bodies.narrowed(bodies.without_facets(request.fetched), bodies.these(best))
    (answer,) = yield Searches([body], request.index, request.header)
    return hits_of(checked(answer)), [*found, answer]


def notes_on(request: Request) -> tuple[str, ...]:
    """What is not counted by group."""
    names = list(by_document(request.facets))
    return (f"about documents, not groups: {', '.join(names)}",) if names else ()


def problems_in(answers: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Why these answers may lack hits, each reason once."""
    return tuple(dict.fromkeys(problem for answer in answers for problem in problems_of(answer)))
