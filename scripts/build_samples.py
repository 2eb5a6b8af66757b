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

import argparse
import html
import json
import re
import sys
import unicodedata
import zlib
from calendar import month_name
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import opencc

if TYPE_CHECKING:
    from collections.abc import Callable

SAMPLES = Path(__file__).resolve().parent.parent / "samples"
SOURCES = SAMPLES / "sources"
CLOSERS = "”’」』）)"
SENTENCE_END = {"zh": f"[。！？][{CLOSERS}]*", "en": f"[.!?][{CLOSERS}]* "}
HALF_WIDTH = str.maketrans("，；：！？（）", ",;:!?()")
CORNER = str.maketrans("“”‘’", "「」『』")
STRAIGHT = str.maketrans("“”‘’", "\"\"''")
# Kinds whose pages share most of their wording and still are different texts.
SAME_WORDING = {
    "serial-weather",
    "serial-market",
    "serial-flu",
    "serial-river",
    "video-template",
    "list-template",
    "short-note",
}


@dataclass(frozen=True)
class Para:
    """One paragraph: ``p`` text, ``h`` sub-heading, ``q`` quotation, ``n`` site notice, ``c`` credit."""

    kind: str
    text: str


@dataclass(frozen=True)
class Story:
    """An article as it was written, before any change."""

    name: str
    lang: str
    title: str
    date: str
    author: str
    paras: tuple[Para, ...]


@dataclass(frozen=True)
class Site:
    """A web site: its shell has the same name."""

    name: str
    label: str
    url: str
    lang: str
    style: str
    charset: str


@dataclass
class Page:
    """One page to be written: a story in a shell, after the listed changes."""

    ident: str
    site: Site
    story: Story
    paras: list[Para]
    title: str
    shell: str
    charset: str
    declared: str
    date: str
    bom: bool = False
    ops: list[str] = field(default_factory=list)

    @property
    def main_text(self) -> str:
        """The true main text: paragraphs joined by newlines, without notices and credits."""
        return "\n".join(p.text for p in self.paras if p.kind not in "nc")


# --------------------------------------------------------------------------- reading the sources


