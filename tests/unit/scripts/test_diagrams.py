"""The diagrams of the documents are those that the script draws."""

from scripts.diagrams import DIAGRAMS, IMAGES


def test_the_files_are_as_drawn_and_shown_by_a_document() -> None:
    root = IMAGES.parent.parent
    shown = "".join(
        path.read_text(encoding="utf-8") for path in [root / "ARCHITECTURE.md", *root.glob("docs/**/*.md")]
    )
    for name, draw in DIAGRAMS.items():
        assert (IMAGES / f"{name}.svg").read_text(encoding="utf-8") == draw().svg(), (
            "run python scripts/diagrams.py"
        )
        assert f"images/{name}.svg" in shown
