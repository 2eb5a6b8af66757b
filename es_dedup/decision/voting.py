"""The verdicts of several methods on a pair as one, by a rule that the settings name.

A method that skipped one of the pages has no vote.

- ``any``: one method that accepts is enough;
- ``majority``: more than half of the methods that have a vote accept;
- ``all``: every method that has a vote accepts;
- ``ordered``: the first method, in the order of ``decision.voters``, that has a vote decides alone.

An accepted pair has the relation and the score of the first method that accepts, in the order of ``decision.voters``; of the published
methods only CCDet tells containment from duplication.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from es_dedup.decision.rules import BY_RULES
from es_dedup.model import Relation, Verdict
from es_dedup.settings.presets import VOTES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_dedup.settings import Settings


def voters_of(settings: Settings) -> tuple[str, ...]:
    """The methods that decide in place of the decision rules, in order; none when the decision rules decide."""
    decision = settings.decision
    if decision.method == BY_RULES:
        return ()
    if decision.method in VOTES:
        return decision.voters or settings.detectors
    return (decision.method,)


def decided_by(settings: Settings) -> str:
    """What decides, in words: ``rules``, ``ccdet``, or ``majority: ccdet, simhash, dwdcs``."""
    method = settings.decision.method
    return f"{method}: {', '.join(voters_of(settings))}" if method in VOTES else method


def outcome(rule: str, votes: Sequence[Verdict | None]) -> Verdict | None:
    """The verdict that decides on a pair; None when no method has a vote.

    Args:
        rule: one of ``VOTES``; of any other name, that of a method, the only vote decides.
        votes: what each voter says, in order; None where it skipped a page.

    Returns:
        When the pair is accepted, the verdict of the first method that accepts; when it is rejected, that of the first that rejects.
    """
    given = [vote for vote in votes if vote is not None]
    if rule not in ("any", "majority", "all"):
        given = given[:1]
    accepting = [vote for vote in given if vote.relation is not Relation.DIFFERENT]
    needed = {"any": 1, "majority": len(given) // 2 + 1}.get(rule, len(given))
    if accepting and len(accepting) >= needed:
        return accepting[0]
    return next((vote for vote in given if vote.relation is Relation.DIFFERENT), None)


def reason(settings: Settings, relation: Relation, verdicts: Sequence[Verdict]) -> str:
    """Why the methods decided so, in one phrase: ``accepted by majority: ccdet and simhash accept, dwdcs rejects``.

    Args:
        settings: who decides.
        relation: what was decided.
        verdicts: what the enabled methods say, where that is at hand; a method that skipped a page is absent.
    """
    if relation is Relation.EXACT:
        return "texts are equal"
    method = settings.decision.method
    outcome = f"{'rejected' if relation is Relation.DIFFERENT else 'accepted'} by {method}"
    if method not in VOTES or not verdicts:
        return outcome
    by_name = {verdict.detector: verdict.relation is not Relation.DIFFERENT for verdict in verdicts}
    parts = []
    for opinion, one, more in (
        (True, "accepts", "accept"),
        (False, "rejects", "reject"),
        (None, "cannot compare", "cannot compare"),
    ):
        names = [name for name in voters_of(settings) if by_name.get(name) is opinion]
        if names:
            parts.append(f"{' and '.join(names)} {more if len(names) > 1 else one}")
    return f"{outcome}: {', '.join(parts)}"
