"""The quality gate: measure labelled sets and hold the figures to pinned floors.

    python scripts/quality_gate.py samples                   # the labels of samples/
    python scripts/quality_gate.py data --folder FOLDER      # the sets of a folder with more labelled pages
    python scripts/quality_gate.py templates --folder FOLDER # distinct texts that share a template, made from these sets
    python scripts/quality_gate.py samples --pin             # pin what was measured; never lowers a floor …
    python scripts/quality_gate.py samples --pin --allow-lower   # … unless told to

Floors are kept in ``tests/golden/floors``, one file a set. Exit codes: 0 all floors hold, 1 one does not, 2 usage.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from es_dedup import Deduplicator
from es_dedup.errors import DedupError
from es_dedup.evaluation import read_labels, runner
from es_dedup.readers import InputFailure, read_pages

sys.path[0] = str(Path(__file__).resolve().parents[1])

from scripts.floors import check, pin, read_floors  # noqa: E402 - the path comes first
from scripts.template_sets import clustered, story_sets, template_sets  # noqa: E402 - the same

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from es_dedup.evaluation import EvaluationReport
    from es_dedup.model import Page

ROOT: Final = Path(__file__).resolve().parent.parent
FLOORS: Final = ROOT / "tests" / "golden" / "floors"
MOST_LOST: Final = 0.01
LEAST_FOUND: Final = 0.95
DATA_SETS: Final = ("portal-zh", "news-zh-2025", "judged-en", "judged-gov", "news-en")


@dataclass(frozen=True, slots=True)
class LabelledSet:
    """Pages and the labels of some of their pairs."""

    name: str
    corpus: Path
    labels: Path

    @property
    def floors(self) -> Path:
        """The file with the pinned floors."""
        return FLOORS / f"{self.name}.json"


def sets_of(arguments: argparse.Namespace) -> list[LabelledSet]:
    """The sets that were asked for."""
    if arguments.which == "samples":
        return [LabelledSet("samples", ROOT / "samples" / "pages", ROOT / "samples" / "labels.jsonl")]
    if arguments.which == "templates":
        return []
    folder: Path = arguments.folder
    return [
        LabelledSet(name, folder / f"{name}.jsonl.xz", folder / f"{name}.pairs.tsv") for name in DATA_SETS
    ]


def pages_of(corpus: Path) -> Iterator[Page]:
    """The pages of a corpus; a page that cannot be read ends the run."""
    for item in read_pages([corpus]):
        if isinstance(item, InputFailure):
            raise SystemExit(f"error: {item}")
        yield item


def measure(labelled: LabelledSet) -> EvaluationReport:
    """Scan the pages in memory and ask for every labelled pair."""
    with Deduplicator.open(":memory:") as dedup:
        dedup.scan(pages_of(labelled.corpus))
        labels = read_labels(labelled.labels)
        return runner.report(runner.measure(dedup, labels), labels)


def show(labelled: LabelledSet, found: EvaluationReport, seconds: float) -> None:
    """Print the figures that matter most."""
    counts = ", ".join(f"{count} {label}" for label, count in found.labels.items())
    print(f"{labelled.name}: {found.pairs} pairs ({counts}), {seconds:.0f} s")
    for name, share in found.candidates.items():
        print(f"  candidate recall ({name}): {share.hits} of {share.total}")
    for name, method in found.methods.items():
        pairs = method.pairs
        print(
            f"  {name:<10} found {pairs.positive.hits} of {pairs.positive.total}, "
            f"merged {pairs.diff.hits} of {pairs.diff.total} different pairs"
        )


def hold(labelled: LabelledSet, found: EvaluationReport, *, write: bool, allow_lower: bool) -> list[str]:
    """Compare with the floors, or pin them; returns what is wrong."""
    old = read_floors(labelled.floors) if labelled.floors.is_file() else None
    if write:
        labelled.floors.parent.mkdir(parents=True, exist_ok=True)
        labelled.floors.write_text(pin(found, old, allow_lower=allow_lower).as_json(), encoding="utf-8")
        print(f"  pinned in {labelled.floors.relative_to(ROOT)}")
        return []
    if old is None:
        return [f"no floors are pinned in {labelled.floors.relative_to(ROOT)}: run this with --pin"]
    return check(found, old)


def hold_templates(folder: Path, counts: Sequence[int]) -> list[str]:
    """Measure the constructed sets; returns which of them lose distinct rows, miss planted copies or split a story."""
    problems = []
    for made in template_sets(folder):
        lost, found = made.lost_and_found()
        print(
            f"{made.name}: {lost} of {len(made.rows)} rows lost, {found} of {len(made.copies)} copies found"
        )
        if lost > MOST_LOST * len(made.rows):
            problems.append(f"{made.name}: {lost} distinct rows lost")
        if not made.form and found < LEAST_FOUND * len(made.copies):
            problems.append(f"{made.name}: {found} copies found")
    for story in story_sets(folder, counts):
        head, _ = clustered(story.pages())
        ((_, together),) = Counter(head[copy] for copy in story.copies).most_common(1)
        print(f"{story.name}: {together} in one cluster")
        if story.held and together < LEAST_FOUND * len(story.copies):
            problems.append(f"{story.name}: {together} in one cluster")
    return problems


def main() -> int:
    """Run the gate."""
    parser = argparse.ArgumentParser(
        description="Measure labelled sets and hold the figures to pinned floors."
    )
    parser.add_argument("which", choices=("samples", "data", "templates"))
    parser.add_argument("--copies", type=int, nargs="*", default=(50, 300), help="of each constructed story")
    parser.add_argument("--folder", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--pin", action="store_true", help="pin what was measured as the new floors")
    parser.add_argument("--allow-lower", action="store_true", help="let --pin lower a floor")
    arguments = parser.parse_args()
    problems = hold_templates(arguments.folder, arguments.copies) if arguments.which == "templates" else []
    for labelled in sets_of(arguments):
        start = time.perf_counter()
        try:
            found = measure(labelled)
            show(labelled, found, time.perf_counter() - start)
            broken = hold(labelled, found, write=arguments.pin, allow_lower=arguments.allow_lower)
        except DedupError as error:
            broken = [str(error)]
        problems += [f"{labelled.name}: {problem}" for problem in broken]
    for problem in problems:
        print(f"GATE: {problem}")
    print(f"quality gate ({arguments.which}): {'broken' if problems else 'holds'}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
