"""One text in another Chinese script."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import opencc

if TYPE_CHECKING:
    from scripts.samplesupport.pages import Page


@cache
def converter(config: str) -> opencc.OpenCC:
    """An OpenCC converter (made once)."""
    return opencc.OpenCC(config)


def to_site_script(text: str, page: Page) -> str:
    """Text of the shared pools in the script of the site."""
    config = {"tw": "s2twp", "hk": "s2hk"}.get(page.site.lang)
    return converter(config).convert(text) if config else text
