"""The values that flow from step to step: page, content, features, candidate, verdict, decision, cluster.

Everything here is immutable, holds no behaviour beyond small derived properties, and imports nothing of the project but the modules of this package.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping  # noqa: TC003 - pydantic reads the types of fields
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from operator import attrgetter
from typing import Any, Final, TypeAlias

from es_dedup.model.explanation import RuleResult, WithExplanation
from es_dedup.model.overrides import Override, OverrideKind
from es_dedup.model.plain import plain, plain_fields
from es_dedup.model.shares import WithShares, turned

Number: TypeAlias = float | int | str | bool | None
"""A value that evidence may hold."""


class Relation(StrEnum):
    """How the left page of a pair stands to the right one."""

    EXACT = "exact"
    DUPLICATE = "duplicate"
    CONTAINS = "contains"
    CONTAINED = "contained"
    DIFFERENT = "different"

    @property
    def reversed(self) -> Relation:
        """The same relation seen from the right page."""
        return _REVERSED.get(self, self)

    @property
    def same(self) -> bool:
        """True for ``exact`` and ``duplicate``: the two pages may share a cluster."""
        return self in (Relation.EXACT, Relation.DUPLICATE)


_REVERSED = {Relation.CONTAINS: Relation.CONTAINED, Relation.CONTAINED: Relation.CONTAINS}


class Outcome(StrEnum):
    """Outcome of one page against all that is stored."""

    UNIQUE = "unique"
    DUPLICATE = "duplicate"
    CONTAINED = "contained"
    CONTAINS = "contains"
    INCONCLUSIVE = "inconclusive"


class WritePolicy(StrEnum):
    """What is done with a page that is a duplicate of, or contained in, a stored page.

    ``mark`` stores it with its relation; ``skip`` does not store it, and removes an older version of it; ``overwrite``
    stores it and removes the page it duplicates; ``fail`` raises ``DuplicatePage``. Pages count in the order given.
    """

    MARK = "mark"
    SKIP = "skip"
    OVERWRITE = "overwrite"
    FAIL = "fail"

    @classmethod
    def _missing_(cls, value: object) -> WritePolicy:
        raise ValueError(f"policy must be one of {', '.join(cls)}, not {value!r}")


_KINDS: Final[dict[str, tuple[type, ...]]] = {"html": (bytes, str), "published": (str, datetime)}
_TEXT_OR_NONE: Final = frozenset((str, type(None)))
_VALUES: Final = attrgetter("html", "text", "url", "title", "published", "site", "http_charset")


MAX_ID_BYTES: Final = 512
"""Of a page id in UTF-8: no ``_id`` of Elasticsearch is longer."""
_DIGEST_MARK: Final = "~sha256:"
_KEPT_BYTES: Final = 400


def fitted_id(name: str) -> str:
    """The page id of an address, a path or a key: the name itself, or its beginning with its digest where it is longer than ids may be."""
    data = name.encode(errors="surrogatepass")
    if len(data) <= MAX_ID_BYTES:
        return name
    return f"{data[:_KEPT_BYTES].decode(errors='ignore')}{_DIGEST_MARK}{hashlib.sha256(data).hexdigest()}"


def id_problem(page_id: str) -> str | None:
    """Why a page id cannot be used; None where it can."""
    if not page_id:
        return "the page id is empty"
    try:
        size = len(page_id.encode())
    except UnicodeEncodeError:  # half of a surrogate pair
        return "the page id holds characters that are no text"
    if size > MAX_ID_BYTES:
        return f"the page id has {size:,} bytes in UTF-8, at most {MAX_ID_BYTES} are possible; fitted_id makes a shorter one"
    return "the page id holds characters that are no text" if "\0" in page_id else None


@dataclass(frozen=True, slots=True)
class Page:
    """A page as the caller holds it: an id and either raw HTML or plain text.

    Attributes:
        id: the caller's key, 1-512 bytes in UTF-8, unique in an index; adding it again replaces the page.
        html: bytes as served, or decoded HTML. Ignored when ``text`` has more than white space.
        text: main text, when the caller has extracted it already; skips extraction. Of a text that is HTML itself, the visible text is
            taken, and of a whole page the main text.
        url: where the page was found; gives the site and resolves a relative canonical URL.
        title: overrides the extracted title.
        published: ISO 8601 text or a datetime; overrides the extracted time.
        site: the mark that pages of one site share; taken from the URL's host when absent.
        http_charset: charset of the HTTP header, if known. A value of another type is a ``TypeError``.
    """

    id: str
    html: bytes | str | None = None
    text: str | None = None
    url: str | None = None
    title: str | None = None
    published: str | datetime | None = None
    site: str | None = None
    http_charset: str | None = None

    def __post_init__(self) -> None:
        """Refuse values of other types."""
        if type(self.id) is str and _TEXT_OR_NONE.issuperset(map(type, _VALUES(self))):
            return  # nearly all pages, in a quarter of the time
        for name in self.__slots__:
            value, kinds = getattr(self, name), _KINDS.get(name, (str,))
            if not isinstance(value, kinds) and (value is not None or name == "id"):
                wanted = " or ".join(kind.__name__ for kind in kinds)
                raise TypeError(f"{name} of a Page must be {wanted}, not {type(value).__name__}")

    @property
    def is_empty(self) -> bool:
        """Whether nothing but white space is given."""
        return not ((self.text and self.text.strip()) or (self.html and self.html.strip()))

    @property
    def has_text(self) -> bool:
        """Whether the text is taken as it is: it is given, and not blank beside HTML."""
        return self.text is not None and (self.html is None or bool(self.text and not self.text.isspace()))


class PageKind(StrEnum):
    """What a page is, by its structure."""

    ARTICLE = "article"
    THREAD = "thread"
    LIST = "list"
    MEDIA = "media"
    EMPTY = "empty"


@dataclass(frozen=True, slots=True)
class Content:
    """What is read out of a page: the input of every detector.

    Attributes:
        text: main text with paragraph breaks as newlines; may be empty.
        title: without the site's name; may be empty.
        language: ``zh``, ``en`` or ``und`` (anything else, or too little text).
        url: canonical URL when the page names one, else the URL given.
        site: host of the URL without ``www.``; empty when unknown.
        published: time of publication; naive when the page names no zone.
        charset: the charset the bytes were decoded with; None for text input.
        notes: limits that were hit, oddities met, and doubts whether the text is the main text, in plain words.
        kind: what the page is, by its structure; ``article`` for text that was given.
    """

    text: str
    title: str = ""
    language: str = "und"
    url: str | None = None
    site: str = ""
    published: datetime | None = None
    charset: str | None = None
    notes: tuple[str, ...] = ()
    kind: PageKind = PageKind.ARTICLE


@dataclass(frozen=True, slots=True)
class Skipped:
    """Why a page has no features or no content; ``reason`` is short, stable and countable."""

    reason: str
    detail: str = ""


NO_WORDS: Final = "no-words"
EMPTY: Final = "empty"
NO_MAIN_TEXT: Final = "no-main-text"
READ_WITHOUT_FEATURES: Final = frozenset((NO_WORDS, EMPTY, NO_MAIN_TEXT))
"""Reasons of pages that were read, but hold nothing to compare: no word (only exact copies match), nothing at all, or only notices."""


@dataclass(frozen=True, slots=True)
class TermGroup:
    """Terms of which ``min_shared`` are enough to match the candidate query; each counts as one part in so many.

    Attributes:
        terms: distinct.
        min_shared: at least 1.
        common_df: a term found in more pages than this counts half as much; None: all count alike.
        max_df: a term found in more pages than this is left out; None: ``CandidateQuery.max_df`` holds.
        method: name of the method; for reports.
    """

    terms: tuple[int, ...]
    min_shared: int = 1
    common_df: int | None = None
    max_df: int | None = None
    method: str = ""


@dataclass(frozen=True, slots=True)
class Scope:
    """Limits a list of clusters to those with a page inside; each field None means: no limit.

    Bounds are inclusive and times are compared as text. An upper bound of less precision covers all that begins with it
    (``2024-05`` all of May). A page without time lies outside any bound on time.
    """

    site: str | None = None
    published_from: str | None = None
    published_to: str | None = None


@dataclass(frozen=True, slots=True)
class CandidateQuery:
    """The one question an index answers: which pages share enough terms?

    Attributes:
        groups: what is enough; what a page has of several groups adds up.
        limit: most candidates to return, at least 1.
        max_df: a term found in more pages than this, or than its group allows, is left out, and named as capped.
        exclude: a page id that is never returned (the query page).
        labels: text of terms that an index may store as text, such as the characters of a period signature.
    """

    groups: tuple[TermGroup, ...]
    limit: int = 50
    max_df: int = 1000
    exclude: str | None = None
    labels: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CandidateResult:
    """Candidates: stored pages that may be related.

    Attributes:
        candidates: page ids, those that have most of the query first, then ascending; at most ``CandidateQuery.limit``.
        truncated: more pages matched the query than were returned.
        capped: query terms left out because they have too many postings.
    """

    candidates: tuple[str, ...]
    truncated: bool = False
    capped: frozenset[int] = frozenset()

    @property
    def capped_terms(self) -> int:
        """How many query terms were left out."""
        return len(self.capped)


@dataclass(frozen=True, slots=True)
class Verdict(WithShares):
    """One detector's verdict on one pair.

    Attributes:
        relation: seen from the left page.
        score: the detector's own main measure, in [0, 1]; comparable within one detector only.
        evidence: the detector's measures by name, and their thresholds (``min_…``, ``max_…``).
    """

    detector: str
    relation: Relation
    score: float
    evidence: Mapping[str, Number]


@dataclass(frozen=True, slots=True)
class PairDecision(WithExplanation):
    """The relation of two pages, named by their ids, from all evidence.

    Attributes:
        relation: seen from the left page.
        score: agreement in [0, 1].
        reason: the rule that decided, in one phrase.
        evidence: the measures it rests on, with their thresholds and with what was discounted.
        verdicts: each detector's own verdict.
        decided_by: ``rules``, the method that decides in its place, a rule with the methods (``any: ccdet, simhash``), or ``overrides``.
        rules: what each rule says, in order; empty where the pair was not explained, or methods decide.
        skipped: methods that give no verdict because a page has too little for them, with the reason; of an explained pair.
        overrides: decisions of people that hold for the pair: one that names both pages, or a chain from the left page to the right one.
        otherwise: the decision without these.
        clusters: canonical documents of the clusters that the pages are in; of an explained pair of stored pages.
    """

    left: str
    right: str
    relation: Relation
    score: float
    reason: str
    evidence: Mapping[str, Number]
    verdicts: tuple[Verdict, ...] = ()
    decided_by: str = "rules"
    rules: tuple[RuleResult, ...] = ()
    skipped: Mapping[str, str] = field(default_factory=dict)
    overrides: tuple[Override, ...] = ()
    otherwise: PairDecision | None = None
    clusters: tuple[str, ...] = ()

    @property
    def all_verdicts(self) -> tuple[Verdict, ...]:
        """The decision rules', where it decided or would without overrides, then each detector's."""
        if self.otherwise is not None:
            return self.otherwise.all_verdicts
        if self.decided_by != "rules":
            return self.verdicts
        return (Verdict("rules", self.relation, self.score, self.evidence), *self.verdicts)

    @property
    def reversed(self) -> PairDecision:
        """The same decision seen from the right page (detectors' verdicts are left as they are)."""
        found = replace(self, left=self.right, right=self.left, relation=self.relation.reversed)
        otherwise = self.otherwise and self.otherwise.reversed
        found = replace(found, evidence=turned(self.evidence), overrides=self.overrides[::-1])
        return replace(found, otherwise=otherwise, clusters=self.clusters[::-1])

    def overridden(self, overrides: tuple[Override, ...]) -> PairDecision:
        """The same pair as people have decided on it; itself without overrides.

        Pages decided different are no duplicates, but one may contain the other.
        """
        if not overrides:
            return self
        relation = self.relation
        if any(each.kind is OverrideKind.DIFFERENT for each in overrides):
            relation = Relation.DIFFERENT if relation.same else relation
        elif not relation.same:
            relation = Relation.DUPLICATE
        decided = replace(self, relation=relation, reason="; ".join(each.words for each in overrides))
        return replace(decided, decided_by="overrides", overrides=overrides, otherwise=self)

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        other = self.otherwise and {"relation": self.otherwise.relation, "reason": self.otherwise.reason}
        further = {"shares": self.shares, "explanation": self.explanation, "otherwise": other}
        return {**plain_fields(self), **plain(further)}


@dataclass(frozen=True, slots=True)
class Edge:
    """A verified relation between two stored pages, kept for clustering and repair; ``left`` < ``right``."""

    left: str
    right: str
    relation: Relation
    score: float


@dataclass(frozen=True, slots=True)
class Member(WithShares):
    """A page in a cluster, with its relation to the canonical document (``exact`` or ``duplicate``)."""

    page_id: str
    relation: Relation
    score: float
    evidence: Mapping[str, Number] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Cluster:
    """Pages that each match one canonical document directly.

    Attributes:
        id: stable id; the canonical document's page id at birth.
        canonical: page id of the canonical document.
        members: the other pages, by page id.
        contained_in: ids of clusters whose canonical document contains this one's (pointers, not membership).
    """

    id: str
    canonical: str
    members: tuple[Member, ...] = ()
    contained_in: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Number of pages, the canonical document included; at least 1."""
        return 1 + len(self.members)


@dataclass(frozen=True, slots=True)
class Decision:
    """Decision on one page.

    Attributes:
        page_id: the page.
        outcome: the strongest relation found.
        cluster_id: the cluster the page is in, or would join; its own id when unique.
        duplicate_of: page id of the canonical document it duplicates, or None. A page that has itself become the
            canonical document of pages stored before it names the one of them it matches best.
        contained_in, contains: related pages that are not duplicates.
        verdicts: the decided pairs, strongest first, seen from this page.
        notes: why a decision is inconclusive, what was skipped or capped, in plain words.
    """

    page_id: str
    outcome: Outcome
    cluster_id: str
    duplicate_of: str | None = None
    contained_in: tuple[str, ...] = ()
    contains: tuple[str, ...] = ()
    verdicts: tuple[PairDecision, ...] = ()
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return plain_fields(self)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a long call is.

    Attributes:
        stage: ``read``, ``features``, ``join``, ``verify``, ``cluster`` or ``write``.
        done: pages (or pairs, in ``verify``) finished in this stage.
        total: how many there will be, None while unknown.
    """

    stage: str
    done: int
    total: int | None = None


@dataclass(frozen=True, slots=True)
class AddReport:
    """What ``add_many`` and ``scan`` did.

    Attributes:
        read: pages taken from the input.
        stored: pages written, new or replaced.
        replaced: of the stored pages those whose id was stored before with other content or metadata.
        superseded: pages given before another page of their id in this call, which is the one that is stored.
        repeated: pages given again in this call with the same id and content; they are stored once.
        unchanged: pages that were stored already with the same content.
        left_out: pages not stored because of the write policy.
        failed: page id (or place in the input) to reason, for pages that could not be processed.
        skipped: reason to count, for pages stored without features (empty, too short …): they match nothing.
        outcomes: outcome to count, over the stored pages.
        decisions: for each page of this call that is not unique, its decision, by page id; without detectors' verdicts
            (``explain`` gives them).
        pairs: pairs compared exactly.
        capped_terms: query terms left out because they have too many postings.
        truncated: pages whose candidate list was cut.
        seconds: stage to wall seconds.
        skipped_pages: page id to reason, of the pages counted in ``skipped`` the first 1,000.
        notes: what else was met, in plain words.
        preset: the preset that decided, and what is set in place of its values.
    """

    read: int
    stored: int
    unchanged: int = 0
    left_out: int = 0
    replaced: int = 0
    superseded: int = 0
    repeated: int = 0
    failed: Mapping[str, str] = field(default_factory=dict)
    skipped: Mapping[str, int] = field(default_factory=dict)
    outcomes: Mapping[str, int] = field(default_factory=dict)
    decisions: Mapping[str, Decision] = field(default_factory=dict)
    pairs: int = 0
    capped_terms: int = 0
    truncated: int = 0
    seconds: Mapping[str, float] = field(default_factory=dict)
    skipped_pages: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    preset: str = ""


@dataclass(frozen=True, slots=True)
class RemoveReport:
    """What ``remove`` did: pages removed, ids that were unknown, clusters whose members changed."""

    removed: int
    unknown: tuple[str, ...] = ()
    repaired_clusters: int = 0


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One hit of a full-text search; ``similar_count`` counts the other pages of its cluster."""

    page_id: str
    score: float
    title: str
    url: str
    cluster_id: str
    similar_count: int


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Hits, one per cluster when collapsed, with the exact total of documents.

    ``total_groups`` is exact, too, or None where so many documents match that they were not all read. ``not_indexed`` counts stored texts that are still to be added to the full-text index, and that no search finds yet.
    """

    hits: tuple[SearchHit, ...]
    total_groups: int | None
    total_documents: int
    not_indexed: int = 0
