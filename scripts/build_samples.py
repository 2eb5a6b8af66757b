"""Build the sample pages and their labels from the sources in ``samples/``.

The stories (``samples/sources``), the page shells (``samples/shells``) and two tables
(``samples/sources/pages.txt`` and ``samples/sources/pairs.txt``) are the only input. The output is
always the same, byte for byte:

* ``samples/pages/<site>/<name>.html``: the pages,
* ``samples/labels.jsonl``: one labelled pair of pages a line,
* ``samples/truth.jsonl``: for each page its address, character sets and true main text.

Every labelled pair is measured while building; a pair whose label does not fit the measured shares
of common text stops the build.

Usage::

    python scripts/build_samples.py            # write pages, labels and truth
    python scripts/build_samples.py --check    # exit 1 if the files on disk differ
    python scripts/build_samples.py --report   # print the counts and the measured shares
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[1])

from scripts.samplesupport.cli import main  # noqa: E402 - the path comes first

if __name__ == "__main__":
    sys.exit(main())
