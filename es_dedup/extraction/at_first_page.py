"""The extractor that settings name, for readers of pages that may all be texts."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from es_dedup import extraction

if TYPE_CHECKING:
    from es_dedup.extraction.port import Extractor
    from es_dedup.model import Content, Skipped
    from es_dedup.settings.loading import ExtractionConfig


class AtFirstPage:
    """An ``Extractor`` that loads the parser and the model when its first HTML page comes.

    Raises:
        ConfigError: another extractor or model than the built-in one is named, and cannot be made.
    """

    def __init__(self, config: ExtractionConfig) -> None:
        self.name = config.extractor
        self._config = config
        default = type(config)()
        if (config.extractor, config.model) != (default.extractor, default.model):
            self.loaded  # noqa: B018 - its errors are raised before any page is read

    @cached_property
    def loaded(self) -> Extractor:
        """The extractor itself."""
        return extraction.create_extractor(self._config)

    def extract(
        self, html: bytes | str, *, url: str | None = None, http_charset: str | None = None
    ) -> Content | Skipped:
        """See ``Extractor.extract``."""
        return self.loaded.extract(html, url=url, http_charset=http_charset)