def read_rows(path: Path, columns: int) -> list[list[str]]:
    """Rows of a ``|``-separated table; blank lines and ``#`` lines are left out."""
    rows = []
    for line in path.read_text("utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            cells = [cell.strip() for cell in line.split("|", columns - 1)]
            rows.append(cells + [""] * (columns - len(cells)))
    return rows


def read_lines(name: str) -> list[str]:
    """Non-empty lines of a source file without ``#`` lines."""
    lines = (SOURCES / name).read_text("utf-8").splitlines()
    return [line for line in lines if line.strip() and not line.startswith("#")]


def parse_story(name: str, lang: str, text: str) -> Story:
    """Read ``key: value`` lines up to the first blank line, then paragraphs."""
    head, _, body = text.strip("\n").partition("\n\n")
    meta = dict(re.split(r":\s*", line, maxsplit=1) for line in head.splitlines())
    paras = tuple(Para("p", " ".join(p.split("\n"))) for p in body.strip().split("\n\n") if p.strip())
    return Story(
        name,
        lang,
        meta["title"].strip(),
        meta.get("date", "").strip() or "2026-01-01",
        meta.get("author", "").strip(),
        paras,
    )


def parse_file(path: Path, lang: str) -> dict[str, Story]:
    """Stories of one file: the whole file, or the records that begin with ``=== name``."""
    text = path.read_text("utf-8")
    if not text.startswith("=== "):
        return {path.stem: parse_story(path.stem, lang, text)}
    stories = {}
    for record in re.split(r"^=== ", text, flags=re.MULTILINE)[1:]:
        name, _, rest = record.partition("\n")
        stories[name.strip()] = parse_story(name.strip(), lang, rest)
    return stories


@cache
def load_stories() -> dict[str, Story]:
    """All stories of both languages by name."""
    stories: dict[str, Story] = {}
    for lang in ("zh", "en"):
        for path in sorted((SOURCES / lang).glob("*.md")):
            found = parse_file(path, lang)
            if twice := stories.keys() & found.keys():
                raise SystemExit(f"story defined twice: {sorted(twice)}")
            stories.update(found)
    return stories


@cache
def load_extra(name: str) -> dict[str, Story]:
    """Blocks or site notices by name."""
    return parse_file(SOURCES / f"{name}.md", "")


@cache
def load_sites() -> dict[str, Site]:
    """All sites by name."""
    return {row[0]: Site(*row) for row in read_rows(SOURCES / "sites.txt", 6)}


def expand(story: Story) -> list[Para]:
    """Replace ``@include``, ``@quote`` and ``@notice`` lines by the text that they name."""
    result: list[Para] = []
    for para in story.paras:
        if not para.text.startswith("@"):
            result.append(para)
            continue
        command, name, *numbers = para.text.split()
        if command == "@notice":
            result += [Para("n", p.text) for p in load_extra("notices")[name].paras]
            continue
        other = load_stories()[name]
        paras = expand(other)
        if command == "@include":
            result += [Para("h", other.title), *paras]
        elif numbers == ["all"]:
            result += [replace(p, kind="q") for p in paras]
        else:
            result += [replace(paras[int(n) - 1], kind="q") for n in numbers]
    return result


# --------------------------------------------------------------------------- changes to a page


def split_para(para: Para, lang: str) -> list[Para]:
    """Cut a paragraph in two at the sentence end nearest to its middle."""
    ends = [m.end() for m in re.finditer(SENTENCE_END[lang], para.text)]
    ends = [e for e in ends if 15 < e < len(para.text) - 15]
    if para.kind != "p" or not ends:
        return [para]
    cut = min(ends, key=lambda e: abs(e - len(para.text) // 2))
    return [Para("p", para.text[:cut].strip()), Para("p", para.text[cut:].strip())]


def recut(paras: list[Para], how: str, lang: str) -> list[Para]:
    """Split every paragraph (``split``), join pairs (``merge``) or join all but the ends (``block``)."""
    if how == "split":
        return [part for para in paras for part in split_para(para, lang)]
    glue = " " if lang == "en" else ""
    if how == "merge":
        groups = [paras[i : i + 2] for i in range(0, len(paras), 2)]
    else:
        groups = [paras[:1], paras[1:-1], paras[-1:]]
    return [Para("p", glue.join(p.text for p in group)) for group in groups]


@cache
def synonyms(lang: str) -> list[tuple[str, str]]:
    """Replacement pairs, the longest left side first."""
    pairs = [line.partition("=")[::2] for line in read_lines(f"synonyms-{lang}.txt")]
    return sorted(pairs, key=lambda pair: (-len(pair[0]), pair[0]))


def replace_words(text: str, lang: str) -> str:
    """Replace words by synonyms; a replaced word is not replaced again."""
    table = dict(synonyms(lang))
    words = "|".join(re.escape(left) for left, _ in synonyms(lang))
    pattern = rf"\b(?:{words})\b" if lang == "en" else words

    def swap(match: re.Match[str]) -> str:
        new = table[match[0].lower()]
        return new.capitalize() if match[0][0].isupper() else new

    return re.sub(pattern, swap, text, flags=re.IGNORECASE if lang == "en" else 0)


@cache
def converter(config: str) -> opencc.OpenCC:
    """An OpenCC converter (made once)."""
    return opencc.OpenCC(config)


def map_text(page: Page, change: Callable[[str], str]) -> None:
    """Apply a function to every paragraph and to the title."""
    page.paras = [replace(p, text=change(p.text)) for p in page.paras]
    page.title = change(page.title)


def op_punct(page: Page, how: str) -> None:
    """Change the form of the punctuation marks."""
    table = {"half": HALF_WIDTH, "corner": CORNER, "straight": STRAIGHT}[how]
    map_text(page, lambda text: text.translate(table))


def op_insert(page: Page, rest: str) -> None:
    """Insert a block after the paragraph with the given number."""
    number, name = rest.split()
    block = load_extra("blocks")[name].paras
    page.paras[int(number) : int(number)] = [Para("p", p.text) for p in block]


def op_dateline(page: Page, rest: str) -> None:
    """Put a dateline before the first paragraph."""
    glue = " " if page.story.lang == "en" else "　"
    page.paras[0] = Para("p", rest + glue + page.paras[0].text)


def op_head(page: Page, rest: str) -> None:
    """Keep the first part of the text (a share such as ``0.35``) and break off in mid-sentence."""
    left = int(sum(len(p.text) for p in page.paras) * float(rest))
    kept: list[Para] = []
    for para in page.paras:
        if left > 0:
            kept.append(replace(para, text=para.text[:left].rstrip()))
        left -= len(para.text)
    dots = "…" if page.story.lang == "en" else "……"
    page.paras = [*kept[:-1], replace(kept[-1], text=kept[-1].text + dots)]


def op_charset(page: Page, rest: str) -> None:
    """Set the real and the declared character set (``gbk``, ``gbk/none``, ``utf-8/gb2312``)."""
    page.charset, _, declared = rest.partition("/")
    page.declared = declared or page.charset


def apply_op(page: Page, op: str) -> None:
    """Apply one change of the page table."""
    name, _, rest = op.partition(" ")
    lang = page.story.lang
    if name == "keep":
        page.paras = [page.paras[int(n) - 1] for n in rest.split(",")]
    elif name == "closing":
        page.paras.append(Para("c", rest))
    elif name == "recut":
        page.paras = recut(page.paras, rest, lang)
    elif name == "synonyms":
        page.paras = [replace(p, text=replace_words(p.text, lang)) for p in page.paras]
    elif name == "opencc":
        map_text(page, converter(rest).convert)
    elif name == "date":
        page.date = rest
    elif name == "shell":
        page.shell = rest
    elif name == "bom":
        page.bom = True
    else:
        {
            "punct": op_punct,
            "insert": op_insert,
            "dateline": op_dateline,
            "charset": op_charset,
            "head": op_head,
        }[name](page, rest)


@cache
def load_pages() -> dict[str, Page]:
    """Every page of the page table after its changes, by id."""
    pages: dict[str, Page] = {}
    for name, story_name, ops, title in read_rows(SOURCES / "pages.txt", 4):
        site, story = load_sites()[name.split("/")[0]], load_stories()[story_name]
        ident = f"{name}.html"
        if ident in pages:
            raise SystemExit(f"page listed twice: {ident}")
        page = Page(
            ident,
            site,
            story,
            expand(story),
            title or story.title,
            site.name,
            site.charset,
            site.charset,
            story.date,
        )
        page.ops = [op.strip() for op in ops.split(";") if op.strip()]
        for op in page.ops:
            apply_op(page, op)
        pages[ident] = page
    return pages


# --------------------------------------------------------------------------- writing a page


def number(text: str) -> int:
    """A stable number for a text."""
    return zlib.crc32(text.encode("utf-8"))


def pick(items: list[str], count: int, seed: str) -> list[str]:
    """A stable choice of some items."""
    return sorted(items, key=lambda item: number(seed + item))[:count]


def wrap(text: str, width: int) -> str:
    """Break a text by ``<br>`` after a fixed number of characters, as old editors did."""
    lines = [text[i : i + width] for i in range(0, len(text), width)]
    return "<br>\n".join(html.escape(line, quote=False) for line in lines)


def render_para(para: Para, style: str) -> str:
    """The HTML of one paragraph in the style of the site."""
    text = html.escape(para.text, quote=False)
    if para.kind == "h":
        return f"<b>{text}</b><br>" if style in ("br", "wrap") else f"<h3>{text}</h3>"
    if para.kind == "q":
        return f"<blockquote>{text}</blockquote>"
    if para.kind == "c":
        return f'<p align="right">{text}</p>'
    return {
        "p": f"<p>{text}</p>",
        "indent": f"<p>　　{text}</p>",
        "span": f'<p><span style="font-size: 12pt; font-family: 宋体">　　{text}</span></p>',
        "br": f"&nbsp;&nbsp;&nbsp;&nbsp;{text}<br><br>",
        "wrap": f"　　{wrap(para.text, 26)}<br><br>",
    }[style]


def to_site_script(text: str, page: Page) -> str:
    """Text of the shared pools in the script of the site."""
    config = {"tw": "s2twp", "hk": "s2hk"}.get(page.site.lang)
    return converter(config).convert(text) if config else text


def pool(kind: str, page: Page) -> list[str]:
    """Headlines or comments in the language and script of the site."""
    lang = "en" if page.site.lang == "en" else "zh"
    return [to_site_script(line, page) for line in read_lines(f"pool-{kind}-{lang}.txt")]


def link(text: str, extra: str = "") -> str:
    """A list item with a link."""
    return f'<li><a href="/a/{number(text) % 10**7}.html">{text}</a>{extra}</li>'


def render_list(name: str, args: list[str], page: Page) -> str:
    """The HTML of a ``{{related:8}}``, ``{{hot:10}}``, ``{{comments:2}}`` or ``{{dated:1:10}}`` mark."""
    if name == "comments":
        rows = [row.split("|") for row in pick(pool("comments", page), int(args[0]), page.ident)]
        return "\n".join(f'<div class="cmt"><b>{who}</b><p>{what}</p></div>' for who, what in rows)
    heads = pool("headlines", page)
    if name == "dated":
        chosen = pick(heads, 20, page.site.name)[int(args[0]) - 1 : int(args[1])]
        return "\n".join(link(head, f"<span>{page.date}</span>") for head in chosen)
    seed = page.site.name if name == "hot" else page.ident
    return "\n".join(link(head) for head in pick(heads, int(args[0]), seed))


def page_number(page: Page) -> str:
    """The document number of a page."""
    return str(10**6 + number(page.ident) % (9 * 10**6))


def page_url(page: Page) -> str:
    """The address of a page."""
    year, month, day = page.date.split("-")
    slug = page.ident.split("/")[1].removesuffix(".html")
    return page.site.url.format(y=year, m=month, d=day, num=page_number(page), slug=slug)


def meta_charset(declared: str) -> str:
    """The declaration of the character set; nothing for ``none``."""
    if declared == "none":
        return '<meta http-equiv="X-UA-Compatible" content="IE=edge">'
    if declared == "utf-8":
        return '<meta charset="utf-8">'
    return f'<meta http-equiv="Content-Type" content="text/html; charset={declared}">'


def page_values(page: Page) -> dict[str, str]:
    """The values of the plain marks of a shell."""
    year, month, day = page.date.split("-")
    first = next((p.text for p in page.paras if p.kind == "p"), page.title)
    staff = "Newsroom" if page.site.lang == "en" else to_site_script("综合报道", page)
    return {
        "title": html.escape(page.title, quote=True),
        "json_title": json.dumps(page.title, ensure_ascii=False)[1:-1],
        "url": page_url(page),
        "num": page_number(page),
        "small": str(number(page.ident) % 3000 + 12),
        "date": page.date,
        "date_cn": f"{year}年{month}月{day}日",
        "weekday": "星期" + "一二三四五六日"[date.fromisoformat(page.date).weekday()],
        "date_en": f"{int(day)} {month_name[int(month)]} {year}",
        "author": to_site_script(page.story.author or staff, page),
        "source": html.escape(page.site.label),
        "editor": "值班编辑",
        "desc": html.escape(first[:60], quote=True),
        "meta_charset": meta_charset(page.declared),
        "body": "\n".join(render_para(p, page.site.style) for p in page.paras),
        "notice": "\n".join(f"<p>{p.text}</p>" for p in load_extra("notices")[page.story.lang].paras),
    }


@cache
def shell_text(name: str) -> str:
    """The template of a shell."""
    return (SAMPLES / "shells" / f"{name}.html").read_text("utf-8")


def render_page(page: Page) -> bytes:
    """The bytes of a page in its real character set."""
    values = page_values(page)

    def fill(match: re.Match[str]) -> str:
        name, *args = match[1].split(":")
        return render_list(name, args, page) if args else values[name]

    text = re.sub(r"\{\{([a-z0-9_:]+)\}\}", fill, shell_text(page.shell))
    data = text.encode(page.charset, errors="xmlcharrefreplace")
    return b"\xef\xbb\xbf" + data if page.bom else data


# --------------------------------------------------------------------------- labels


@dataclass(frozen=True)
class Pair:
    """A labelled pair with its measured shares of common text."""

    a: str
    b: str
    label: str
    kind: str
    note: str
    of_shorter: float
    of_longer: float
    lengths: tuple[int, int]

    @property
    def relation(self) -> str:
        """The relation from the point of view of ``a``."""
        if self.label == "dup":
            same = normal(load_pages()[self.a].main_text) == normal(load_pages()[self.b].main_text)
            return "exact" if same else "duplicate"
        if self.label == "contain":
            return "contains" if self.lengths[0] > self.lengths[1] else "contained"
        return "different"


@cache
def normal(text: str) -> str:
    """NFKC, simplified characters, lower case, no white space."""
    text = converter("t2s").convert(unicodedata.normalize("NFKC", text)).lower()
    return "".join(text.split())


@cache
def grams(text: str, size: int) -> tuple[str, ...]:
    """All runs of ``size`` characters of the letters and digits of a text."""
    text = "".join(char for char in normal(text) if char.isalnum())
    return tuple(text[i : i + size] for i in range(max(1, len(text) - size + 1)))


def share(part: str, whole: str, size: int) -> float:
    """The share of the runs of ``part`` that also stand in ``whole``."""
    if not part or not whole:
        return 0.0
    runs, known = grams(part, size), set(grams(whole, size))
    return sum(run in known for run in runs) / len(runs)


def measure(a: str, b: str, label: str, kind: str, note: str) -> Pair:
    """Measure a labelled pair."""
    pages = load_pages()
    for ident in (a, b):
        if ident not in pages:
            raise SystemExit(f"label names an unknown page: {ident}")
    size = 10 if "en" in (pages[a].story.lang, pages[b].story.lang) else 4
    texts = [pages[a].main_text, pages[b].main_text]
    lengths = (len(normal(texts[0])), len(normal(texts[1])))
    short, long = sorted(texts, key=lambda text: len(normal(text)))
    return Pair(a, b, label, kind, note, share(short, long, size), share(long, short, size), lengths)


def fault(pair: Pair) -> str:
    """What speaks against the label of a pair; empty if nothing does."""
    low, high, kind = pair.of_longer, pair.of_shorter, pair.kind
    ratio = min(pair.lengths) / max(1, *pair.lengths)
    fits = {
        "dup": low >= 0.62 and ratio >= 0.65,
        "contain": high >= 0.75 and low <= 0.55 and ratio <= 0.55,
        "partial": 0.1 <= high <= 0.7 and low <= 0.45,
        "diff": high <= 0.3 or kind in SAME_WORDING,
    }[pair.label]
    if kind == "cut-contain" and ratio > 0.45:
        fits = False
    return "" if fits else f"{pair.a} {pair.b} {pair.label} {kind}: {high:.2f} {low:.2f} {ratio:.2f}"


def row_pairs(names: str) -> list[tuple[str, str]]:
    """``a b``, ``star: base v1 v2 ...`` or ``each: a b c ...`` as pairs of ids."""
    how, _, rest = names.rpartition(":")
    ids = [f"{name}.html" for name in rest.split()]
    if how == "each":
        return list(combinations(ids, 2))
    return [(ids[0], other) for other in ids[1:]]


@cache
def load_pairs() -> list[Pair]:
    """All labelled pairs; stops when one is listed twice or does not fit its measure."""
    pairs, seen, faults = [], set(), []
    for label, kind, names, note in read_rows(SOURCES / "pairs.txt", 4):
        for a, b in row_pairs(names):
            if a == b or frozenset((a, b)) in seen:
                faults.append(f"pair listed twice: {a} {b}")
            seen.add(frozenset((a, b)))
            pairs.append(measure(a, b, label, kind, note))
    faults += [text for pair in pairs if (text := fault(pair))]
    if faults:
        raise SystemExit("\n".join(faults))
    return pairs


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


# --------------------------------------------------------------------------- command line


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


if __name__ == "__main__":
    sys.exit(main())
