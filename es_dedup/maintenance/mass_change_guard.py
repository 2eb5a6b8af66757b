"""Refuses a change of very many documents unless it is forced: most often it is a mistake."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from es_dedup.errors import MassChange

if TYPE_CHECKING:
    from es_dedup.settings import Settings

ALWAYS_ALLOWED: Final = 100
"""Documents that may be changed however few there are."""


def allowed(total: int, settings: Settings) -> int:
    """Most documents of ``total`` that are changed without being forced."""
    return max(ALWAYS_ALLOWED, int(total * settings.maintenance.max_change_share))


def guard(what: str, changes: int, total: int, settings: Settings, *, force: bool) -> None:
    """Let a change pass, or refuse it.

    Raises:
        MassChange: it is above the limit and not forced.
    """
    limit = allowed(total, settings)
    if changes > limit and not force:
        raise MassChange(what, changes, limit)
