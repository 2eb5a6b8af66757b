"""es_dedup/text/simplified.txt, as OpenCC converts now: ``python scripts/simplified_characters.py`` writes the file."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import Final

import opencc

from es_dedup.text.simplify import Characters

FILE: Final = Path(__file__).resolve().parents[1] / "es_dedup/text/simplified.txt"


def phrases() -> list[str]:
    """The phrases that OpenCC simplifies as a whole, by the program that its package brings."""
    folder = Path(opencc.__file__).parent / "clib"
    with tempfile.TemporaryDirectory() as temporary:
        listed = Path(temporary, "phrases.txt")
        dictionary = folder / "share/opencc/TSPhrases.ocd2"
        command = [folder / "bin/opencc_dict", "-i", dictionary, "-o", listed, "-f", "ocd2", "-t", "text"]
        subprocess.run([*map(str, command)], check=True, capture_output=True)
        return [line.split("\t")[0] for line in listed.read_text("utf-8").splitlines()]


def characters() -> Characters:
    """Ideographs of the basic plane that OpenCC changes, alone and in phrases, in the order of their code points."""
    convert = opencc.OpenCC("t2s").convert
    candidates = [chr(code) for code in (*range(0x3400, 0xA000), *range(0xF900, 0xFB00))]
    alone = dict(zip(candidates, convert("\n".join(candidates)).split("\n"), strict=True))
    changed = [each for each in candidates if alone[each] != each]
    known = phrases()
    by_phrase = {
        before
        for each in known
        for before, after in zip(each, convert(each), strict=True)
        if alone[before] != after
    }
    return Characters(
        "".join(changed),
        "".join(alone[each] for each in changed),
        "".join(sorted({*"".join(known)})),
        "".join(sorted(by_phrase)),
    )


if __name__ == "__main__":
    FILE.write_text("".join(f"{line}\n" for line in characters()), encoding="utf-8")
