"""The cover that the decision rules require of one pair, straight from docs/algorithms/decision-rules.md; imports nothing of es_dedup."""

import itertools
import math

CURVE = ((20, 0.65), (100, 0.55), (400, 0.64))
UNTITLED = ((20, 0.58), (400, 0.46))


def demand(
    left: tuple[float, float],
    right: tuple[float, float],
    amount: float,
    days: int,
    *,
    titled: bool,
    in_words: bool,
) -> float:
    """Cover that the better covered page needs.

    Args:
        left, right: gram and clause cover of each page.
        amount: units in common.
        days: between the two publications.
        titled: both have titles.
        in_words: both are written in words, not in Chinese characters.
    """
    grams, clauses = left if max(left) >= max(right) else right
    better, lesser = max(*left, *right), min(max(left), max(right))
    alike = lesser >= 0.5 * better
    times = grams / clauses if clauses > 0 else math.inf if grams > 0 else 1.0
    times = min(max(times, 1.0), 2.0) if days == 0 or not alike else 1.0
    with_titles = line(CURVE, amount) / math.pow(times, 0.08)
    if titled:
        needed = with_titles
    elif in_words:
        needed = max(0.74 / math.sqrt(times), with_titles) if amount >= 400 else 0.74
    else:
        needed = line(UNTITLED, amount)
    if alike and needed < 0.95:
        needed += (0.95 - needed) * min(math.log2(1 + days) / 8, 1)
    return needed


def line(points: tuple[tuple[int, float], ...], amount: float) -> float:
    """Straight lines over the logarithm of the amount."""
    if amount <= points[0][0]:
        return points[0][1]
    for (low, start), (high, end) in itertools.pairwise(points):
        if amount <= high:
            way = math.log(amount / low) / math.log(high / low)
            return start + way * (end - start)
    return points[-1][1]
