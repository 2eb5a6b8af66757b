"""How fast are libraries for MinHash beside es-dedup on W1, without and with exact verification of what they return?

Each engine runs in a process of its own, one after the other, from texts in memory to pairs of similar documents, on all
cores that it can use. The libraries return the candidates of 128 hashes in 16 bands of 8; these are then verified: kept are those
whose exact Jaccard similarity is 0.8 or more. es-dedup writes features, texts, verified pairs with their evidence, and clusters to
a file. Precision and recall: of the pairs, or of the pairs within each cluster, against all pairs of that similarity. A library
that is not installed is passed over.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bench_scan import SEED, run_apart
from bench_w1 import clustered
from harness import Row, cpu_seconds, expect, parser_of, report, share
from w1 import SIMILAR, documents, shingles, truth

from es_dedup import Deduplicator, Page
from es_dedup.batch.memory import release_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from w1 import Document

    Pairs = set[tuple[str, str]]

BANDS: Final = 16
ROWS: Final = 8
LEAST_RECALL: Final = 0.9  # below, the times are of no interest


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark."""
    parser = parser_of(__doc__)
    parser.add_argument("--bases", type=int, default=10_000, help="documents before copies")
    parser.add_argument("--engines", nargs="+", default=list(ENGINES), choices=ENGINES)
    parser.add_argument(
        "--one", choices=ENGINES, help="internal: run this engine here and print its figures as JSON"
    )
    given = parser.parse_args(arguments)
    if given.one:
        print(json.dumps(run(given.one, given.bases)))
        return 0
    command = [sys.executable, __file__, "--bases", str(given.bases), "--one"]
    rows = [run_apart([*command, name]) for name in given.engines if installed(name)]
    report(f"W1 of {given.bases:,} documents and their copies, beside other libraries", rows, given.json)
    return 0


def installed(engine: str) -> str:
    """The version of an engine; empty, and a line says so, where it is not installed."""
    try:
        return version(engine)
    except PackageNotFoundError:
        print(f"{engine} is not installed")
        return ""


def run(engine: str, bases: int) -> Row:
    """Run one engine in this process."""
    made = documents(bases, SEED)
    release_memory()  # what making them took
    begun, cpu = time.perf_counter(), cpu_seconds()
    found, read_seconds = ENGINES[engine](made)
    seconds = time.perf_counter() - begun - read_seconds
    kept = found if engine == OURS else verified(found, made)
    verified_seconds = seconds if engine == OURS else time.perf_counter() - begun
    cpu = cpu_seconds() - cpu
    wanted = set().union(*truth(made).values())
    expect(len(found & wanted) >= LEAST_RECALL * len(wanted), f"{engine}: too few similar pairs found")
    family = {each.id: each.family for each in made}
    return {
        "engine": f"{engine} {version(engine)}",
        "documents": len(made),
        "documents/s": round(len(made) / seconds),
        "verified, documents/s": round(len(made) / verified_seconds),
        "read s": round(read_seconds, 1),
        "CPU s": round(cpu, 1),
        "pairs": len(found),
        "verified": len(kept),
        "recall": share(len(kept & wanted), len(wanted)),
        "precision": share(len(kept & wanted), len(kept)),
        "of one base": share(sum(family[a] == family[b] for a, b in kept), len(kept)),
    }


def verified(pairs: Pairs, made: Sequence[Document]) -> Pairs:
    """The pairs that are similar."""
    document = {each.id: each for each in made}
    cut = {name: shingles(document[name]) for name in {name for pair in pairs for name in pair}}
    kept = set()
    for left, right in pairs:
        both = len(cut[left] & cut[right])
        if both >= SIMILAR * (len(cut[left]) + len(cut[right]) - both):
            kept.add((left, right))
    return kept


def paired(answers: Iterable[tuple[str, Iterable[str]]]) -> Pairs:
    """Documents and those that are found for each, as pairs with ids in order."""
    return {(min(one, other), max(one, other)) for one, found in answers for other in found if one != other}


def by_es_dedup(made: Sequence[Document]) -> tuple[Pairs, float]:
    """Pairs within each cluster of a scan, and how many seconds it took to read the clusters."""
    with tempfile.TemporaryDirectory() as folder, Deduplicator.open(Path(folder) / "w1.db") as dedup:
        dedup.scan(Page(id=each.id, text=each.text) for each in made)
        scanned = time.perf_counter()
        return clustered(dedup), time.perf_counter() - scanned


def by_gaoya(made: Sequence[Document]) -> tuple[Pairs, float]:
    """An index for each language, with its own analyzers: characters by five, words by three."""
    from gaoya.minhash import MinHashStringIndex  # noqa: PLC0415 - not installed everywhere

    found: Pairs = set()
    for language, analyzer, size in (("zh", "char", 5), ("en", "word", 3)):
        some = [each for each in made if each.language == language]
        names, texts = [each.id for each in some], [each.text for each in some]
        index = MinHashStringIndex(
            num_bands=BANDS, band_size=ROWS, analyzer=analyzer, ngram_range=(size, size), id_container="set"
        )
        numbers = list(range(len(some)))
        index.par_bulk_insert_docs(numbers, texts)
        answers = index.par_bulk_query(texts)
        found |= paired(
            (names[at], [names[other] for other in near]) for at, near in zip(numbers, answers, strict=True)
        )
    return found, 0.0


def by_rensa(made: Sequence[Document]) -> tuple[Pairs, float]:
    """Of the sets of shingles."""
    from rensa import RMinHash, RMinHashLSH  # noqa: PLC0415 - not installed everywhere

    hashes = RMinHash.from_token_sets((shingles(each) for each in made), num_perm=BANDS * ROWS, seed=SEED)
    index = RMinHashLSH(threshold=SIMILAR, num_perm=BANDS * ROWS, num_bands=BANDS)
    index.insert_many(hashes)
    answers = index.query_all(hashes)
    found = paired(
        (each.id, [made[other].id for other in near]) for each, near in zip(made, answers, strict=True)
    )
    return found, 0.0


def by_datasketch(made: Sequence[Document]) -> tuple[Pairs, float]:
    """Of the sets of shingles."""
    from datasketch import MinHash, MinHashLSH  # noqa: PLC0415 - not installed everywhere

    cut: Any = ([each.encode() for each in shingles(document)] for document in made)
    hashes = MinHash.bulk(cut, num_perm=BANDS * ROWS)
    index = MinHashLSH(num_perm=BANDS * ROWS, params=(BANDS, ROWS))
    with index.insertion_session() as session:
        for each, values in zip(made, hashes, strict=True):
            session.insert(each.id, values)
    return paired((each.id, index.query(values)) for each, values in zip(made, hashes, strict=True)), 0.0


OURS: Final = "es-dedup"
ENGINES: Final[dict[str, Callable[[Sequence[Document]], tuple[Pairs, float]]]] = {
    OURS: by_es_dedup,
    "gaoya": by_gaoya,
    "rensa": by_rensa,
    "datasketch": by_datasketch,
}
"""By the name of the package."""


if __name__ == "__main__":
    sys.exit(main())
