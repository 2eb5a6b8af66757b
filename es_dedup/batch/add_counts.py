"""What a call that adds pages has done so far, and its report."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Final

from es_dedup.decision.term_use import TermUse
from es_dedup.model import AddReport, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from es_dedup.batch.featurise import Chunk
    from es_dedup.decision.candidate_search import CandidateSearchResult
    from es_dedup.index.records import RecordBatch
    from es_dedup.model import Decision

NAMED_SKIPPED: Final = 1_000  # pages without features that a report names


@dataclass(slots=True)
class AddCounts:
    """Counts of one call; those that ``AddReport`` has too are described there.

    Attributes:
        new: pages that were stored, in order; a report counts them without those that the policy does not keep.
        replaced: pages of ``new`` of which an earlier version was stored before the call.
        failed: page id to reason.
        skipped: page id to reason, for pages stored without features.
        unread_times: pages whose time of publication cannot be read.
        decisions: those that are not unique.
        left_out: decisions on pages that the write policy does not keep.
        inconclusive: pages without a related one of which candidates may be missing, with the reason.
        use: terms that methods queried, and terms left out.
    """

    read: int = 0
    unchanged: int = 0
    superseded: int = 0
    repeated: int = 0
    new: dict[str, None] = field(default_factory=dict)
    replaced: set[str] = field(default_factory=set)
    failed: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    unread_times: int = 0
    decisions: dict[str, Decision] = field(default_factory=dict)
    left_out: dict[str, Decision] = field(default_factory=dict)
    inconclusive: dict[str, str] = field(default_factory=dict)
    pairs: int = 0
    capped_terms: int = 0
    truncated: int = 0
    use: TermUse = field(default_factory=TermUse)
    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))

    def add_read(self, chunk: Chunk) -> None:
        """Count what was read."""
        self.read += chunk.read
        self.unread_times += chunk.unread_times
        self.failed.update(chunk.failed)

    def add_stored(self, records: RecordBatch, replaced: Iterable[str]) -> None:
        """Count pages that were stored, some of them in place of others."""
        again = self.new.keys() & replaced
        self.superseded += len(again)
        self.replaced.update(set(replaced) - again)
        self.new.update(dict.fromkeys(records.ids))
        for name, reason in zip(records.ids, records.skipped, strict=True):
            self.skipped.pop(name, None)
            if reason:
                self.skipped[name] = reason

    def add_compared(self, compared: CandidateSearchResult) -> None:
        """Count what was compared."""
        ids = compared.pages.ids
        self.inconclusive |= {ids[row]: reason for row, reason in compared.inconclusive.items()}
        self.pairs += compared.pairs
        self.capped_terms += compared.capped_terms
        self.truncated += compared.truncated
        self.use = sum(compared.use, self.use)

    def add_decided(self, decisions: Mapping[str, Decision], left_out: Mapping[str, Decision]) -> None:
        """Take decisions on pages that are not unique, and on those that the policy does not keep."""
        self.decisions |= decisions
        self.left_out |= left_out
        for name in left_out:
            self.decisions.pop(name, None)

    def report(self, preset: str, notes: Iterable[str] = ()) -> AddReport:
        """All that was counted."""
        stored = len(self.new) - len(self.left_out)
        outcomes = Counter(str(decision.outcome) for decision in self.decisions.values())
        outcomes[str(Outcome.UNIQUE)] += stored - outcomes.total()
        times = (
            f"the time of publication given for {self.unread_times:,} pages cannot be read and is left out"
        )
        return AddReport(
            read=self.read,
            stored=stored,
            unchanged=self.unchanged,
            left_out=len(self.left_out),
            replaced=len(self.replaced - self.left_out.keys()),
            superseded=self.superseded,
            repeated=self.repeated,
            failed=self.failed,
            skipped=dict(Counter(self.skipped.values())),
            outcomes={name: count for name, count in outcomes.items() if count},
            decisions={**self.decisions, **self.left_out},
            pairs=self.pairs,
            capped_terms=self.capped_terms,
            truncated=self.truncated,
            seconds={name: round(value, 4) for name, value in self.seconds.items()},
            skipped_pages=dict(islice(self.skipped.items(), NAMED_SKIPPED)),
            notes=((times,) if self.unread_times else ()) + self.use.notes() + tuple(notes),
            preset=preset,
        )
