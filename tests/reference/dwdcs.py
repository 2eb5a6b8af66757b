"""Reference of DWDCS: merging, network, key concepts by path lengths, both similarities.

Source: Cao, Niu, Zhao, Peng, Journal of Software 22(8), 2011, sections 3.1 to 3.5.

Settled:
    Joins are transitive; a lost path counts the diameter plus 1; equals keep the order of degree, then of first occurrence;
    the cosine's denominator is the product of the norms. A phrase is two words that recur side by side.

A page is a list of ``(word, sentence number)``; a concept is named by any hashable value.
"""

import math
from collections import Counter, deque
from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

K = TypeVar("K", bound=Hashable)
Graph = dict[int, set[int]]


def with_phrases(
    words: Sequence[str], sentences: Sequence[int], least: int
) -> tuple[list[tuple[str, ...]], list[int]]:
    """Words as tuples, neighbours of one sentence that stand together ``least`` times as one; and their sentences."""
    together = Counter(
        (words[at], words[at + 1]) for at in range(len(words) - 1) if sentences[at] == sentences[at + 1]
    )
    found: list[tuple[str, ...]] = []
    of: list[int] = []
    at = 0
    while at < len(words):
        pair = tuple(words[at : at + 2])
        size = (
            2
            if len(pair) == 2 and sentences[at] == sentences[at + 1] and together[pair[0], pair[1]] >= least
            else 1
        )
        found.append(pair[:size])
        of.append(sentences[at])
        at += size
    return found, of


def rel(left: frozenset[str], right: frozenset[str]) -> float:
    """Formula 7: twice the common synonyms over the sum of both."""
    return 2 * len(left & right) / (len(left) + len(right))


def merged(
    words: Sequence[K],
    concept: Callable[[K], frozenset[str]],
    min_overlap: float,
    meaning: Callable[[K], Hashable],
) -> dict[K, K]:
    """For each distinct word the earliest word of its set: words above the overlap, or of one first meaning, are joined, transitively."""
    distinct = list(dict.fromkeys(words))
    sets = {word: concept(word) for word in distinct}
    meanings = {word: meaning(word) for word in distinct}
    joined = [
        (left, right)
        for left in distinct
        for right in distinct
        if rel(sets[left], sets[right]) > min_overlap or meanings[left] == meanings[right]
    ]
    group = {word: word for word in distinct}
    changed = True
    while changed:
        changed = False
        for left, right in joined:
            if group[left] != group[right]:
                group[left] = group[right] = min(group[left], group[right], key=distinct.index)
                changed = True
    return group


def network(
    concepts: Sequence[Hashable], sentences: Sequence[int], window: int = 2, min_occurrences: int = 2
) -> tuple[list[Hashable], Graph]:
    """Nodes in order of first occurrence, and their neighbours by place in that list; the largest connected part only.

    Of equally large parts, the one with the earliest node is kept.
    """
    counts = Counter(concepts)
    nodes = [concept for concept in dict.fromkeys(concepts) if counts[concept] >= min_occurrences]
    number = {concept: at for at, concept in enumerate(nodes)}
    graph: Graph = {at: set() for at in range(len(nodes))}
    for i, left in enumerate(concepts):
        for j in range(i + 1, min(i + window + 1, len(concepts))):
            right = concepts[j]
            if sentences[i] == sentences[j] and left != right and left in number and right in number:
                graph[number[left]].add(number[right])
                graph[number[right]].add(number[left])
    parts: list[list[int]] = []
    seen: set[int] = set()
    for node in graph:
        if node not in seen:
            part = sorted(distances(graph, node))
            seen.update(part)
            parts.append(part)
    if not parts:
        return [], {}
    largest = max(parts, key=len)
    place = {node: at for at, node in enumerate(largest)}
    return (
        [nodes[node] for node in largest],
        {place[node]: {place[other] for other in graph[node]} for node in largest},
    )


def distances(graph: Graph, source: int, without: int | None = None) -> dict[int, int]:
    """Lengths of shortest paths from a node to all that it reaches, by breadth-first search."""
    found = {source: 0}
    waiting = deque([source])
    while waiting:
        node = waiting.popleft()
        for other in graph[node]:
            if other != without and other not in found:
                found[other] = found[node] + 1
                waiting.append(other)
    return found


def removal_sum(graph: Graph, removed: int) -> int:
    """Sum of distances over ordered pairs of the other nodes; a lost pair counts the whole graph's diameter plus 1."""
    diameter = max(max(distances(graph, node).values()) for node in graph)
    total = 0
    for source in graph:
        if source != removed:
            found = distances(graph, source, removed)
            total += sum(found.get(node, diameter + 1) for node in graph if node != removed)
    return total


def key_nodes(graph: Graph, hubs: int = 30, count: int = 20) -> list[int]:
    """Of the ``hubs`` nodes of highest degree, the ``count`` whose loss lengthens the paths most; equals in that order."""
    ranked = sorted(graph, key=lambda node: (-len(graph[node]), node))[:hubs]
    sums = {node: removal_sum(graph, node) for node in ranked}
    return sorted(ranked, key=lambda node: -sums[node])[:count]


def mean_path(graph: Graph) -> float:
    """Formulas 3 and 4: the mean over all nodes of the mean distance to all others."""
    if len(graph) < 2:
        return 0.0
    means = [sum(distances(graph, node).values()) / (len(graph) - 1) for node in graph]
    return sum(means) / len(graph)


def contribution(graph: Graph, node: int) -> float:
    """CB: the mean path without a node, less the mean path with it."""
    others = len(graph) - 1
    return removal_sum(graph, node) / (others * (others - 1)) - mean_path(graph)


def weighted_cosine(left: dict[K, float], right: dict[K, float]) -> float:
    """Formula 9 over weights of the key concepts."""
    product = sum(left[each] * right[each] for each in left.keys() & right.keys())
    norms = [math.sqrt(sum(weight**2 for weight in page.values())) for page in (left, right)]
    return product / (norms[0] * norms[1]) if all(norms) else 0.0


def cosine(left: dict[K, list[int]], right: dict[K, list[int]]) -> float:
    """Formula 9 over occurrence counts of the key concepts."""
    return weighted_cosine(
        {each: float(len(places)) for each, places in left.items()},
        {each: float(len(places)) for each, places in right.items()},
    )


def spread(left: dict[K, list[int]], right: dict[K, list[int]], *, signed: bool = True) -> float | None:
    """Formulas 10 to 13, with the signed mean or that of absolute values; None when no concept is shared."""
    shared = left.keys() & right.keys()
    deviations = []
    for each in shared:
        deltas = [one - other for one, other in zip(left[each], right[each], strict=False)]
        mean = sum(delta if signed else abs(delta) for delta in deltas) / len(deltas)
        deviations.append(math.sqrt(sum((delta - mean) ** 2 for delta in deltas) / len(deltas)))
    return sum(deviations) / len(deviations) if deviations else None
