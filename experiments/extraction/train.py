"""Train the block model of the extraction on labelled pages, or measure it on sites that it was not trained on.

    python -m experiments.extraction.train own.jsonl --output own.npz
    python -m experiments.extraction.train pages-web.jsonl.xz pages-threads.jsonl.xz … --rendered FOLDER --fresh --output MODEL.npz
    python -m experiments.extraction.train pages-web.jsonl.xz pages-threads.jsonl.xz … --rendered FOLDER --evaluate

The first form adds trees to a model and prints figures by site; the others train from scratch and print figures by source.

A page is one JSON line: html_base64 (the bytes as served), html or file, text (the main text), and if known id, url, site, source, kind.
Pages without text are left out. Pages of one site stand together on one side of every split; of rendered pages those of one program.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from es_dedup.errors import DedupError, InputError
from es_dedup.extraction.block_model import load_model
from experiments.extraction import evaluate
from experiments.extraction.continuation import MORE_TREES, read_pages, retrain
from experiments.extraction.fitting import EVEN, WITH_COMMENTS, Fitted, Settings, Trainer
from experiments.extraction.model_file import model_bytes
from experiments.extraction.pages import LabelledPage, read_labelled, read_rendered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_dedup.extraction.block_model import BlockModel

FEWEST_SITES: Final = 20
"""Sites that training from scratch needs: it learns which names and words hold main text from what several sites share."""
LEFT_OUT: Final = 3
"""Exit code: done, but some pages were left out."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Train as the arguments say, print the figures, write the model; the exit code."""
    parser = parser_of()
    options = parser.parse_args(arguments)
    fresh = options.fresh or options.evaluate
    if bool(options.output) == bool(options.evaluate):
        parser.error("either --output or --evaluate is needed")
    if options.rendered and not fresh:
        parser.error("--rendered needs --fresh or --evaluate")
    if options.output and not options.output.parent.is_dir():
        parser.error(f"there is no folder {options.output.parent}")
    if find_spec("catboost") is None:
        parser.exit(1, "error: training needs CatBoost: pip install -r experiments/requirements.txt\n")
    given = {
        name: value
        for name in ("trees", "blocks", "fits", "threads")
        if (value := getattr(options, name)) is not None
    }
    settings = replace(Settings() if fresh else MORE_TREES, **given)
    try:
        model, figures, left_out = (train_afresh if fresh else train_further)(options, settings)
    except DedupError as error:
        parser.exit(1, f"error: {error}\n")
    if model:
        options.output.write_bytes(model_bytes(model))
        print(
            f'{len(model.trees.leaves)} trees: {options.output}; to use them: extraction.model = "{options.output}"'
        )
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1), encoding="utf8")
    return LEFT_OUT if left_out else 0


def train_further(
    options: argparse.Namespace, settings: Settings
) -> tuple[BlockModel, dict[str, Any], list[str]]:
    """Add trees to a model for more pages: the model, its figures by site, and why pages were left out."""
    model = load_model(options.upon)
    pages, left_out = read_pages(options.files)
    for line in left_out:
        print(line)
    retrained = retrain(pages, model, settings)
    rows = [*retrained.sites, retrained.total]
    width = max(len(row.site) for row in rows)
    print(f"{'site':{width}s} pages  F1 before  F1 out of fold  missed")
    for row in rows:
        print(
            f"{row.site:{width}s} {row.pages:5d} {row.before:10.3f} {row.out_of_fold:15.3f} {row.missed:7d}"
        )
    if retrained.by_page:
        print("pages of one site: single pages were held out, so the figures apply to this site only")
    return retrained.model, {row.site: asdict(row) for row in rows}, left_out


