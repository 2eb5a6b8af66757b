"""Render labelled pages with real programs and themes.

Usage::

    python scripts/render_pages OUT --texts FOLDER --work FOLDER --programs hexo,mhonarc/default --pages 150 --seed 1

One file ``OUT/<program>-<theme>.jsonl.xz`` is written for each theme. Each line is one page with its gold text; see
``README.md`` beside this file.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[2])

from scripts.render_pages.cli import main  # noqa: E402 - the path comes first

if __name__ == "__main__":
    sys.exit(main())
