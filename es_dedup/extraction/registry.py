"""Extractors by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from es_dedup.errors import ConfigError
from es_dedup.extraction.block_model import load_model
from es_dedup.extraction.blocks_extractor import block_choice
from es_dedup.extraction.dom_block_extractor import topic_text
from es_dedup.extraction.other_packages import readability_method, resiliparse_method, trafilatura_method
from es_dedup.extraction.page_to_content import HtmlExtractor
from es_dedup.extraction.plain_extractor import plain_text
from es_dedup.settings.loading import ExtractionConfig

if TYPE_CHECKING:
    from es_dedup.extraction.page_to_content import MainText

DEFAULT_EXTRACTOR: Final = "blocks"

_OPTIONAL: Final = {
    "readability": readability_method,
    "resiliparse": resiliparse_method,
    "trafilatura": trafilatura_method,
}
"""Made when they are asked for: their packages belong to the extra ``compare``."""

_METHODS: Final[dict[str, MainText]] = {"blocks": block_choice, "plain": plain_text, "topic": topic_text}


def extractor_names() -> tuple[str, ...]:
    """Names that ``create_extractor`` knows, in alphabetical order."""
    return tuple(sorted({*_METHODS, *_OPTIONAL}))


def register(name: str, method: MainText) -> None:
    """Add a main-text method under a name of its own.

    Raises:
        ValueError: the name is taken.
    """
    if name in _METHODS or name in _OPTIONAL:
        raise ValueError(f"an extractor named {name!r} is registered already: choose another name")
    _METHODS[name] = method


def create_extractor(config: ExtractionConfig | None = None) -> HtmlExtractor:
    """The extractor that the settings name.

    Args:
        config: None stands for the defaults, with ``DEFAULT_EXTRACTOR``.

    Raises:
        ConfigError: no extractor of that name, or a block model that cannot be read.
        MissingExtra: its package is not installed.
    """
    config = config or ExtractionConfig(extractor=DEFAULT_EXTRACTOR)
    make = _OPTIONAL.get(config.extractor)
    method = make() if make is not None else _METHODS.get(config.extractor)
    if method is None:
        known = ", ".join(extractor_names())
        raise ConfigError((f"extraction.extractor must be one of {known}, got {config.extractor!r}",))
    load_model(config.model)
    return HtmlExtractor(config.extractor, method, config)
