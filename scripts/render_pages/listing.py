"""The table of programs for the README: ``python -m scripts.render_pages.listing``."""

from __future__ import annotations

from scripts.render_pages.programs.registry import PROGRAMS


def table() -> str:
    """Programs with kind, licence, main package and themes, as Markdown."""
    lines = ["| program | kind | licence | packages | themes (licence) |", "|---|---|---|---|---|"]
    for program in PROGRAMS.values():
        themes = ", ".join(f"{name} ({licence})" for name, licence in program.themes.items())
        packages = ", ".join(f"`{name}`" for name in program.packages[:4])
        more = f" and {len(program.packages) - 4} more" if len(program.packages) > 4 else ""
        kind = program.shape.kind + (
            " with comments" if program.shape.kind == "article" and program.shape.posts else ""
        )
        lines.append(f"| {program.name} | {kind} | {program.licence} | {packages}{more} | {themes} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
