"""How long does a process take that does one thing: import the library, show the help, check one page of the samples?

Bytecode of the package is compiled first. The quickest of several runs counts, since other work on the machine only adds to it.
"""

from __future__ import annotations

import compileall
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from harness import ROOT, Row, cpu_seconds, expect, parser_of, report

from es_dedup import Deduplicator, Page
from es_dedup.readers import read_pages

if TYPE_CHECKING:
    from collections.abc import Sequence

KNOWN: Final = 4  # exit code of a check that found a known page
PAGES: Final = ROOT / "samples" / "pages"
CHECKED: Final = PAGES / "forum" / "bridge-excerpt.html"
PROGRAM: Final = ("-m", "es_dedup")


def main(given: Sequence[str] | None = None) -> int:
    """Print and write the figures."""
    parser = parser_of(__doc__)
    parser.add_argument("--rounds", type=int, default=10, help="runs of each process")
    options = parser.parse_args(given)
    compileall.compile_dir(ROOT / "es_dedup", quiet=1)
    with TemporaryDirectory() as folder:
        db = str(Path(folder) / "samples.db")
        with Deduplicator.open(db) as dedup:
            dedup.scan(page for page in read_pages([PAGES]) if isinstance(page, Page))
        rows = [
            timed("the interpreter", ["-c", "pass"], options.rounds),
            timed("numpy and pydantic", ["-c", "import numpy, pydantic.main"], options.rounds),
            timed(
                "from es_dedup import Deduplicator",
                ["-c", "from es_dedup import Deduplicator"],
                options.rounds,
            ),
            timed("es-dedup --help", [*PROGRAM, "--help"], options.rounds),
            timed("es-dedup check", [*PROGRAM, "--db", db, "check", str(CHECKED)], options.rounds, KNOWN),
        ]
    report("One process, the quickest of several", rows, options.json, {"rounds": options.rounds})
    return 0


def timed(name: str, arguments: Sequence[str], rounds: int, code: int = 0) -> Row:
    """The least times of several runs of the interpreter."""
    environ = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [environ.get("PYTHONPATH")])])
    wall, processor = [], []
    for _ in range(rounds):
        begun, used = time.perf_counter(), cpu_seconds()
        done = subprocess.run([sys.executable, *arguments], capture_output=True, check=False, env=environ)
        wall.append(time.perf_counter() - begun)
        processor.append(cpu_seconds() - used)
        expect(done.returncode == code, f"{name} ends with {done.returncode}: {done.stderr[-200:]!r}")
    return {"process": name, "wall ms": round(1000 * min(wall)), "processor ms": round(1000 * min(processor))}


if __name__ == "__main__":
    sys.exit(main())
