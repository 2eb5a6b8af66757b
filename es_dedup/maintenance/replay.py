"""Pages of the dead list, tried again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from es_dedup.maintenance.ingest import ingest
from es_dedup.maintenance.letters import bury

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from es_dedup.maintenance.site import Site


def replay(
    site: Site, page_ids: Sequence[str] | None = None, send: Callable[[Sequence[str]], None] | None = None
) -> int:
    """Try pages of the dead list again, here or by ``send``; they leave the list first and return when they fail again.

    Args:
        site: with its attachments.
        page_ids: None: all.
        send: has them worked on elsewhere; None: here, one by one.

    Returns:
        How many were on the list.
    """
    names = list(page_ids or (letter.page_id for letter in site.jobs.dead(limit=1_000_000)))
    found = site.jobs.revive(names)
    if send is not None:
        send(names)
        return found
    for name in names:
        try:
            ingest(site, [name])
        except Exception as error:  # noqa: BLE001 - one bad page must not keep the others
            bury(site, [name], "replay", 1, f"{type(error).__name__}: {error}"[:200])
    return found
