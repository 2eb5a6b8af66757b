"""What the hook did, counted over a whole call."""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from es_dedup.model import Decision

MOST_DECISIONS: Final = 10_000
_COUNTING: Final = threading.Lock()  # stages of one call count their seconds at once


@dataclass(slots=True)
class HookReport:
    """What one or several calls did.

    Attributes:
        pages: documents that were looked at; one that had to be sent again counts once.
        preset: the preset that decided last, and what is set in place of its values.
        written: documents that the server took, updates included.
        without_text: of these, whole documents whose content field is missing or blank: they are unique.
        pipelines: index to what its ingest pipelines do that makes clusters wrong or hides them, or why they could not be tried.
        left_out: page ids that the policy did not write, with their decisions.
        removed: page ids whose documents were removed: those that policy ``overwrite`` replaced, and older versions of
            documents that policy ``skip`` left out.
        gone: page ids whose documents were not there: deleted past the hook, or not yet written by another process, which then
            decides on them again. The pages were removed, and their clusters repaired.
        outcomes: outcome to number of documents.
        decisions: by page id, of the documents that are not unique, with their evidence; the first 10,000.
        inconclusive: page ids that were written and are to be decided on again, with the reason.
        decided_on_part: pages whose candidates were cut again in a re-check, decided on those that were seen.
        failed: page id to reason, of pages that cannot be processed; their documents are written as
            ``elasticsearch.helpers.bulk`` writes them.
        pairs_compared: pairs of pages.
        truncated: pages whose list of candidates was cut.
        repaired: other documents whose ``dedup`` was written anew.
        not_repaired: page id to reason, of other documents whose ``dedup`` could not be written; ``audit`` finds them.
        seconds: stage to wall seconds: ``features``, ``decide``, ``write``, ``repair``.
    """

    pages: int = 0
    preset: str = ""
    written: int = 0
    without_text: int = 0
    pipelines: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, Decision] = field(default_factory=dict)
    removed: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    outcomes: Counter[str] = field(default_factory=Counter)
    decisions: dict[str, Decision] = field(default_factory=dict)
    inconclusive: dict[str, str] = field(default_factory=dict)
    decided_on_part: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    pairs_compared: int = 0
    truncated: int = 0
    repaired: int = 0
    not_repaired: dict[str, str] = field(default_factory=dict)
    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))

    def count(self, decision: Decision) -> None:
        """Count a decision, and keep it when it says more than that the page is unique."""
        self.outcomes[str(decision.outcome)] += 1
        if decision.outcome != "unique" and len(self.decisions) < MOST_DECISIONS:
            self.decisions[decision.page_id] = decision

    def merge(self, other: HookReport) -> None:
        """Add what another report has counted."""
        for each in fields(self):
            own, more = getattr(self, each.name), getattr(other, each.name)
            if isinstance(own, int):
                setattr(self, each.name, own + more)
            elif isinstance(own, str):
                setattr(self, each.name, more or own)
            elif isinstance(own, list):
                own.extend(more)
            elif each.name == "decisions":
                room = max(0, MOST_DECISIONS - len(own))
                own.update(islice(more.items(), room))
            elif each.name == "seconds":
                for stage, seconds in more.items():
                    own[stage] += seconds
            else:  # a counter adds, a dictionary takes what is new
                own.update(more)

    def withdraw(self, page_id: str, decision: Decision | None) -> None:
        """Take back a document that is sent again, with what was decided on it: it will be counted then."""
        self.pages -= 1
        self.forget(page_id, decision)

    def forget(self, page_id: str, decision: Decision | None) -> None:
        """Take back what was decided on a document that is decided on again."""
        self.inconclusive.pop(page_id, None)
        self.decisions.pop(page_id, None)
        if decision is not None:
            self.outcomes -= Counter([str(decision.outcome)])

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Count the seconds of a block."""
        started = time.perf_counter()
        try:
            yield
        finally:
            with _COUNTING:
                self.seconds[stage] += time.perf_counter() - started

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {
            "pages": self.pages,
            "preset": self.preset,
            "written": self.written,
            "without_text": self.without_text,
            "pipelines": dict(self.pipelines),
            "left_out": {name: each.as_dict() for name, each in self.left_out.items()},
            "removed": list(self.removed),
            "gone": list(self.gone),
            "outcomes": dict(self.outcomes),
            "decisions": {name: each.as_dict() for name, each in self.decisions.items()},
            "inconclusive": dict(self.inconclusive),
            "decided_on_part": self.decided_on_part,
            "failed": dict(self.failed),
            "pairs_compared": self.pairs_compared,
            "truncated": self.truncated,
            "repaired": self.repaired,
            "not_repaired": dict(self.not_repaired),
            "seconds": {name: round(value, 4) for name, value in self.seconds.items()},
        }
