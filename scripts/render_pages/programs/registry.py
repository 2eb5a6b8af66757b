"""The programs by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from scripts.render_pages.programs import (
    archives,
    boards,
    fossil,
    hexo,
    nodebb,
    pysites,
    sphinx,
    templated,
    wordpress,
)

if TYPE_CHECKING:
    from scripts.render_pages.programs.program import Program

PROGRAMS: Final[dict[str, Program]] = {
    program.name: program
    for program in (
        hexo.PROGRAM,
        *boards.PROGRAMS,
        *archives.PROGRAMS,
        *templated.PROGRAMS,
        fossil.PROGRAM,
        nodebb.PROGRAM,
        sphinx.PROGRAM,
        *pysites.PROGRAMS,
        wordpress.PROGRAM,
    )
}
