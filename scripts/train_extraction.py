"""Train the block model of the extraction on labelled pages, or measure it on sites it was not trained on.

    python scripts/train_extraction.py pages-web.jsonl.xz pages-threads.jsonl.xz … [--rendered FOLDER] [--out MODEL] [--json FIGURES]

A page is one JSON line: id, html_base64 (the bytes as served), text (the main text), and if known url, site, source, kind.
Pages without text are left out. Pages of one site stand together on one side of every split; of rendered pages those of one program.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

from es_dedup.extraction.learning import evaluate
from es_dedup.extraction.learning.pages import LabelledPage, read_labelled, read_rendered
from es_dedup.extraction.learning.train import WITH_COMMENTS, Fitted, Settings, Trainer
from es_dedup.extraction.model import DATA_FILE

PACKAGE = Path(__file__).resolve().parents[1] / "es_dedup" / "extraction"


def main(options: argparse.Namespace) -> None:
    """Read the pages, train in folds and on all pages, print the figures, write the model."""
    start = time.perf_counter()

    def say(text: str) -> None:
        print(f"{time.perf_counter() - start:6.0f} s  {text}", flush=True)

    pages: list[LabelledPage] = []
    for path in options.files:
        pages += read_labelled(path)
    for path in sorted(options.rendered.glob("*.jsonl*")) if options.rendered else ():
        pages += read_rendered(path, options.per_theme)
    say(f"{len(pages)} pages of {len({page.site for page in pages})} sites")
    settings = Settings(
        trees=options.trees, blocks=options.blocks, fits=options.fits, threads=options.threads
    )
    by_source = options.evaluate == "sources"
    trainer = Trainer(pages, settings, say, by_source=by_source)
    if len(trainer.names) == 1:
        raise SystemExit(
            "--evaluate sources needs pages of two sources: name more files, or use --evaluate sites"
        )
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
    if fitted.model:
        fitted.model.card = {
            "pages": len(pages), "sites": len({page.site for page in pages}), "trees": options.trees,
            "out_of_fold": outside, "fitted": inside, "page_kind_right": right,
        }  # fmt: skip
        options.out.write_bytes(fitted.model.as_bytes())
        say(f"{options.out}: {options.out.stat().st_size} bytes")
    if options.json:
        options.json.write_text(
            json.dumps({"out_of_fold": outside, "fitted": inside, "page_kind_right": right}, indent=1),
            encoding="utf8",
        )


def kinds_right(pages: list[LabelledPage], fitted: Fitted) -> dict[str, float]:
    """Shares of threads and of other pages whose kind is right, out of fold."""
    kinds = [
        (page.kind == "thread", thread > 0.5)
        for page, thread in zip(pages, fitted.threads, strict=True)
        if page.source not in WITH_COMMENTS
    ]
    threads, others = (
        [found for is_thread, found in kinds if is_thread],
        [found for is_thread, found in kinds if not is_thread],
    )
    return {"threads": round(float(np.mean(threads)), 4), "others": round(1 - float(np.mean(others)), 4)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="+", type=Path, help="JSONL or JSONL.xz")
    parser.add_argument(
        "--rendered",
        type=Path,
        help="folder of pages made by scripts/render_pages, a file for each program and theme",
    )
    parser.add_argument(
        "--per-theme", type=int, default=40, help="rendered pages of each theme that are read"
    )
    parser.add_argument(
        "--evaluate",
        nargs="?",
        const="sites",
        choices=("sites", "sources"),
        help="train in folds only, write no model; leave out a fifth of the sites at a time, or a source",
    )
    parser.add_argument(
        "--fits", type=int, default=Settings().fits, help="sets of trees whose mean is the model"
    )
    parser.add_argument(
        "--blocks", type=int, default=Settings().blocks, help="blocks of one page that are learned from"
    )
    parser.add_argument("--trees", type=int, default=Settings().trees, help="trees of each pass")
    parser.add_argument(
        "--threads", type=int, default=1, help="processor cores; one gives the same model on every machine"
    )
    parser.add_argument("--out", type=Path, default=PACKAGE / DATA_FILE, help="where the model goes")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    main(parser.parse_args())
