#!/usr/bin/env python3
"""Print the lowest allowed version of each direct dependency, as constraints for pip.

    python scripts/lowest.py > lowest.txt; pip install --constraint lowest.txt '.[all]'

Development tools are left out: they run the tests and are no part of what is tested.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import Final

PROJECT: Final = Path(__file__).resolve().parents[1] / "pyproject.toml"
TOOLS: Final = ("browser", "dev", "docs", "elastic9")
"""Extras without pins; ``elastic9`` is the same distribution as ``elastic``."""
_LOWEST: Final = re.compile(r"^([\w.-]+)(?:\[[\w,]+\])?>=([\w.]+)")


def lowest() -> dict[str, str]:
    """Distributions of the core and of its extras with their lowest allowed versions.

    Raises:
        ValueError: a requirement has no lower bound, or two extras have different ones.
    """
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    lines = [
        *project["dependencies"],
        *(line for name in extras if name not in TOOLS for line in extras[name]),
    ]
    found: dict[str, str] = {}
    for line in lines:
        if line.startswith("es-dedup["):
            continue
        match = _LOWEST.match(line)
        if match is None or found.setdefault(match[1], match[2]) != match[2]:
            raise ValueError(f"{line!r} needs one lower bound, such as {line.partition('>')[0]}>=1.0")
    return found


if __name__ == "__main__":
    sys.stdout.writelines(f"{name}=={version}\n" for name, version in sorted(lowest().items()))
