"""What the benchmarks share: the data folder, one table, JSON on request, and the cost of a run.

Each ``bench_*.py`` answers one question, checks its answer before it reports a figure, prints one table and, with
``--json FILE``, writes the same figures. Labelled and unlabelled sets are read from the folder that ``ES_DEDUP_DATA``
names, else from ``../shared/data`` beside the repository.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import platform
import resource
import secrets
import sys
import time
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import es_dedup
from es_dedup import Page

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from elasticsearch import Elasticsearch

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT))  # a script finds the package experiments
MIB: Final = 2**20

Row = dict[str, Any]


class WrongAnswer(Exception):
    """A benchmark's answer did not pass its check: no figure is reported."""


def parser_of(description: str | None) -> argparse.ArgumentParser:
    """A parser with the options that every benchmark has."""
    parser = argparse.ArgumentParser(description=(description or "").partition("\n")[0])
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to this file too")
    parser.add_argument(
        "--data", type=Path, default=None, help="folder of the data sets (else ES_DEDUP_DATA, ../shared/data)"
    )
    return parser


def data_folder(folder: Path | None) -> Path:
    """The folder of the data sets: as given, else of the environment, else beside the repository."""
    return folder or Path(os.environ.get("ES_DEDUP_DATA") or ROOT.parent / "shared" / "data")


def data_file(folder: Path | None, name: str) -> Path:
    """A file of the data folder; ends the program with a plain message when it is not there."""
    place = data_folder(folder)
    if not (place / name).is_file():
        raise SystemExit(
            f"There is no {name} in {place}.\n"
            "Name the folder with the data sets by --data or by the variable ES_DEDUP_DATA."
        )
    return place / name


def server_url(*variables: str) -> str:
    """Address of the server: of the first variable that is set, and of ES_DEDUP_ES_URL; ends the program with a plain message without any."""
    for variable in (*variables, "ES_DEDUP_ES_URL"):
        if url := os.environ.get(variable):
            return url
    raise SystemExit("Name a server by the variable ES_DEDUP_ES_URL; `scripts/servers up es8` starts one.")


@contextmanager
def temporary_index(client: Elasticsearch) -> Iterator[str]:
    """A new name of an index. That index, and those whose names begin with it and a hyphen, are removed afterwards."""
    name = f"bench-{secrets.token_hex(6)}"
    try:
        yield name
    finally:
        client.indices.delete(index=f"{name},{name}-*", expand_wildcards="all", ignore_unavailable=True)


def least_seconds(call: Callable[[], object], rounds: int) -> float:
    """Processor seconds of the quickest of several rounds of a call."""
    spent = []
    for _ in range(rounds):
        begun = time.process_time()
        call()
        spent.append(time.process_time() - begun)
    return min(spent)


def rows_of(path: Path, most: int | None = None) -> list[Row]:
    """The objects of a packed JSONL file, the first ``most`` of them."""
    return list(_rows(path, most))


def _rows(path: Path, most: int | None) -> Iterator[Row]:
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            if number == most:
                return
            yield json.loads(line)


def page_of(row: Row) -> Page:
    """A page of a data set's row."""
    return Page(
        id=row["id"],
        text=row["text"],
        title=row.get("title") or "",
        url=row.get("url") or None,
        site=row.get("site") or "",
        published=str(row.get("time") or "") or None,
    )


def expect(holds: bool, message: str) -> None:  # noqa: FBT001 - it is what is expected
    """Check an answer.

    Raises:
        WrongAnswer: it does not hold.
    """
    if not holds:
        raise WrongAnswer(message)


def peak_mib() -> tuple[float, float]:
    """High-water marks of this process and of its largest finished child, in MiB."""
    unit = 1 if sys.platform == "darwin" else 1024  # ru_maxrss is in bytes there, else in kibibytes
    own, children = (
        resource.getrusage(who).ru_maxrss * unit / MIB
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return round(own, 1), round(children, 1)


def cpu_seconds() -> float:
    """User and system time of this process and its finished children."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def share(hits: int, total: int) -> float | None:
    """``hits`` of ``total``, to four digits; None of nothing."""
    return round(hits / total, 4) if total else None


def quantile(values: Sequence[float], part: float) -> float:
    """The value that ``part`` of the values do not pass."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(part * (len(ordered) - 1)))]


def report(
    title: str, rows: Sequence[Row], where: Path | None, notes: Mapping[str, Any] | None = None
) -> None:
    """Print one table, with its notes below, and write the same as JSON when a file is named."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    cells = [[_text(row.get(name)) for name in columns] for row in rows]
    widths = [max(len(name), *(len(line[at]) for line in cells)) for at, name in enumerate(columns)]
    print(f"\n{title}\n")
    for line in [columns, ["-" * width for width in widths], *cells]:
        print(
            "  ".join(
                cell.rjust(width) if at else cell.ljust(width)
                for at, (cell, width) in enumerate(zip(line, widths, strict=True))
            )
        )
    for name, value in (notes or {}).items():
        print(f"{name}: {_text(value)}")
    if where is not None:
        found = {"benchmark": title, "rows": rows, "notes": notes or {}, "ran": ran_on()}
        where.write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def ran_on() -> dict[str, Any]:
    """Versions, machine and date of this run."""
    return {
        "es_dedup": es_dedup.__version__,
        "python": platform.python_version(),
        "system": platform.system(),
        "cores": os.cpu_count(),
        "date": datetime.now(UTC).date().isoformat(),
    }


def _text(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:,.4f}" if abs(value) < 2 else f"{value:,.1f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
