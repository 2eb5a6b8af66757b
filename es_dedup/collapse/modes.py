"""The modes as plans: the searches of each mode and how their responses are read; and all pages of one cluster."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from es_dedup.collapse import search_bodies, totals
from es_dedup.collapse.hits import cluster_of, groups_of, hits_of, key_of, more_of, unsorted
from es_dedup.collapse.model import Body, Expansion, Group, GroupPage, Hit, Mode, Total
from es_dedup.collapse.operations import checked, lacks_only_unmapped, not_mapped, problems_of
from es_dedup.collapse.totals import by_document, count_groups, read_groups
from es_dedup.errors import SearchRefused
from es_dedup.model.batches import by_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from es_dedup.collapse.operations import Answer
    from es_dedup.collapse.search_request import Request

    Found = tuple[GroupPage, bool]
    """Groups as they were fetched, and whether no further match follows the last one."""


ANY: Final = {"track_total_hits": 1}
FACETS: Final = "facets"
COUNTS: Final = "counts"
NOT_EXPANDED: Final = ("aggs", "aggregations", "suggest", "profile")


async def plain(request: Request) -> Found:
    """Modes ``canonical`` and ``off``: each hit is a group."""
    options = request.options
    canonical = options.mode is Mode.CANONICAL
    body = search_bodies.filtered(request.fetched, search_bodies.SHOWN) if canonical else request.fetched
    wanted = [body]
    if canonical and options.document_total:
        wanted.append(search_bodies.tally(request.body, {}) | request.counted)
    answers = await request.ask(wanted)
    found = [checked(answer) for answer in answers]
    problems = problems_in(found)
    hits = hits_of(found[0])
    page = GroupPage(
        groups_of(hits),
        totals.documents_in(found[-1], whole=not problems) if options.document_total else None,
        totals.documents_in(found[0], whole=not problems),
        found[0].get("aggregations", {}),
        problems=problems,
        took_ms=max(int(answer["took"]) for answer in found),
        **more_of(found[0]),
    )
    return page, len(hits) < request.size


async def collapse(request: Request) -> Found:
    """Mode ``collapse``: the best match of each cluster, and each page that has no cluster id.

    Elasticsearch puts all documents without the collapse field into one group. They are therefore searched separately, in the
    same request; only when there are any, a second and third request sort both kinds together.
    """
    facets = {FACETS: count_groups(request.facets), COUNTS: totals.counters(request)}
    main, apart = parts_of(request, facets)
    grouped = main | {"collapse": {"field": search_bodies.CLUSTER_FIELD}}
    unassigned = search_bodies.narrowed(search_bodies.matching(request.body), search_bodies.UNASSIGNED) | ANY
    first, *more = await request.ask([grouped, *apart.values(), unassigned])
    mapped = not not_mapped(first)
    if not mapped:  # an index that was never attached: none of its documents has a cluster id
        only_counts = main | {"size": 0, "from": 0}
        (first,) = await request.ask([only_counts])
    found = [checked(answer) for answer in (first, *more)]
    hits: Sequence[Hit] = hits_of(first)
    if not mapped or found[-1]["hits"]["total"]["value"]:
        hits, others = await _with_unassigned(request)
        found += others
    counts = dict(zip(apart, more, strict=False))
    total_groups = await totals.groups_in(request, counts.get(COUNTS, first))
    listed = GroupPage(groups_of(hits), total_groups=total_groups, **more_of(first))
    return counted(request, listed, found, counts.get(FACETS, first)), len(hits) < request.size


async def group(request: Request) -> Found:
    """Mode ``group``: the best ``window`` hits, fetched ungrouped and grouped on the client."""
    main, apart = parts_of(request, {FACETS: count_groups(request.facets)})
    answers = await request.ask([main, *apart.values()])
    found = [checked(answer) for answer in answers]
    hits = hits_of(found[0])
    documents = totals.documents_in(found[0])
    complete = len(hits) < request.size or (
        documents is not None and documents.exact and documents.value == len(hits)
    )
    listed = GroupPage(group_hits(hits), **more_of(found[0]))
    return counted(request, listed, found, found[-1]), complete


def group_hits(hits: Sequence[Hit]) -> tuple[Group, ...]:
    """Groups in the order of their best hits; a hit without cluster id is a group of its own."""
    groups = by_key((cluster_of(hit) or key_of(hit), hit) for hit in hits)
    return tuple(Group(best, cluster_of(best), other_hits=tuple(others)) for best, *others in groups.values())


def parts_of(request: Request, facets: Mapping[str, Body]) -> tuple[Body, dict[str, Body]]:
    """The search that returns hits, and by name the searches that only count and need no scores.

    A kNN search runs once: there the search for hits carries the aggregations, too.
    """
    if search_bodies.has_vectors(request.body):
        every = {name: spec for part in facets.values() for name, spec in part.items()}
        return search_bodies.with_facets(request.fetched, every), {}
    uncounted = {"track_total_hits": False}
    apart = {
        name: search_bodies.tally(request.body, part) | uncounted for name, part in facets.items() if part
    }
    return search_bodies.with_facets(request.fetched, {}), apart


def counted(request: Request, found: GroupPage, answers: Sequence[Answer], facets: Answer) -> GroupPage:
    """The page with the document total of the first response and the facets of ``facets``."""
    first, problems = answers[0], problems_in(answers)
    documents = totals.documents_in(first) if request.options.document_total else None
    groups = found.total_groups
    if problems:
        documents, groups = totals.as_lower_bound(documents), totals.as_lower_bound(groups)
    answered = facets.get("aggregations", {})
    own = {name: answered[name] for name in request.facets if name in answered}
    return replace(
        found,
        total_documents=documents,
        total_groups=groups,
        facets=read_groups(request.facets, own),
        problems=problems,
        notes=notes_on(request),
        took_ms=sum(int(answer["took"]) for answer in answers),
    )


async def _with_unassigned(request: Request) -> tuple[list[Hit], list[Answer]]:
    """Best matches of clusters together with pages without cluster id, in the order of the request.

    The first request finds the ids of the first ``from + size`` documents of each kind; the second lets the server sort,
    highlight and page these.
    """
    last = request.first + request.size
    keys = search_bodies.keys_only(request.body) | {"from": 0, "size": last}
    named = search_bodies.named_fields(keys, containment=False)
    heads = search_bodies.narrowed(named, search_bodies.ASSIGNED) | {
        "collapse": {"field": search_bodies.CLUSTER_FIELD}
    }
    unassigned = search_bodies.narrowed(keys, search_bodies.UNASSIGNED)
    one, other = await request.ask([heads, unassigned], skip_unmatched=True)
    found = [checked(other)]
    best: list[Hit] = []
    if not lacks_only_unmapped(one):
        found.append(checked(one))
    if "error" not in one:
        best = [hit for hit in hits_of(one) if cluster_of(hit) is not None]
    best += hits_of(other)
    if not best:
        return [], found
    body = search_bodies.narrowed(search_bodies.without_facets(request.fetched), search_bodies.these(best))
    (answer,) = await request.ask([body])
    return hits_of(checked(answer)), [*found, answer]


def notes_on(request: Request) -> tuple[str, ...]:
    """Names of aggregations that count documents, not groups, as a note."""
    names = list(by_document(request.facets))
    return (f"about documents, not groups: {', '.join(names)}",) if names else ()


def problems_in(answers: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Why these responses may lack hits, each reason once."""
    return tuple(dict.fromkeys(problem for answer in answers for problem in problems_of(answer)))


async def expand(request: Request, cluster_id: str) -> Expansion:
    """The pages of a cluster that match the body: the canonical document first, unless the body has a sort."""
    if wrong := [name for name in NOT_EXPANDED if name in request.body]:
        raise SearchRefused(
            f"the pages of a cluster come without {', '.join(wrong)}", "leave that out of the body"
        )
    body = search_bodies.filtered(request.body, {"term": {search_bodies.CLUSTER_FIELD: cluster_id}})
    body = {**search_bodies.CANONICAL_FIRST, "track_total_hits": True, **body}
    (answer,) = await request.ask([body])
    problems = problems_in([checked(answer)])
    total = totals.documents_in(answer, whole=not problems) or Total(0)
    hits = hits_of(answer) if "sort" in request.body else unsorted(hits_of(answer))
    return Expansion(cluster_id, tuple(hits), total, problems)
