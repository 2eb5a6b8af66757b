"""Pages that could not be worked on: to the dead list, and back."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from es_dedup.index.jobs import DeadLetter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from es_dedup.maintenance.site import Site

DIED = "its worker ended without a word (killed, or out of memory)"


def bury(site: Site, page_ids: Iterable[str], task: str, attempts: int, error: str) -> None:
    """To the dead list, after as many attempts as are allowed; an empty error: the worker died each time."""
    now = int(time.time() * 1000)
    site.jobs.bury(DeadLetter(name, task, error or DIED, attempts, now) for name in page_ids)


def bury_failed(site: Site, failed: Mapping[str, str], task: str) -> None:
    """To the dead list at once: a repetition would fail in the same way."""
    now = int(time.time() * 1000)
    site.jobs.bury(DeadLetter(name, task, reason, 1, now) for name, reason in failed.items())


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
    from es_dedup.maintenance.ingest import ingest  # noqa: PLC0415 - which buries what fails

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
