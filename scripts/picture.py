#!/usr/bin/env python3
"""Draw the pictures of the documents: the report on the sample pages, and views of the console on them.

    python scripts/picture.py [NAME …]

Without names: all of ``PICTURES``. They are written to docs/images. Needs Chromium, a font with Chinese characters (Debian: chromium,
fonts-wqy-zenhei, fonts-dejavu-core) and the extra ``serve``.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).resolve().parents[1]
FOLDER: Final = ROOT / "docs" / "images"
BRIDGE: Final = "zhportal%2Fbridge-opening.html"
PICTURES: Final = {
    "report": ("", "1100,900"),
    "console-clusters": ("/console/clusters", "1000,620"),
    "console-cluster": (f"/console/clusters/{BRIDGE}", "1200,600"),
    "console-compare": (f"/console/compare?left={BRIDGE}&right=jzdaily%2Fbridge-cut.html", "1000,1000"),
    "console-review": ("/console/review?reader=mz", "1000,800"),
}
"""Address in the console, or that of the report where it is empty; width and height in pixels, from the top."""
PROGRAMS: Final = ("chromium", "chromium-browser", "google-chrome")
OPTIONS: Final = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--lang=en")
SECONDS: Final = 120


def main(names: list[str]) -> int:
    """Write the pictures; 1 when there is no Chromium."""
    browser = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if browser is None:
        print("Chromium is not installed", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        report, index = Path(folder) / "report.html", Path(folder) / "pages.db"
        program = [str(Path(sys.executable).with_name("es-dedup")), "--db", str(index)]
        pages = ROOT / "samples" / "pages"
        scan = [*program, "--quiet", "scan", str(pages), "--report", str(report)]
        done = subprocess.run(scan, check=False, stdout=subprocess.DEVNULL, timeout=SECONDS)
        if done.returncode not in (0, 3):  # 3: pages without text are named and left out
            return done.returncode
        FOLDER.mkdir(parents=True, exist_ok=True)
        with serving(program) as server:
            for name in names or PICTURES:
                path, size = PICTURES[name]
                shot = (f"--window-size={size}", f"--screenshot={FOLDER / name}.png")
                address = server + path if path else report.as_uri()
                subprocess.run([browser, *OPTIONS, *shot, address], check=True, timeout=SECONDS)
    return 0


@contextmanager
def serving(program: list[str]) -> Iterator[str]:
    """The address of a console that asks for no token, ended with the block."""
    environment = os.environ | {"ES_DEDUP_SERVE__REQUIRE_TOKEN": "false"}
    command = [*program, "--json", "serve", "--port", "0"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as server:
        try:
            yield json.loads(server.stdout.readline())["address"] if server.stdout else ""
        finally:
            server.terminate()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(PICTURES))
    sys.exit(main(parser.parse_args().names))
