"""The page table: which page is which story, with which changes."""

from __future__ import annotations

from functools import cache

from scripts.samplesupport.edits import apply_op
from scripts.samplesupport.pages import Page, load_sites
from scripts.samplesupport.stories import expand, load_stories
from scripts.samplesupport.tables import SOURCES, read_rows


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
