"""Extractors by name, and one page read by the one that settings name."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from es_dedup.errors import wrong_type
from es_dedup.extraction.block_model import load_model
from es_dedup.extraction.blocks_extractor import block_choice
from es_dedup.extraction.dom_block_extractor import topic_text
from es_dedup.extraction.metadata.addresses import site_of, storable
from es_dedup.extraction.page_to_content import HtmlExtractor, MainText
from es_dedup.extraction.plain_extractor import plain_text
from es_dedup.model import Content, PageKind, Skipped
from es_dedup.settings import methods
from es_dedup.settings.loading import ExtractionConfig

DEFAULT_EXTRACTOR: Final = "blocks"

_METHODS: Final[dict[str, MainText]] = {"blocks": block_choice, "plain": plain_text, "topic": topic_text}
_OF_FRAGMENTS: Final = ExtractionConfig(extractor="plain")


def extractor_names() -> tuple[str, ...]:
    """Names that ``create_extractor`` knows, in alphabetical order."""
    return tuple(sorted(_METHODS))


methods.known[methods.EXTRACTOR] = extractor_names


def register(name: str, method: MainText) -> None:
    """Add a main-text method under a name of its own.

    Raises:
        ValueError: the name is taken.
    """
    if name in _METHODS:
        raise ValueError(f"an extractor named {name!r} is registered already: choose another name")
    _METHODS[name] = method


def create_extractor(config: ExtractionConfig | None = None) -> HtmlExtractor:
    """The extractor that the settings name.

    Args:
        config: None stands for the defaults, with ``DEFAULT_EXTRACTOR``.

    Raises:
        ConfigError: a block model that cannot be read.
    """
    config = config or ExtractionConfig(extractor=DEFAULT_EXTRACTOR)
    load_model(config.model)
    return HtmlExtractor(config.extractor, _METHODS[config.extractor], config)


@lru_cache(maxsize=8)
def kept_extractor(config: ExtractionConfig) -> HtmlExtractor:
    """``create_extractor``, once for equal settings."""
    return create_extractor(config)


def visible_text(html: str) -> str:
    """What is visible of a fragment of HTML.

    The markup that an editor writes is several times as long as a short text, and the same around all texts: with it, different pages
    would be duplicates.
    """
    found = kept_extractor(_OF_FRAGMENTS).extract(html)
    return "" if isinstance(found, Skipped) else found.text


def extract(
    html: bytes | str,
    *,
    url: str | None = None,
    http_charset: str | None = None,
    config: ExtractionConfig | None = None,
) -> Content:
    """Main text and metadata of one page.

    Args:
        html: bytes as served (any length, any bytes), or decoded HTML.
        url: where the page was found; used for the site and to resolve a relative canonical URL.
        http_charset: charset from the HTTP header, if known.
        config: limits and the method; None: the defaults.

    Returns:
        Content always. For a page that cannot be used its text is empty and its notes give the reason
        (``skipped: binary (PDF)``); use ``create_extractor(config).extract`` to get ``Skipped`` instead.

    Raises:
        ConfigError: the settings name a block model that cannot be read.
        TypeError: ``html`` is neither bytes nor a string.
    """
    if not isinstance(html, bytes | str):
        raise wrong_type("html", "bytes or a string", html, "Path.read_bytes() reads a file")
    found = create_extractor(config).extract(html, url=url, http_charset=http_charset)
    if isinstance(found, Skipped):
        url, detail = storable(url), f" ({found.detail})" if found.detail else ""
        return Content(
            "", url=url, site=site_of(url), notes=(f"skipped: {found.reason}{detail}",), kind=PageKind.EMPTY
        )
    return found
