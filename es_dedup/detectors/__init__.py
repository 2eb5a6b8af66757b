"""One module per method: its pure functions, then its detector class."""

from typing import TYPE_CHECKING

from es_dedup import lazy

if TYPE_CHECKING:
    from es_dedup.detectors import char_frequency, dwdcs, multi_simhash  # noqa: F401 - for type checkers alone
else:
    __getattr__ = lazy.attributes(__name__)
