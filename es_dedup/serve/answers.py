"""The JSON of answers, as OpenAPI describes it; where it has the fields of a value of the library, that value describes it.

``examples.json`` has an example of each, and of each body, by the name of its class.
"""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - pydantic reads the types of fields
from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel, Field

from es_dedup import model
from es_dedup.maintenance.status import JobStatus
from es_dedup.model import AddReport, PairDecision, Relation
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


class Otherwise(BaseModel):
    """The decision without overrides."""

    relation: Relation
    reason: str


@dataclass(frozen=True)
class Pair(PairDecision):
    """The relation of two pages, seen from the left one, with its evidence; ``shares``: of each page that stands in the other one."""

    shares: tuple[float, float] | None = None
    explanation: tuple[str, str, str] = ("", "", "")
    otherwise: Otherwise | None = None  # type: ignore[assignment]


@dataclass(frozen=True)
class Decision(model.Decision):
    """What a page is against all that is stored."""

    verdicts: tuple[Pair, ...] = ()


@dataclass(frozen=True)
class Report(AddReport):
    """What storing pages did; for NDJSON, ``failed`` also has reasons by line."""

    decisions: Mapping[str, Decision] = field(default_factory=dict)


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


class Overrides(BaseModel):
    """Overrides by time."""

    overrides: list[Override]


class Jobs(BaseModel):
    """Jobs, the newest first."""

    jobs: list[JobStatus]
