"""What is damaged: pages of the samples and of the golden tests, and those of labelled sets where there are any."""

import os
import re
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
MOST_BYTES: Final = 200_000
MOST_FILES: Final = 400


@cache
def pages() -> tuple[bytes, ...]:
    """Bytes of HTML pages, in a fixed order."""
    folders = [ROOT / "samples" / "pages", ROOT / "samples" / "shells", ROOT / "tests" / "golden" / "pages"]
    if labelled := os.environ.get("ES_DEDUP_DATA"):
        folders.append(Path(labelled))
    found: list[bytes] = []
    for folder in folders:
        files = sorted(path for path in folder.rglob("*.htm*") if path.stat().st_size <= MOST_BYTES)
        found += [path.read_bytes() for path in files[:: max(1, len(files) // MOST_FILES)]]
    return tuple(found)


@cache
def texts() -> tuple[str, ...]:
    """Running texts in Chinese and English."""
    files = sorted((ROOT / "samples" / "pages").rglob("*.html"))
    whole = "\n".join(path.read_bytes().decode("utf-8", "ignore") for path in files)
    return tuple(dict.fromkeys(part for part in re.split(r"\s*<[^>]*>\s*", whole) if len(part) > 40))