def train_afresh(
    options: argparse.Namespace, settings: Settings
) -> tuple[BlockModel | None, dict[str, Any], list[str]]:
    """Train in folds and, unless only the figures are wanted, on all pages: the model and its figures by source."""
    start = time.perf_counter()

    def say(text: str) -> None:
        print(f"{time.perf_counter() - start:6.0f} s  {text}", flush=True)

    pages: list[LabelledPage] = []
    for path in options.files:
        pages += read_labelled(path)
    for path in sorted(options.rendered.glob("*.jsonl*")) if options.rendered else ():
        pages += read_rendered(path, options.per_theme)
    sites = len({page.site for page in pages})
    say(f"{len(pages)} pages of {sites} sites")
    if sites < FEWEST_SITES:
        few = f"of {sites} sites; a model from scratch needs {FEWEST_SITES}: continue from a model, without --fresh or --evaluate"
        raise InputError("labelled pages", None, few)
    trainer = Trainer(pages, settings, say, by_source=options.evaluate == "sources")
    if len(trainer.names) == 1:
        few = "of one source; --evaluate sources needs two: name more files, or use --evaluate sites"
        raise InputError("labelled pages", None, few)
    fitted = trainer.fit(final=not options.evaluate)
    scores = [
        evaluate.page_agreement(*row) for row in zip(pages, fitted.outside, fitted.threads, strict=True)
    ]
    outside, intervals = evaluate.by_source(pages, scores), evaluate.interval(pages, scores)
    inside = (
        evaluate.by_source(
            pages,
            [evaluate.page_agreement(*row) for row in zip(pages, fitted.fitted, fitted.threads, strict=True)],
        )
        if fitted.fitted
        else {}
    )
    print(f"{'source':20s} pages  F1 out of fold  90 % of resampled sites  missed  F1 fitted")
    for name, row in outside.items():
        print(
            f"{name:20s} {row['pages']:5d} {row['f1']:15.3f} {'{:16.3f} {:7.3f}'.format(*intervals[name])} {row['missed']:7d} "
            f"{inside[name]['f1'] if inside else float('nan'):10.3f}"
        )
    right = kinds_right(pages, fitted)
    print(f"page kind right, out of fold: {right}")
    figures = {"out_of_fold": outside, "fitted": inside, "page_kind_right": right}
    if fitted.model:
        fitted.model.card = {"pages": len(pages), "sites": sites, "trees": settings.trees, **figures}
    return fitted.model, figures, []


def kinds_right(pages: list[LabelledPage], fitted: Fitted) -> dict[str, float]:
    """Shares of threads and of other pages whose kind is right, out of fold."""
    kinds = [
        (page.kind == "thread", thread > EVEN)
        for page, thread in zip(pages, fitted.threads, strict=True)
        if page.source not in WITH_COMMENTS
    ]
    threads, others = (
        [found for is_thread, found in kinds if is_thread],
        [found for is_thread, found in kinds if not is_thread],
    )
    return {"threads": round(float(np.mean(threads)), 4), "others": round(1 - float(np.mean(others)), 4)}


def parser_of() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.extraction.train",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("files", nargs="+", type=Path, metavar="PAGES", help="labelled pages, JSONL or JSONL.xz")
    add("--output", "-o", type=Path, metavar="MODEL", help="write the model to this file")
    add(
        "--upon",
        default="",
        metavar="MODEL",
        help="model to continue from (default: the model of the package)",
    )
    add("--fresh", action="store_true", help="train from scratch, on these pages alone")
    add(
        "--evaluate",
        nargs="?",
        const="sites",
        choices=("sites", "sources"),
        help="train from scratch in folds only, write no model; leave out a fifth of the sites at a time, or a source",
    )
    add(
        "--rendered",
        type=Path,
        metavar="FOLDER",
        help="pages made by scripts/render_pages, one file per program and theme",
    )
    add("--per-theme", type=int, default=40, help="maximum number of rendered pages of a theme")
    add("--fits", type=int, help="sets of trees whose mean is the model (default: 1)")
    add("--blocks", type=int, help="maximum number of blocks of a page that are learned from (default: 120)")
    add("--trees", type=int, help="trees of each fit (default: 220; 60 if a model is continued)")
    add(
        "--threads",
        type=int,
        help="processor cores (default: 1, which gives the same model on every machine)",
    )
    add("--json", type=Path, metavar="FILE", help="write the figures to this file")
    return parser


if __name__ == "__main__":
    sys.exit(main())
