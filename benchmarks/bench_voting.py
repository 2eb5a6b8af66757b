"""How do the published methods decide together, by each rule, against each alone and against the decision rules?

The preset ``papers`` on the labelled sets: a pair counts as found when the scan makes it a candidate and the rule accepts it. ``relation``
is the share of pairs whose relation is the reader's, where partial pairs should be different. ``adds`` is what each method alone
would add to the decision rules: related, different and partial pairs that these refuse and it accepts, of those refused.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Final

import numpy as np
from harness import Row, expect, parser_of, report
from labelled import GROUPED, LABELLED, joined, pair_sets, scan
from measured_pairs import LABEL_OF, POSITIVE, measured

from es_dedup import Settings
from es_dedup.decision.comparison import PagePairs, compare, verdicts_by
from es_dedup.decision.thresholds import BALANCED
from es_dedup.decision.voting import outcome
from es_dedup.evaluation import Label
from es_dedup.model import Relation
from es_dedup.settings.decision import DecisionConfig
from es_dedup.settings.presets import PAPERS, VOTES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labelled import PairSet, Scanned
    from measured_pairs import Measured, Score

    from es_dedup.model import Verdict

SETS: Final = (*LABELLED, *GROUPED)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark."""
    parser = parser_of(__doc__)
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    given = parser.parse_args(arguments)
    table: list[Row] = []
    added: list[Row] = []
    for pairs in pair_sets(given.data, given.sets):
        (known,) = measured([pairs])
        rows, said = rows_of(pairs)
        table += [*rows, {"set": pairs.name, "decides": "rules"} | of_rules(known.score(BALANCED))]
        added += [{"set": pairs.name, "method": name, **adds(known, each)} for name, each in said.items()]
    report("The published methods together, by rule", table, given.json)
    report("What the verdict of each would add to the rules", added, None)
    return 0


def adds(known: Measured, said: Sequence[Label]) -> Row:
    """Pairs that the decision rules refuse and a method accepts, by label."""
    decided = known.decided(BALANCED)
    refused, accepted = decided.rule != 0, np.array(said, dtype=object) != Label.DIFF
    kinds = {"related": POSITIVE, "different": (Label.DIFF,), "partial": (Label.PARTIAL,)}
    found = {name: refused & np.isin(known.labels, labels) for name, labels in kinds.items()}
    return {name: f"{int((kind & accepted).sum())} of {int(kind.sum())}" for name, kind in found.items()}


def rows_of(pairs: PairSet) -> tuple[list[Row], dict[str, list[Label]]]:
    """Each rule and each method alone on one set, and what each method alone says of the labelled pairs."""
    settings = Settings(decision=DecisionConfig(preset=PAPERS))
    begun = time.process_time()
    with (scanned := scan(pairs.pages, settings)).dedup:
        spent = time.process_time() - begun
        found = joined(scanned, settings)
        candidates = set(zip(found.left.tolist(), found.right.tolist(), strict=True))
        votes, exact = votes_on(pairs, scanned, settings)
        left, right = (side.tolist() for side in scanned.rows(pairs.labels))
    candidate = [(min(pair), max(pair)) in candidates for pair in zip(left, right, strict=True)]
    voters = settings.decision.voters
    rows: list[Row] = []
    answers: dict[str, list[Label]] = {}
    for name in (*VOTES, *voters):
        said = []
        for at, vote in enumerate(votes):
            given = vote if name in VOTES else (vote[voters.index(name)],)
            verdict = outcome(name, given)
            accepted = Relation.EXACT if exact[at] else verdict.relation if verdict else Relation.DIFFERENT
            said.append(LABEL_OF[accepted] if candidate[at] else Label.DIFF)
        if name in voters:
            answers[name] = said
        rows.append({"set": pairs.name, "decides": name, **figures(list(pairs.labels.values()), said)})
    rows[0]["scan s"] = round(spent, 1)
    return rows, answers


def votes_on(
    pairs: PairSet, scanned: Scanned, settings: Settings
) -> tuple[list[tuple[Verdict | None, ...]], list[bool]]:
    """What each voter says of each labelled pair, and whether its texts are equal."""
    pages, (left, right) = scanned.corpus.pages, scanned.rows(pairs.labels)
    compared = compare(PagePairs(pages, left, pages, right), scanned.statistics, settings)
    every = range(len(left))
    said = [list(verdicts_by(name, compared, every)) for name in settings.decision.voters]
    hashes = pages.table.hashes
    exact = (hashes[left] == hashes[right]) & (hashes[left] != 0)
    return list(zip(*said, strict=True)), exact.tolist()


def figures(labels: Sequence[Label], said: Sequence[Label]) -> Row:
    """Pairs found and accepted of each kind, and relations that are right."""
    expect(len(labels) == len(said), "a pair was lost")
    read, ours = np.array(labels, dtype=object), np.array(said, dtype=object)
    accepted = ours != Label.DIFF
    related, partial = np.isin(read, (Label.DUP, Label.CONTAIN)), read == Label.PARTIAL
    wanted = np.where(partial, Label.DIFF, read)
    return {
        "found": f"{int((accepted & related).sum())} of {int(related.sum())}",
        "recall": round(float(accepted[related].mean()), 3),
        "different accepted": f"{int((accepted & (read == Label.DIFF)).sum())} of {int((read == Label.DIFF).sum())}",
        "partial accepted": f"{int((accepted & partial).sum())} of {int(partial.sum())}",
        "relation": round(float((ours == wanted).mean()), 3),
    }


def of_rules(score: Score) -> Row:
    """The decision rules' figures of the same form."""
    related = sum(count for (label, _), count in score.table.items() if label in (Label.DUP, Label.CONTAIN))
    return {
        "found": f"{round((score.recall or 0.0) * related)} of {related}",
        "recall": round(score.recall or 0.0, 3),
        "different accepted": f"{score.merged} of {score.merged_of}",
        "partial accepted": f"{score.partial} of {score.partial_of}",
        "relation": round(score.relation or 0.0, 3),
    }


if __name__ == "__main__":
    sys.exit(main())
