#!/usr/bin/env python3
"""Draw the picture of the report that README.md shows: scan the sample pages and photograph the top of their report.

    python scripts/picture.py [docs/images/report.png]

Needs Chromium and a font with Chinese characters (Debian: chromium, fonts-wqy-zenhei, fonts-dejavu-core).
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
PICTURE: Final = ROOT / "docs" / "images" / "report.png"
SIZE: Final = "1100,900"
"""Width and height in pixels: totals, charts and the first clusters."""
SECONDS: Final = 120


def main() -> int:
    """Write the picture; 1 when there is no Chromium."""
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURE
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        print("Chromium is not installed", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.html"
        program = Path(sys.executable).with_name("es-dedup")
        pages, index = ROOT / "samples" / "pages", Path(folder) / "pages.db"
        scan = [str(each) for each in (program, "--quiet", "--db", index, "scan", pages, "--report", report)]
        done = subprocess.run(scan, check=False, stdout=subprocess.DEVNULL, timeout=SECONDS)
        if done.returncode not in (0, 3):  # 3: pages without text are named and left out
            return done.returncode
        options = (
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            f"--window-size={SIZE}",
        )
        target.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            [browser, *options, f"--screenshot={target}", report.as_uri()], check=True, timeout=SECONDS
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
