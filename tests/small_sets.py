"""Small made-up sets in place of the data of the benchmarks and experiments."""

import base64
import json
import lzma
import random
from pathlib import Path
from typing import Any, Final

CHARACTERS: Final = (
    "春夏秋冬东西南北山水风云日月星辰花草树木江河湖海城乡村镇道路桥梁车船人家天地年节学校工厂商店银行医院"
)


def sentence(source: random.Random, *, english: bool) -> str:
    """A sentence of random words."""
    if english:
        words = ["".join(source.choices("aeioulnrst", k=source.randint(2, 8))) for _ in range(12)]
        return " ".join(words).capitalize() + "."
    return "".join(source.choices(CHARACTERS, k=24)) + "。"


def text(source: random.Random, *, english: bool = False) -> list[str]:
    """The sentences of a document."""
    return [sentence(source, english=english) for _ in range(12)]


def rows(name: str, count: int, source: random.Random) -> list[dict[str, Any]]:
    """Documents two by two: one, and its copy without the last two sentences."""
    english, made = name.endswith("-en"), []
    for number in range(count):
        whole = text(source, english=english)
        for part, sentences in enumerate((whole, whole[:-2])):
            row = {"id": f"{number}-{part}", "text": "\n".join(sentences), "group": f"group {number}"}
            if name not in {"edits-zh", "manual-zh", "short-zh"}:
                row["title"] = whole[0][:12]
            made.append({**row, "time": f"2024010{1 + part}"} if "statutes" in name else row)
    return made


def write_sets(folder: Path) -> Path:
    """Fill a folder like the one that ``ES_DEDUP_DATA`` names; returns it."""
    source = random.Random(5)
    for name in (
        "broadcast-zh",
        "portal-zh",
        "news-zh-2025",
        "judged-en",
        "judged-gov",
        "news-en",
        "weekly-rust",
        "edits-zh",
        "short-zh",
        "manual-zh",
        "statutes-zh",
    ):
        made = rows(name, 25, source)
        with lzma.open(folder / f"{name}.jsonl.xz", "wt", encoding="utf-8") as file:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in made)
        lines = ["id_a\tid_b\tlabel"]
        lines += [f"{at}-0\t{at}-1\tdup" for at in range(25)]
        lines += [f"{at}-0\t{at + 1}-0\tdiff" for at in range(24)]
        (folder / f"{name}.pairs.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for name in ("pages-mixed", "pages-en", "pages-zh", "pages-threads", "pages-web"):
        with lzma.open(folder / f"{name}.jsonl.xz", "wt", encoding="utf-8") as file:
            file.writelines(json.dumps(raw_page(name, at, source)) + "\n" for at in range(4))
    return folder


def raw_page(name: str, number: int, source: random.Random) -> dict[str, Any]:
    """A page with its gold text, as bytes."""
    sentences = text(source, english=name == "pages-en")
    html = f"<nav><a href=/>x</a></nav><article>{''.join(f'<p>{line}</p>' for line in sentences)}</article>"
    row = {
        "id": f"set/{number}",
        "html_base64": base64.b64encode(html.encode()).decode(),
        "text": "\n".join(sentences),
    }
    return {**row, "kind": "article"} if name == "pages-mixed" else row
