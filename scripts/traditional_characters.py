"""The characters in es_dedup/text/traditional.txt, as OpenCC converts them now: ``python scripts/traditional_characters.py`` writes the file."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from opencc import OpenCC

FILE: Final = Path(__file__).resolve().parents[1] / "es_dedup/text/traditional.txt"
PHRASE_ONLY: Final = "坏哩沈瞭甦藉覆"
"""Characters that change in some phrases and not when they stand alone."""


def traditional_characters() -> str:
    """Ideographs of the basic plane that OpenCC simplifies, in the order of their code points."""
    candidates = [chr(code) for code in (*range(0x3400, 0xA000), *range(0xF900, 0xFB00))]
    converted = str(OpenCC("t2s").convert("\n".join(candidates))).split("\n")
    changed = {c for c, simplified in zip(candidates, converted, strict=True) if c != simplified}
    return "".join(sorted(changed | {*PHRASE_ONLY}))


if __name__ == "__main__":
    FILE.write_text(traditional_characters(), encoding="utf-8")
