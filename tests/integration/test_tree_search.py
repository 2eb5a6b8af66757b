"""Candidates of character frequency by the edit-distance tree: the same pages as by terms, whatever is written meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from es_dedup import Deduplicator, Page, load_settings
from tests.samples import truths

if TYPE_CHECKING:
    from pathlib import Path

    from es_dedup import Settings

PAGES: Final = [Page(id=f"p{at:03}", text=truth.text) for at, truth in enumerate(truths()[:80])]


def settings(search: str) -> Settings:
    return load_settings(
        overrides={
            "detectors": ["char_frequency"],
            "decision.method": "char_frequency",
            "char_frequency.search": search,
            "index.max_df": 10_000,
        },
        environ={},
    )


def candidates(dedup: Deduplicator, gone: str = "") -> dict[str, list[str]]:
    return {page.id: sorted(dedup.candidates(page.id)) for page in PAGES[:60] if page.id != gone}


def test_tree_and_terms_find_the_same_candidates_after_every_kind_of_write(tmp_path: Path) -> None:
    searches = ("terms", "tree")
    opened = [
        [Deduplicator.open(tmp_path / f"{search}.db", settings=settings(search)) for _ in range(2)]
        for search in searches
    ]

    def same(gone: str = "") -> dict[str, list[str]]:
        found = [candidates(reader, gone) for reader, _ in opened]
        assert found[0] == found[1]
        return found[0]

    for reader, _ in opened:
        reader.add_many(PAGES[:60])
    first = same()
    assert sum(map(len, first.values())) > 20
    for reader, writer in opened:  # another connection to the same file
        writer.add_many(PAGES[60:])
        writer.add_many([Page(id=PAGES[3].id, text=PAGES[70].text)], policy="overwrite")
        reader.remove([PAGES[5].id])
    assert same(PAGES[5].id) != first
    for page in PAGES[:10]:
        one, other = (reader.check(Page(id="new", text=page.text)) for reader, _ in opened)
        assert [each.right for each in one.verdicts] == [each.right for each in other.verdicts]
    for dedup in (each for pair in opened for each in pair):
        dedup.close()
