"""Render labelled pages with real programs and themes.

Usage::

    python -m scripts.render_pages OUT --texts FOLDER --work FOLDER --programs trac,roundup/devel --pages 150 --seed 1

One file ``OUT/<program>-<theme>.jsonl.xz`` is written for each theme. Each line is one page with its gold text; see
``README.md`` beside this file.
"""

from __future__ import annotations

import argparse
import base64
import json
import lzma
import sys
import time
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from scripts.render_pages import composing, corpus, gold
from scripts.render_pages.installing import Failed, Work
from scripts.render_pages.programs import LANGUAGES, PROGRAMS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scripts.render_pages.model import Page
    from scripts.render_pages.programs import Program

MOST_BYTES = 400_000
BOOK = "debian-handbook=11.20220922"


def main(arguments: Sequence[str] | None = None) -> int:
    """Render the programs that the arguments name; 1 if a theme gave no page."""
    options = _parser().parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    work = Work(options.work.resolve())
    missing = 0
    for name in options.programs.split(","):
        program_name, _slash, theme_name = name.partition("/")
        program = PROGRAMS[program_name]
        for theme in [theme_name] if theme_name else program.themes:
            started = time.monotonic()
            kept, rendered = _render(program, theme, work, options)
            missing += not kept
            seconds = time.monotonic() - started
            print(f"{program.name}-{theme}: {kept} pages of {rendered}, {seconds:.0f} s", flush=True)
    return int(missing > 0)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m scripts.render_pages", description=__doc__)
    parser.add_argument("out", type=Path, metavar="OUT", help="folder of the .jsonl.xz files")
    parser.add_argument("--texts", type=Path, required=True, help="folder of the text sets")
    parser.add_argument("--work", type=Path, required=True, help="folder of installed programs and sites")
    parser.add_argument("--programs", default=",".join(PROGRAMS), help="names, or program/theme")
    parser.add_argument("--pages", type=int, default=150, help="pages of each theme (default: %(default)s)")
    parser.add_argument("--per-site", type=int, default=25, help="pages of one site (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of texts and configurations")
    return parser


def _render(program: Program, theme: str, work: Work, options: argparse.Namespace) -> tuple[int, int]:
    """Write the pages of a theme; how many were kept and how many threads there were."""
    kept = rendered = 0
    part = options.out / f"{program.name}-{theme}.part"
    with lzma.open(part, "wt", encoding="utf8", preset=6) as lines:
        for number in range(-(-options.pages // options.per_site)):
            count = min(options.per_site, options.pages - number * options.per_site)
            rng = Random(f"{options.seed} {program.name} {theme} {number}")
            language = rng.choices(list(LANGUAGES), weights=list(LANGUAGES.values()))[0]
            texts = corpus.load(language, options.texts, work.debian("books", [BOOK]))
            site = composing.site(program.name, theme, texts, program.shape, rng, count)
            rendered += count
            try:
                for page in program.render(site, work):
                    if kept < options.pages and _fit(page):
                        record = {
                            "id": f"{program.name}-{theme}-{kept:04d}",
                            "site": site.host,
                            "source": "rendered",
                            "program": program.name,
                            "theme": theme,
                            "language": language,
                            "url": f"https://{site.host}{page.path}",
                            "kind": "thread",
                            "html_base64": base64.b64encode(page.html).decode("ascii"),
                            "text": page.gold,
                        }
                        lines.write(json.dumps(record, ensure_ascii=False) + "\n")
                        kept += 1
            except Failed as failed:
                print(f"{program.name}-{theme}, site {number}: {failed}", file=sys.stderr)
    if kept:
        part.rename(part.with_suffix(".jsonl.xz"))
    else:
        part.unlink()
    return kept, rendered


def _fit(page: Page) -> bool:
    """Whether the page is of sane size and shows its gold text; what is dropped is reported."""
    if len(page.html) >= MOST_BYTES:
        print(f"dropped {page.path}: {len(page.html)} bytes", file=sys.stderr)
        return False
    if not gold.exact(page.gold, page.html):
        share, whole = gold.shown_share(page.gold, page.html)
        print(f"dropped {page.path}: 5-grams {share:.3f}, lines {whole:.3f}", file=sys.stderr)
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
