#!/usr/bin/env python3
"""Count the numbers that the decision rests on: each one has to be chosen, measured and explained.

    python scripts/count_numbers.py [FOLDER]   # of the package's decision modules

Counted are the defaults of ``Thresholds`` (each point of a curve as one), named constants, and bounds written into rules
other than 0 and 1, which only ask whether there is any. One line for each, with its place, then the total.
"""

from __future__ import annotations

import argparse
import ast
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

DECISION: Final = Path(__file__).resolve().parents[1] / "es_dedup" / "decision"
MODULES: Final = ("thresholds.py", "pair_facts.py", "match_rules.py")


def numbers_in(source: str) -> Iterator[tuple[int, str, float]]:
    """Line, name and value of each number in a module; the name of a bound is the fact that it bounds."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef | ast.Module):
            yield from (found for each in node.body for found in _named(each))
        elif isinstance(node, ast.Compare) and isinstance(node.left, ast.Name) and node.left.id.isupper():
            yield from (
                found for found in _values(node.comparators[0], node.left.id) if found[2] not in {0, 1}
            )


def _named(node: ast.stmt) -> Iterator[tuple[int, str, float]]:
    if not isinstance(node, ast.AnnAssign) or node.value is None:
        return
    name = ast.unparse(node.target)
    if not name.endswith("amounts"):  # those are the places of a curve's points
        yield from _values(node.value, name)


def _values(node: ast.expr, name: str) -> Iterator[tuple[int, str, float]]:
    for each in node.elts if isinstance(node, ast.Tuple) else (node,):
        if isinstance(each, ast.Constant) and isinstance(each.value, int | float):
            yield each.lineno, name, each.value


def main(folder: Path) -> None:
    """Print the numbers of the modules in a folder, and how many they are."""
    found = [
        (name, each) for name in MODULES for each in sorted(numbers_in((folder / name).read_text("utf-8")))
    ]
    sys.stdout.writelines(f"{module}:{line}: {name} {value:g}\n" for module, (line, name, value) in found)
    print(f"{len(found)} numbers")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, default=DECISION, help="of decision modules")
    main(parser.parse_args().folder)
