"""The command line of ``scripts/render_pages``."""

from __future__ import annotations

import argparse
import base64
import json
import lzma
import sys
import time
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from scripts.render_pages import composing, corpus, gold
from scripts.render_pages.installing import Failed, Work
from scripts.render_pages.programs.registry import PROGRAMS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scripts.render_pages.model import Page, Site
    from scripts.render_pages.programs.program import Program

MOST_BYTES = 400_000
BOOK = "debian-handbook=11.20220922"


def main(arguments: Sequence[str] | None = None) -> int:
    """Render what was asked for; 1 if a theme gave no page."""
    asked = _parser().parse_args(arguments)
    asked.out.mkdir(parents=True, exist_ok=True)
    work = Work(asked.work.resolve())
    missing = 0
    for program, theme in _chosen(asked.programs):
        started = time.monotonic()
        kept, seen = _render(program, theme, work, asked)
        missing += not kept
        print(
            f"{program.name}-{theme}: {kept} pages of {seen}, {time.monotonic() - started:.0f} s", flush=True
        )
    return int(missing > 0)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/render_pages", description=(__doc__ or "").strip())
    parser.add_argument("out", type=Path, metavar="OUT", help="folder of the .jsonl.xz files")
    parser.add_argument(
        "--texts", type=Path, required=True, help="folder of the text sets (portal-zh.jsonl.xz, …)"
    )
    parser.add_argument(
        "--work", type=Path, required=True, help="folder where programs are installed and sites built"
    )
    parser.add_argument(
        "--programs", default=",".join(PROGRAMS), help="names, or program/theme; default: all"
    )
    parser.add_argument("--pages", type=int, default=150, help="pages of each theme (default: %(default)s)")
    parser.add_argument(
        "--per-site", type=int, default=25, help="pages of one made-up site (default: %(default)s)"
    )
    parser.add_argument(
        "--seed", type=int, default=1, help="the same seed gives the same texts and configurations"
    )
    return parser


def _chosen(names: str) -> Iterator[tuple[Program, str]]:
    for name in names.split(","):
        program, _slash, theme = name.partition("/")
        for each in [theme] if theme else PROGRAMS[program].themes:
            yield PROGRAMS[program], each


def _render(program: Program, theme: str, work: Work, asked: argparse.Namespace) -> tuple[int, int]:
    """Write the pages of a theme; how many were kept and how many documents there were."""
    kept = seen = 0
    part = asked.out / f"{program.name}-{theme}.part"
    with lzma.open(part, "wt", encoding="utf8", preset=6) as lines:
        for number in range(-(-asked.pages // asked.per_site)):
            count = min(asked.per_site, asked.pages - number * asked.per_site)
            site = _site(program, theme, number, count, work, asked)
            seen += count
            try:
                for page in program.render(site, work):
                    if kept < asked.pages and _fit(page):
                        lines.write(json.dumps(_record(site, page, kept), ensure_ascii=False) + "\n")
                        kept += 1
            except Failed as failed:
                print(f"{site.program}-{site.theme}, site {number}: {failed}", file=sys.stderr)
    if kept:
        part.rename(part.with_suffix(".jsonl.xz"))
    else:
        part.unlink()
    return kept, seen


def _site(
    program: Program, theme: str, number: int, count: int, work: Work, asked: argparse.Namespace
) -> Site:
    rng = Random(f"{asked.seed} {program.name} {theme} {number}")
    language = rng.choices(list(program.languages), weights=list(program.languages.values()))[0]
    texts = corpus.load(language, asked.texts, work.debian("books", [BOOK]))
    return composing.site(program.name, theme, texts, program.shape, rng, count)


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


def _record(site: Site, page: Page, number: int) -> dict[str, Any]:
    return {
        "id": f"{site.program}-{site.theme}-{number:04d}",
        "site": site.host,
        "source": "rendered",
        "program": site.program,
        "theme": site.theme,
        "language": site.language,
        "url": f"https://{site.host}{page.path}",
        "kind": page.document.kind,
        "html_base64": base64.b64encode(page.html).decode("ascii"),
        "text": page.gold,
    }
