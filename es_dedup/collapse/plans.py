"""The modes as plans: which searches are made, and what becomes of their answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from es_dedup.collapse import bodies, counting
from es_dedup.collapse.calls import Searches, checked, not_mapped, problems_of
from es_dedup.collapse.facets import by_document, count_groups, read_groups
from es_dedup.collapse.hits import cluster_of, group_of, hits_of
from es_dedup.collapse.model import GroupPage, Mode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from es_dedup.collapse.calls import Plan
    from es_dedup.collapse.model import Body, Hit
    from es_dedup.collapse.request import Request

ANY: Final = {"track_total_hits": 1}


def plan_of(request: Request) -> Plan[GroupPage]:
    """The plan of a search without cursor, by its mode."""
    if request.options.mode is Mode.COLLAPSE:
        return collapse(request)
    return plain(request)


def plain(request: Request) -> Plan[GroupPage]:
    """Modes ``canonical`` and ``off``: each hit is a group."""
    canonical = request.options.mode is Mode.CANONICAL
    body = bodies.filtered(request.fetched, bodies.shown(request.options)) if canonical else request.fetched
    wanted = [body]
    if canonical and request.options.document_total:
        wanted.append(bodies.matching(request.body) | request.counted)
    answers = yield Searches(wanted, request.index, request.header)
    found = [checked(answer) for answer in answers]
    whole = not any(map(problems_of, found))
    groups = counting.documents_in(found[0], whole=whole)
    return GroupPage(
        groups=tuple(group_of(hit, request) for hit in hits_of(found[0])),
        total_documents=counting.documents_in(found[-1], whole=whole)
        if request.options.document_total
        else None,
        total_groups=groups,
        facets=found[0].get("aggregations", {}),
        problems=_problems(found),
        took_ms=max(int(answer["took"]) for answer in found),
    )


def collapse(request: Request) -> Plan[GroupPage]:
    """Mode ``collapse``: the best match of each cluster, and each page that has no cluster id.

    Elasticsearch makes one group of all documents without the field. So they are looked for apart, in the same request;
    only when there are some, a second and third request put both kinds in one order.
    """
    options = request.options
    counting_body = bodies.with_facets(
        request.fetched, count_groups(request.facets, options) | counting.counters(request)
    )
    main = counting_body | {"collapse": {"field": options.cluster_field}}
    loose = bodies.narrowed(bodies.matching(request.body), bodies.unassigned(options)) | ANY
    leave_out = counting.leave_out(request)
    first, others = yield Searches([main, loose], request.index, request.header, leave_out=leave_out)
    mapped = not not_mapped(first)
    if not mapped:  # an index that was never attached: what it holds has no cluster id
        (first,) = yield Searches(
            [counting_body | {"size": 0, "from": 0}], request.index, request.header, leave_out=leave_out
        )
    found = [checked(first), checked(others)]
    hits: Sequence[Hit] = hits_of(first)
    if not mapped or others["hits"]["total"]["value"]:
        hits, more = yield from _with_loose(request)
        found += more
    return (yield from _page(request, found, hits))


def _page(request: Request, found: Sequence[Mapping[str, Any]], hits: Sequence[Hit]) -> Plan[GroupPage]:
    """The page of these hits; the first answer has totals and facets."""
    problems = _problems(found)
    documents = counting.documents_in(found[0]) if request.options.document_total else None
    groups = yield from counting.groups_in(request, found[0])
    if problems:
        documents, groups = counting.lowered(documents), counting.lowered(groups)
    answered = found[0].get("aggregations", {})
    own = {name: answered[name] for name in request.facets if name in answered}
    return GroupPage(
        groups=tuple(group_of(hit, request) for hit in hits),
        total_documents=documents,
        total_groups=groups,
        facets=read_groups(request.facets, own),
        problems=problems,
        notes=notes_on(request),
        took_ms=sum(int(answer["took"]) for answer in found),
    )


def _with_loose(request: Request) -> Plan[tuple[list[Hit], list[Mapping[str, Any]]]]:
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
    if "error" in one and not_mapped(one):  # no index has the field
        best: list[Hit] = []
    else:
        found.append(checked(one))
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


def _problems(answers: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(problem for answer in answers for problem in problems_of(answer)))


def overview(request: Request) -> Body:
    """A search that only counts, for the first page of a cursor."""
    return bodies.matching(request.body) | request.counted
