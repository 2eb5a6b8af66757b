"""All targets."""

from typing import Final

from tests.fuzz import (
    target_elastic,
    target_formats,
    target_hook,
    target_named,
    target_pages,
    target_readers,
    target_search,
    target_texts,
)
from tests.fuzz.harness import Target

TARGETS: Final[tuple[Target, ...]] = (
    *target_pages.TARGETS,
    *target_readers.TARGETS,
    *target_formats.TARGETS,
    *target_named.TARGETS,
    *target_texts.TARGETS,
    *target_search.TARGETS,
    *target_elastic.TARGETS,
    *target_hook.TARGETS,
)
