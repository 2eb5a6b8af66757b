"""Labelled pairs, measured: a label that does not fit what was measured stops the build."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import combinations

from scripts.samplesupport.measures import normal, share
from scripts.samplesupport.pagetable import load_pages
from scripts.samplesupport.tables import SOURCES, read_rows

# Kinds whose pages share most of their wording and still are different texts.
SAME_WORDING = {
    "serial-weather",
    "serial-market",
    "serial-flu",
    "serial-river",
    "video-template",
    "list-template",
    "short-note",
}


@dataclass(frozen=True)
class Pair:
    """A labelled pair with its measured shares of common text."""

    a: str
    b: str
    label: str
    kind: str
    note: str
    of_shorter: float
    of_longer: float
    lengths: tuple[int, int]

    @property
    def relation(self) -> str:
        """The relation from the point of view of ``a``."""
        if self.label == "dup":
            same = normal(load_pages()[self.a].main_text) == normal(load_pages()[self.b].main_text)
            return "exact" if same else "duplicate"
        if self.label == "contain":
            return "contains" if self.lengths[0] > self.lengths[1] else "contained"
        return "different"


def measure(a: str, b: str, label: str, kind: str, note: str) -> Pair:
    """Measure a labelled pair."""
    pages = load_pages()
    for ident in (a, b):
        if ident not in pages:
            raise SystemExit(f"label names an unknown page: {ident}")
    size = 10 if "en" in (pages[a].story.lang, pages[b].story.lang) else 4
    texts = [pages[a].main_text, pages[b].main_text]
    lengths = (len(normal(texts[0])), len(normal(texts[1])))
    short, long = sorted(texts, key=lambda text: len(normal(text)))
    return Pair(a, b, label, kind, note, share(short, long, size), share(long, short, size), lengths)


def fault(pair: Pair) -> str:
    """What speaks against the label of a pair; empty if nothing does."""
    low, high, kind = pair.of_longer, pair.of_shorter, pair.kind
    ratio = min(pair.lengths) / max(1, *pair.lengths)
    fits = {
        "dup": low >= 0.62 and ratio >= 0.65,
        "contain": high >= 0.75 and low <= 0.55 and ratio <= 0.55,
        "partial": 0.1 <= high <= 0.7 and low <= 0.45,
        "diff": high <= 0.3 or kind in SAME_WORDING,
    }[pair.label]
    if kind == "cut-contain" and ratio > 0.45:
        fits = False
    return "" if fits else f"{pair.a} {pair.b} {pair.label} {kind}: {high:.2f} {low:.2f} {ratio:.2f}"


def row_pairs(names: str) -> list[tuple[str, str]]:
    """``a b``, ``star: base v1 v2 ...`` or ``each: a b c ...`` as pairs of ids."""
    how, _, rest = names.rpartition(":")
    ids = [f"{name}.html" for name in rest.split()]
    if how == "each":
        return list(combinations(ids, 2))
    return [(ids[0], other) for other in ids[1:]]


@cache
def load_pairs() -> list[Pair]:
    """All labelled pairs; stops when one is listed twice or does not fit its measure."""
    pairs, seen, faults = [], set(), []
    for label, kind, names, note in read_rows(SOURCES / "pairs.txt", 4):
        for a, b in row_pairs(names):
            if a == b or frozenset((a, b)) in seen:
                faults.append(f"pair listed twice: {a} {b}")
            seen.add(frozenset((a, b)))
            pairs.append(measure(a, b, label, kind, note))
    faults += [text for pair in pairs if (text := fault(pair))]
    if faults:
        raise SystemExit("\n".join(faults))
    return pairs
