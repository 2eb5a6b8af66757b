"""Programs, run as processes to their end."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
PROGRAM: Final = str(Path(sys.executable).with_name("es-dedup"))


def ended(*command: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """How a process ended, and what it printed; options are those of ``subprocess.run``."""
    options = {"timeout": 200, **options}
    return subprocess.run(command, capture_output=True, encoding="utf-8", check=False, **options)


def without_settings() -> dict[str, str]:
    """The environment for a process that takes this code and the defaults of its settings."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ES_DEDUP_")}
    return kept | {"PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"}
