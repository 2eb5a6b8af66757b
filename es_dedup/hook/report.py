"""What the hook did, counted over a whole call."""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from es_dedup.model.plain import plain_fields

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
        return plain_fields(self)
