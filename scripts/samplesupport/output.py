"""The files that are built, and those on disk."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from scripts.samplesupport.pagetable import load_pages
from scripts.samplesupport.pairs import Pair, load_pairs
from scripts.samplesupport.shells import page_url, render_page
from scripts.samplesupport.tables import SAMPLES

if TYPE_CHECKING:
    from scripts.samplesupport.pages import Page


def label_line(pair: Pair) -> str:
    """One line of ``labels.jsonl``."""
    note = pair.note
    if pair.label != "diff":
        shares = f"common: {pair.of_shorter:.0%} of the shorter, {pair.of_longer:.0%} of the longer"
        note = f"{note}; {shares}" if note else shares
    row = {"id_a": pair.a, "id_b": pair.b, "label": pair.label, "relation": pair.relation, "kind": pair.kind}
    return json.dumps(row | ({"note": note} if note else {}), ensure_ascii=False)


def truth_line(page: Page) -> str:
    """One line of ``truth.jsonl``."""
    lang = {"zh": "zh", "tw": "zh-Hant", "hk": "zh-Hant", "en": "en"}[page.site.lang]
    row = {
        "id": page.ident,
        "url": page_url(page),
        "lang": lang,
        "charset": page.charset,
        "declared": page.declared,
        "bom": page.bom,
        "title": page.title,
        "text": page.main_text,
    }
    return json.dumps(row, ensure_ascii=False)


def build() -> dict[str, bytes]:
    """Every output file by its path relative to ``samples/``."""
    pages = load_pages()
    files = {f"pages/{ident}": render_page(page) for ident, page in pages.items()}
    labels = "\n".join(label_line(pair) for pair in load_pairs()) + "\n"
    truth = "\n".join(truth_line(page) for page in pages.values()) + "\n"
    return files | {"labels.jsonl": labels.encode("utf-8"), "truth.jsonl": truth.encode("utf-8")}


def stale(files: dict[str, bytes]) -> list[str]:
    """Paths that are missing, differ or do not belong there."""
    there = {path.relative_to(SAMPLES).as_posix() for path in (SAMPLES / "pages").rglob("*.html")}
    wrong = [
        name
        for name, data in files.items()
        if not (SAMPLES / name).is_file() or (SAMPLES / name).read_bytes() != data
    ]
    return sorted(wrong) + sorted(there - files.keys())


def write(files: dict[str, bytes]) -> None:
    """Write what differs and remove pages that are no longer listed."""
    for name in stale(files):
        path = SAMPLES / name
        if name in files:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(files[name])
        else:
            path.unlink()
