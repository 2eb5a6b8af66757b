"""One thing each: a cluster, a page, two pages beside each other."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from es_dedup.model.explanation import percent
from es_dedup.model.overrides import OverrideKind
from es_dedup.model.translations import translate
from es_dedup.views import overrides
from es_dedup.views.canonical import because
from es_dedup.views.compare import MemberComparison, PageView, pair_view, title_of
from es_dedup.views.features import compared_fields, feature_rows
from es_dedup.views.frame import anchor, framed, path, time_of
from es_dedup.views.markup import element, escape, relation_tag, table
from es_dedup.views.templates import render, short, when

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from es_dedup.deduplicator.index_reader import IndexReader
    from es_dedup.index.records import FeatureRecord
    from es_dedup.model import Cluster, Member

MEMBERS: Final = 200
"""Members of a cluster that are listed at a time."""
CANDIDATES: Final = 20
"""Candidates of a page that are decided and shown."""
CHARS: Final = 100_000
"""Characters of a text that are shown."""


def cluster(reader: IndexReader, language: str, name: str, offset: int) -> bytes:
    """The canonical document and the other pages by date, ``MEMBERS`` at a time.

    Raises:
        UnknownPage: neither a page nor a cluster of that id is stored.
    """
    pages = reader.pages_of_cluster(name)
    records = reader.records_of(pages)
    dated = dict(islice(_by_date(pages[:1], records), offset, offset + MEMBERS))
    found = reader.cluster(name, evidence_of=dated)
    record = reader.record(found.canonical)
    heads = [
        translate(language, head)
        for head in (
            "Published",
            "Page",
            "Site",
            "Relation",
            "Shared of the canonical document",
            "Shared of this page",
            "",
        )
    ]
    members = {each.page_id: each for each in found.members if each.page_id in dated}
    canonical = (
        time_of(record.published),
        anchor(short(title_of(record)), path("pages", found.canonical)),
        escape(record.site),
        relation_tag("canonical", language),
        "",
        "",
        "",
    )
    listed = (_member(language, found, members[each], dated[each]) for each in dated if each in members)
    rows = [canonical, *listed]
    size = element("p", f"{found.size:,} {escape(translate(language, 'pages'))}", class_="note")
    decided = overrides.of_pages(
        reader, language, (found.canonical, *(each.page_id for each in found.members))
    )
    reason = because(reader, language, found, records)
    body = size + reason + _inside(language, found) + table(heads, rows, class_="rows") + decided
    if offset + MEMBERS < len(found.members):
        address = path("clusters", name, offset=offset + MEMBERS)
        body += element("p", anchor(translate(language, "Next"), address, rel="next"))
    return framed(short(title_of(record)), body, language)


def pair(reader: IndexReader, language: str, writes: bool, left: str, right: str) -> bytes:  # noqa: FBT001 - sent to a process by position
    """Two pages with all evidence and their texts aligned; with ``writes`` they can be decided the same or different.

    Raises:
        UnknownPage: an id that is not stored.
    """
    kinds = (OverrideKind.DIFFERENT, OverrideKind.SAME) if writes and left != right else ()
    decided = overrides.form(language, (left, right), kinds) + overrides.of_pages(
        reader, language, (left, right)
    )
    return framed(
        translate(language, "Two pages compared"),
        decided + side_by_side(reader, language, left, right),
        language,
    )


def side_by_side(reader: IndexReader, language: str, left: str, right: str, *, blind: bool = False) -> str:
    """The texts of two pages aligned, all evidence on them, and links to both; ``blind`` as for ``comparison``.

    Raises:
        UnknownPage: an id that is not stored.
    """
    ours, theirs = (PageView(reader.record(name), reader.text(name)) for name in (left, right))
    compared = MemberComparison(
        theirs,
        reader.explain(left, right),
        reader.aligned(left, right),
        compared_fields(reader.features(left), reader.features(right)),
    )
    links = element(
        "p",
        *(
            anchor(short(title_of(view.record)), path("pages", view.record.page_id)) + " "
            for view in (ours, theirs)
        ),
        class_="note",
    )
    shown = render(
        "pair",
        language,
        pair=pair_view(ours, compared, CHARS, language),
        roles=("canonical", "member"),
        blind=blind,
        heading="h2",
    )
    return element("div", shown, class_="sole") + render("legend", language) + links


def page(reader: IndexReader, language: str, writes: bool, page_id: str) -> bytes:  # noqa: FBT001
    """A page: its text and features, and what was decided of its candidates; with ``writes`` it can be made canonical.

    Raises:
        UnknownPage: it is not stored.
    """
    record, text, found = reader.record(page_id), reader.text(page_id), reader.cluster(page_id)
    facts = " · ".join(filter(None, (record.site, when(record.published), f"{len(text):,}")))
    where = anchor(f"{translate(language, 'Cluster')} ({found.size:,})", path("clusters", found.id))
    top = element("p", element("code", escape(page_id)), " ", escape(facts), " · ", where, class_="note")
    content = escape(text[:CHARS] if text else translate(language, "The text is not kept."))
    known = record.language if record.language != "und" else None
    box = element("div", content, class_="text", lang=known, tabindex="0", role="region", aria_label="text")
    rows = (
        (escape(name), escape(value))
        for name, value in feature_rows(reader.features(page_id), language=language)
    )
    heads = translate(language, "Feature"), translate(language, "Value")
    features = element(
        "details", element("summary", escape(translate(language, "Features"))), table(heads, rows)
    )
    kinds = (OverrideKind.CANONICAL,) if writes else ()
    decided = overrides.form(language, (page_id,), kinds) + overrides.of_pages(reader, language, (page_id,))
    shown = element("div", box, class_="sole")
    body = top + decided + shown + _candidates(reader, language, page_id) + features
    return framed(short(title_of(record)), body, language)


def _candidates(reader: IndexReader, language: str, page_id: str) -> str:
    note = translate(language, "Pages that share search terms with this one, and what was decided of each.")
    head = element("h2", escape(translate(language, "Candidates"))) + element(
        "p", escape(note), class_="note"
    )
    rows = []
    for name in reader.candidates(page_id)[:CANDIDATES]:
        decision = reader.explain(page_id, name)
        rows.append(
            (
                anchor(short(title_of(reader.record(name))), path("compare", left=page_id, right=name)),
                relation_tag(str(decision.relation), language),
                escape(decision.explained(language)[2 if decision.overrides else 0]),
            )
        )
    if not rows:
        return head + element(
            "p", escape(translate(language, "No other page shares enough search terms.")), class_="note"
        )
    heads = [translate(language, each) for each in ("Page", "Relation", "Decision")]
    return head + table(heads, rows, class_="rows")


def _by_date(
    canonical: Sequence[str], records: Mapping[str, FeatureRecord]
) -> list[tuple[str, FeatureRecord]]:
    """Members, the first published first and those without a date last."""
    members = ((name, record) for name, record in records.items() if name not in canonical)
    return sorted(members, key=lambda each: (not each[1].published, each[1].published, each[0]))


def _member(language: str, found: Cluster, member: Member, record: FeatureRecord) -> tuple[str, ...]:
    compare = path("compare", left=found.canonical, right=member.page_id)
    shares = tuple(map(percent, member.shares)) if member.shares else ("", f"{member.score:.2f}")
    return (
        time_of(record.published),
        anchor(short(title_of(record)), path("pages", member.page_id)),
        escape(record.site),
        relation_tag(str(member.relation), language),
        *shares,
        anchor(translate(language, "Compare"), compare),
    )


def _inside(language: str, found: Cluster) -> str:
    if not found.contained_in:
        return ""
    links = (anchor(name, path("clusters", name)) for name in found.contained_in)
    return element("p", escape(translate(language, "Stands inside")), ": ", ", ".join(links), class_="note")
