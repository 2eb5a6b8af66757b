"""Draws the diagrams of the documents into docs/images; `python scripts/diagrams.py`."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from xml.sax.saxutils import escape

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"
STYLE = (
    "text{font:14px system-ui,sans-serif;fill:#1c2733;text-anchor:middle}"
    ".small{font-size:12px;fill:#51606f}"
    "rect{fill:#eef3f8;stroke:#5b7c9d}.ours{fill:#dff0e6;stroke:#3f8a5f}.store{fill:#fbf3df;stroke:#b08a35}"
    "line{stroke:#51606f;marker-end:url(#head)}.dashed{stroke-dasharray:5 4}"
)
HEAD = '<marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0 8 4 0 8z" fill="#51606f"/></marker>'
LINE = 17  # pixels from one line of text to the next

Place = tuple[float, float]


class Diagram:
    """Boxes by name, and arrows between them, as SVG.

    Args:
        width, height: in pixels.
        title: read out in place of the picture.
    """

    def __init__(self, width: int, height: int, title: str) -> None:
        self._head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            f'role="img" aria-label="{escape(title)}"><title>{escape(title)}</title><style>{STYLE}</style>'
            f'<defs>{HEAD}</defs><rect width="{width}" height="{height}" style="fill:#fff;stroke:none"/>'
        )
        self._parts: list[str] = []
        self._boxes: dict[str, tuple[float, float, float, float]] = {}

    def box(self, name: str, at: Place, size: Place, note: str = "", kind: str = "") -> None:
        """Draw a box around a centre, with its name and, below it, a note whose lines end with ``|``."""
        (x, y), (width, height) = at, size
        self._boxes[name] = (x, y, width / 2, height / 2)
        self._parts.append(
            f'<rect class="{kind}" rx="6" x="{x - width / 2:g}" y="{y - height / 2:g}" width="{width:g}" height="{height:g}"/>'
        )
        notes = note.split("|") if note else []
        top = y + 5 - LINE * len(notes) / 2
        self._text((x, top), name)
        for row, line in enumerate(notes, 1):
            self._text((x, top + LINE * row), line, "small")

    def arrow(self, start: str, end: str, label: str = "", *, shift: float = 0, dashed: bool = False) -> None:
        """Draw an arrow from the border of a box to that of another, moved sideways, with a label on its middle."""
        (x1, y1, *_), (x2, y2, *_) = self._boxes[start], self._boxes[end]
        length = math.dist((x1, y1), (x2, y2))
        across = (-(y2 - y1) / length * shift, (x2 - x1) / length * shift)
        first = self._border(start, (x2 - x1, y2 - y1), across)
        last = self._border(end, (x1 - x2, y1 - y2), across)
        self._parts.append(
            f'<line class="{"dashed" if dashed else ""}" x1="{first[0]:.1f}" y1="{first[1]:.1f}" x2="{last[0]:.1f}" y2="{last[1]:.1f}"/>'
        )
        middle = ((first[0] + last[0]) / 2, (first[1] + last[1]) / 2)
        lines = label.split("|") if label else []
        for row, line in enumerate(lines):
            self._text(
                (middle[0], middle[1] + 4 + LINE * (row + 0.5 - len(lines) / 2)), line, "small", halo=True
            )

    def _border(self, name: str, towards: Place, across: Place) -> Place:
        """Where a line from the centre of a box, moved across, leaves the box."""
        x, y, half_width, half_height = self._boxes[name]
        parts = [
            half / abs(step) for half, step in zip((half_width, half_height), towards, strict=True) if step
        ]
        part = min(parts)
        return x + towards[0] * part + across[0], y + towards[1] * part + across[1]

    def _text(self, at: Place, text: str, kind: str = "", *, halo: bool = False) -> None:
        more = ' style="paint-order:stroke;stroke:#fff;stroke-width:5px"' if halo else ""
        self._parts.append(f'<text class="{kind}" x="{at[0]:g}" y="{at[1]:g}"{more}>{escape(text)}</text>')

    def svg(self) -> str:
        """The picture."""
        return "\n".join((self._head, *self._parts, "</svg>\n"))


def page() -> Diagram:
    """The way of a page, in two rows."""
    drawing = Diagram(
        980,
        250,
        "The way of a page: read, extract, featurise, find candidates, compare, decide, cluster, store or mark",
    )
    steps = [
        ("read", "a record of any|input"),
        ("extract", "main text, title,|time, site"),
        ("featurise", "signatures, bands,|concepts, terms"),
        ("find candidates", "stored pages that|share terms"),
        ("compare", "exact measures|of each pair"),
        ("decide", "rules: relation|and evidence"),
        ("cluster", "one canonical|document each"),
        ("store or mark", "index and|dedup field"),
    ]
    for number, (name, note) in enumerate(steps):
        column = number if number < 4 else 7 - number  # the second row leads back
        drawing.box(name, (130 + 240 * column, 70 + 120 * (number // 4)), (170, 72), note, "ours")
    for (before, _), (after, _) in itertools.pairwise(steps):
        drawing.arrow(before, after)
    return drawing


def around() -> Diagram:
    """Where hook, searches and jobs sit around Elasticsearch."""
    drawing = Diagram(980, 400, "Hook, search and jobs around Elasticsearch")
    drawing.box("your writers", (110, 80), (150, 56), "bulk actions")
    drawing.box("hook", (370, 80), (170, 56), "decides on each batch", "ours")
    drawing.box("your indices", (690, 80), (190, 56), "documents with a dedup field", "store")
    drawing.box("DedupSearch", (690, 210), (190, 56), "one hit per cluster", "ours")
    drawing.box("your search pages", (890, 330), (160, 56), "totals, facets, paging")
    drawing.box("feature index", (370, 210), (190, 56), "features, edges, clusters", "store")
    drawing.box("jobs", (370, 330), (190, 56), "backfill, follow, audit, …", "ours")
    drawing.box("Redis", (110, 330), (150, 56), "Celery messages", "store")
    drawing.arrow("your writers", "hook")
    drawing.arrow("hook", "your indices", "writes")
    drawing.arrow("hook", "feature index", "term queries, features")
    drawing.arrow("your indices", "DedupSearch")
    drawing.arrow("DedupSearch", "your search pages")
    drawing.arrow("jobs", "feature index")
    drawing.arrow("jobs", "your indices", "read documents,|mark them")
    drawing.arrow("Redis", "jobs")
    return drawing


def cluster() -> Diagram:
    """A cluster, and one whose canonical document it contains."""
    drawing = Diagram(980, 330, "A cluster with its canonical document, its members, and a contained page")
    drawing.box("canonical document", (400, 165), (190, 56), "stands for the cluster", "ours")
    drawing.box("copy", (120, 60), (150, 56), "the same text")
    drawing.box("reprint", (120, 165), (150, 56), "another headline")
    drawing.box("truncated version", (120, 270), (150, 56), "nearly all of it")
    drawing.box("excerpt", (800, 85), (200, 56), "canonical in its own cluster", "ours")
    drawing.box("copy of the excerpt", (800, 250), (200, 56), "the same text")
    drawing.arrow("copy", "canonical document", "exact")
    drawing.arrow("reprint", "canonical document", "duplicate")
    drawing.arrow("truncated version", "canonical document", "duplicate")
    drawing.arrow("excerpt", "canonical document", "contained in", dashed=True)
    drawing.arrow("copy of the excerpt", "excerpt", "exact")
    return drawing


def job() -> Diagram:
    """States of a job, and what leads from one to another."""
    drawing = Diagram(980, 300, "States of a job")
    drawing.box("running", (330, 150), (170, 56), "also while it waits", "ours")
    drawing.box("paused", (330, 260), (170, 50))
    drawing.box("abandoned", (330, 40), (170, 50), "its process was killed")
    drawing.box("done", (760, 40), (200, 50))
    drawing.box("failed", (760, 150), (200, 56), "a part failed too often")
    drawing.box("cancelled", (760, 260), (200, 50))
    drawing.box("begin", (80, 150), (110, 50), "", "store")
    drawing.arrow("begin", "running")
    drawing.arrow("running", "paused", shift=25)
    drawing.arrow("paused", "running", "resume", shift=25)
    drawing.arrow("running", "abandoned", shift=25)
    drawing.arrow("abandoned", "running", "the same command", shift=25)
    drawing.arrow("running", "done", "all parts")
    drawing.arrow("running", "failed")
    drawing.arrow("running", "cancelled", "cancel")
    return drawing


DIAGRAMS = {"page": page, "around-elasticsearch": around, "cluster": cluster, "job-states": job}


def main() -> None:
    """Write all of them."""
    for name, draw in DIAGRAMS.items():
        (IMAGES / f"{name}.svg").write_text(draw().svg(), encoding="utf-8")


if __name__ == "__main__":
    main()
