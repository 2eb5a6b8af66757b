"""``ReportData`` → one self-contained HTML page."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final

from es_dedup.model.explanation import format_number
from es_dedup.model.translations import ENGLISH
from es_dedup.views.charts import bar_chart, score_bars, size_bars
from es_dedup.views.compare import pair_view, title_of
from es_dedup.views.evidence import share_spans, shares_in_words
from es_dedup.views.markup import element, escape, link, relation_tag, table
from es_dedup.views.report_data import ReportLimits, gather
from es_dedup.views.shell import document
from es_dedup.views.target import open_target
from es_dedup.views.templates import render

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from es_dedup.deduplicator.index_reader import IndexReader
    from es_dedup.index.records import FeatureRecord
    from es_dedup.model import Cluster, Member
    from es_dedup.views.report_data import ClusterView, ReportData

_RELATION_WORDS: Final = {"exact": "exact copies", "duplicate": "near-duplicates"}
_MEANINGS: Final = {
    "pages": "All stored pages, with and without duplicates",
    "clusters": "Groups of pages that are exact copies or near-duplicates of one canonical document",
    "duplicates": "Pages of clusters without their canonical documents: what could be dropped",
    "contained": "Canonical documents whose text is, for the most part, in a longer page of another cluster",
    "left out": "Parts of the input that gave no page",
    "pairs compared": "Pairs of candidate pages whose features were compared",
}
"""Tooltips of the figures at the top."""
_SIZE: Final = "Pages of the cluster, with its canonical document"
_SHARES: Final = (
    "Shares of the canonical document's text that the other pages have: the least and the most",
    "Shares of the other pages' texts that the canonical document has: the least and the most",
)
_COVERAGE: Final = "How much of the text of each of the two pages stands in the other"
_SCORE: Final = "Agreement of the two pages, from 0 to 1; how much they share was not measured"
_LISTED_MEMBERS: Final = 100
_ROWS_AT_ONCE: Final = 15


def render_report(data: ReportData, *, title: str, generated: datetime) -> str:
    """The whole page as text.

    Args:
        data: what to show.
        title: heading, for instance the name of the scanned folder.
        generated: time shown at the foot.
    """
    body = "".join(
        (
            element("header", element("p", "es-dedup report", class_="kicker"), element("h1", escape(title))),
            _totals(data),
            _charts(data),
            _search(data),
            _largest(data),
            _details(data),
            _foot(data, generated),
        )
    )
    return document(title, body, script="report.js" if data.listed or data.detailed else None)


def _totals(data: ReportData) -> str:
    totals, pages = data.totals, data.stats.get("pages")
    share = f"{totals.duplicates / pages:.1%} of all pages" if isinstance(pages, int) and pages else ""
    tiles = [
        ("pages", pages if isinstance(pages, int) else 0, "in the index"),
        ("clusters", totals.clusters, "of two pages or more"),
        ("duplicates", totals.duplicates, share),
        ("contained", totals.contained, "stand inside a longer page"),
    ]
    tiles += [
        (name, value, "in this run") for name, value in data.run.items() if isinstance(value, int) and value
    ]
    drawn = (
        element(
            "div",
            element("b", f"{value:,}"),
            element("span", escape(name)),
            element("small", escape(note)),
            title=_MEANINGS.get(name, name),
        )
        for name, value, note in tiles
    )
    return element("section", *drawn, class_="tiles")


def _charts(data: ReportData) -> str:
    if not data.totals.clusters:
        return element("p", "No two pages of this index are duplicates of each other.", class_="empty")
    kinds = ", ".join(
        f"{count:,} {_RELATION_WORDS.get(name, name)}"
        for name, count in sorted(data.totals.relations.items())
    )
    return element(
        "section",
        bar_chart("Clusters by number of pages", "clusters", size_bars(data.totals.sizes)),
        bar_chart(
            "Members by how much of the less covered page is shared with the canonical document",
            "members",
            score_bars(data.totals.scores),
        ),
        element("p", escape(kinds), class_="note wide"),
        class_="charts",
    )


def _search(data: ReportData) -> str:
    """The search field; it appears only where its script runs."""
    if not (data.listed or data.detailed):
        return ""
    hint = "Search the clusters below: title, site, URL or id"
    field = element("input", type="search", placeholder=hint, aria_label=hint)
    return element("p", field, element("output"), class_="search", hidden="")


def _searched(*texts: str) -> str:
    """What the search finds a page by, as ``search.js`` reads it from ``data-page``."""
    return "\n".join(filter(None, texts))


def _largest(data: ReportData) -> str:
    if not data.listed:
        return ""
    detailed = {view.cluster.id: place for place, view in enumerate(data.detailed, 1)}
    rows = [_row(cluster, record, detailed.get(cluster.id)) for cluster, record in data.listed]
    rest = data.totals.clusters - len(data.listed)
    note = element("p", f"{rest:,} smaller clusters are not listed.", class_="note") if rest > 0 else ""
    heads = ("Pages", "Canonical document", "Site", "Published", "Shared of it", "Shared of the others")
    first, further = rows[:_ROWS_AT_ONCE], rows[_ROWS_AT_ONCE:]
    unfolded = element("summary", f"Show {len(further):,} more"), table(heads, further, class_="largest")
    return element(
        "section",
        element("h2", "Largest clusters"),
        table(heads, first, class_="largest"),
        element("details", *unfolded, class_="more") if further else "",
        note,
    )


def _row(cluster: Cluster, record: FeatureRecord, place: int | None) -> tuple[str, ...]:
    known = {"data_page": _searched(record.title, record.site, record.url, record.page_id)}
    target = {"href": f"#c{place}"} if place else {}
    shares = zip(share_spans(cluster), _SHARES, strict=True)
    return (
        element("b", f"{cluster.size:,}", title=_SIZE),
        element("a" if place else "span", escape(title_of(record)), **target, **known),
        escape(record.site),
        escape(record.published[:10]),
        *(element("span", escape(span), title=meaning) if span else "" for span, meaning in shares),
    )


def _details(data: ReportData) -> str:
    if not data.detailed:
        return ""
    views = (_cluster(view, place, data.limits.chars) for place, view in enumerate(data.detailed, 1))
    rest = data.totals.clusters - len(data.detailed)
    note = (
        element("p", f"The other {rest:,} clusters are not written out.", class_="note") if rest > 0 else ""
    )
    return element("section", element("h2", "Clusters in detail"), render("legend", ENGLISH), *views, note)


def _cluster(view: ClusterView, place: int, chars: int) -> str:
    cluster, record = view.cluster, view.canonical.record
    summary = element(
        "summary",
        element("span", f"{cluster.size}", class_="size", title=_SIZE),
        element("span", escape(title_of(record)), class_="name"),
        element("span", escape(record.site), class_="site"),
    )
    listed = [_member(member, view.names.get(member.page_id, ()), record.title) for member in cluster.members]
    first, hidden = listed[:_LISTED_MEMBERS], listed[_LISTED_MEMBERS:]
    unfolded = element("summary", f"Show {len(hidden):,} more"), element("ul", *hidden, class_="members")
    pointers = (
        element("p", "Stands inside: ", escape(", ".join(cluster.contained_in)), class_="note")
        if cluster.contained_in
        else ""
    )
    compared = (
        render(
            "pair",
            ENGLISH,
            pair=pair_view(view.canonical, each, chars),
            roles=("canonical", "member"),
            blind=False,
            heading="h3",
        )
        for each in view.comparisons
    )
    left = cluster.size - 1 - len(view.comparisons)
    note = element("p", f"{left:,} further members are not compared here.", class_="note") if left > 0 else ""
    members = element("ul", *first, class_="members")
    members += element("details", *unfolded, class_="more") if hidden else ""
    known = {"id": f"c{place}", "data_page": _searched(record.title, record.site, record.url, record.page_id)}
    opened = {"open": ""} if place == 1 else {}
    return element(
        "details", summary, pointers, members, *compared, note, class_="cluster", **known, **opened
    )


def _member(member: Member, known: tuple[str, str, str] | tuple[()], canonical_title: str) -> str:
    """A member with its title, if this is not that of the canonical document, and how much both share."""
    title, site, url = known or ("", "", "")
    shared = shares_in_words(member.shares, "the canonical document", "this page", member.score)
    return element(
        "li",
        relation_tag(str(member.relation)),
        " ",
        element("code", escape(member.page_id)),
        f" {link(url, title)}" if title != canonical_title else "",
        " ",
        element("span", escape(shared), title=_SCORE if member.shares is None else _COVERAGE),
        data_page=_searched(title, site, url, member.page_id),
    )


def _foot(data: ReportData, generated: datetime) -> str:
    facts = {name: value for name, value in data.stats.items() if isinstance(value, (int, float, str))}
    rows = ((escape(name), escape(format_number(value))) for name, value in facts.items())
    index = element("details", element("summary", "About this index"), table(("Fact", "Value"), rows))
    return element("footer", index, element("p", f"Written {generated:%Y-%m-%d %H:%M}", class_="note"))


def write_report(
    source: IndexReader,
    path: Path,
    *,
    title: str,
    limits: ReportLimits | None = None,
    run: Mapping[str, object] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Write the report of an index to ``path``, replacing what is there only when it is complete.

    Args:
        source: an open ``Deduplicator``.
        path: the HTML file.
        title: heading of the page.
        limits: how much is written out.
        run: counts of the scan that the index does not hold, by name; shown as totals when above 0.
        progress: called with clusters done and to do.

    Raises:
        OSError: the file cannot be written.
    """
    page = report_page(source, title=title, limits=limits, run=run, progress=progress)
    with open_target(path) as stream:
        stream.write(page)


def report_page(
    source: IndexReader,
    *,
    title: str,
    limits: ReportLimits | None = None,
    run: Mapping[str, object] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> bytes:
    """The report of an index; see ``write_report``."""
    data = gather(source, limits or ReportLimits(), run=run, progress=progress)
    return render_report(data, title=title, generated=datetime.now().astimezone()).encode()
