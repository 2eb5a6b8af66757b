"""The command ``build_samples``."""

from __future__ import annotations

import argparse
from collections import Counter

from scripts.samplesupport.output import build, stale, write
from scripts.samplesupport.pagetable import load_pages
from scripts.samplesupport.pairs import load_pairs


def report() -> None:
    """Print the number of pages, the pairs of each kind and the measured shares."""
    pages, pairs = load_pages(), load_pairs()
    linked = {ident for pair in pairs for ident in (pair.a, pair.b)}
    print(f"{len(pages)} pages, {len(pairs)} pairs", dict(Counter(pair.label for pair in pairs)))
    print("pages by language", dict(Counter(page.site.lang for page in pages.values())))
    print("pages by site", dict(Counter(page.site.name for page in pages.values())))
    print("pages by charset", dict(Counter(f"{p.charset}/{p.declared}" for p in pages.values())))
    print("pages without a label", sorted(pages.keys() - linked))
    for (label, kind), count in sorted(Counter((p.label, p.kind) for p in pairs).items()):
        print(f"{label:8} {kind:24} {count}")
    for pair in pairs:
        shares = f"{pair.of_shorter:.2f} {pair.of_longer:.2f}"
        print(f"{shares} {pair.relation:10} {pair.kind:22} {pair.a} {pair.b}")


def main(argv: list[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Build the sample pages and their labels.")
    parser.add_argument("--check", action="store_true", help="exit 1 if the files on disk differ")
    parser.add_argument("--report", action="store_true", help="print counts and measured shares")
    args = parser.parse_args(argv)
    if args.report:
        report()
        return 0
    files = build()
    if args.check:
        wrong = stale(files)
        print("\n".join(f"differs: {name}" for name in wrong) or "samples are up to date")
        return 1 if wrong else 0
    write(files)
    print(f"{len(load_pages())} pages, {len(load_pairs())} labelled pairs")
    return 0
