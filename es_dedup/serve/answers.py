"""The JSON of answers, as OpenAPI describes it; where it has the fields of a value of the library, that value describes it.

``examples.json`` has an example of each, and of each body, by the name of its class.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from es_dedup.maintenance.status import JobStatus
from es_dedup.model import Number, Outcome, Relation, Verdict
from es_dedup.model.annotations import Label
from es_dedup.model.explanation import RuleOutcome
from es_dedup.model.overrides import Override


class Problem(BaseModel):
    """Why a request was refused or failed (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str = Field(description="what happened and what to do next")
    retryable: bool = Field(description="the same request may succeed later")
    fields: dict[str, object] = Field({}, description="the data of the error")


class Status(BaseModel):
    """The server runs, or the index answers."""

    status: Literal["ok"]


class Condition(BaseModel):
    """One fact of a pair against its threshold."""

    fact: str
    value: Number
    sign: str
    threshold: Number
    holds: bool


class Rule(BaseModel):
    """What a decision rule says of a pair."""

    rule: str
    outcome: RuleOutcome
    applies_if: list[Condition]
    rejects_if: list[list[Condition]] = Field(description="alternatives, all conditions of one must hold")


class Otherwise(BaseModel):
    """The decision without overrides."""

    relation: Relation
    reason: str


class Pair(BaseModel):
    """The relation of two pages, seen from the left one, with its evidence."""

    left: str
    right: str
    relation: Relation
    score: float
    reason: str
    decided_by: str
    evidence: dict[str, Number]
    shares: tuple[float, float] | None = Field(description="of each page that stands in the other one")
    explanation: tuple[str, str, str]
    rules: list[Rule]
    verdicts: list[Verdict]
    skipped: dict[str, str]
    overrides: list[Override]
    otherwise: Otherwise | None


class Decision(BaseModel):
    """What a page is against all that is stored."""

    page_id: str
    cluster_id: str
    duplicate_of: str | None
    outcome: Outcome
    contained_in: list[str]
    contains: list[str]
    notes: list[str]
    verdicts: list[Pair]


class RefusedLine(BaseModel):
    """In NDJSON, the answer to a line that is no page."""

    line: int
    problem: Problem


class Report(BaseModel):
    """What storing pages did; see ``AddReport``."""

    read: int
    stored: int
    unchanged: int
    left_out: int
    replaced: int
    superseded: int
    repeated: int
    failed: dict[str, str] = Field(description="reasons by page id, or by line")
    skipped: dict[str, int]
    outcomes: dict[str, int]
    decisions: dict[str, Decision] = Field(description="by page id, of pages that are not unique")
    pairs: int
    capped_terms: int
    truncated: int
    seconds: dict[str, float]
    skipped_pages: dict[str, str]
    notes: list[str]
    preset: str


class Stored(BaseModel):
    """A stored page."""

    page_id: str
    title: str
    url: str
    site: str
    published: str
    language: str
    skipped: str = Field(description="why it has no features; mostly empty")
    text: str = Field(description="empty where texts are not kept")
    cluster_id: str


class ClusterPage(BaseModel):
    """A page of a cluster."""

    page_id: str
    title: str
    url: str
    published: str
    overrides: list[str]


class ClusterMember(ClusterPage):
    """A page of a cluster beside the canonical document, and its relation to that."""

    relation: Relation
    score: float
    shared_of_canonical: float | None
    shared_of_page: float | None
    evidence: Pair | None = Field(None, description="where it was asked for")


class Cluster(BaseModel):
    """A cluster with its pages."""

    id: str
    size: int
    confidence: float
    canonical: ClusterPage
    members: list[ClusterMember]
    contained_in: list[str]


class Clusters(BaseModel):
    """A part of a list of clusters."""

    clusters: list[Cluster]
    next: str | None = Field(description="`after` of the next request; null at the end")


class LabelRecord(BaseModel):
    """What a reader says of two pages."""

    id_a: str
    id_b: str
    label: Label
    relation: Relation | None = None
    reader: str
    time: str
    removed: str = ""
    override: str = ""


class Labels(BaseModel):
    """Labels by time."""

    labels: list[LabelRecord]


class LabelsRemoved(BaseModel):
    """How many labels were taken back."""

    removed: int


class Overrides(BaseModel):
    """Overrides by time."""

    overrides: list[Override]


class Jobs(BaseModel):
    """Jobs, the newest first."""

    jobs: list[JobStatus]
