"""Dead letters, processed again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from es_dedup.errors import DedupError
from es_dedup.maintenance.dead_letters import put_dead_letters
from es_dedup.maintenance.ingest import ingest
from es_dedup.model.batches import chunked

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from es_dedup.index.jobs import DeadLetter
    from es_dedup.maintenance.context import MaintenanceContext

SENT_AT_A_TIME: Final = 100


def replay(
    context: MaintenanceContext,
    page_ids: Sequence[str] | None = None,
    send: Callable[[Sequence[str]], None] | None = None,
) -> int:
    """Process dead letters again, here or by ``send``.

    A dead letter is removed after its page was processed, or after the queue has taken its message. A page that fails again stays on
    the list with the new error.

    Args:
        site: with its attachments.
        page_ids: None: all.
        send: puts page ids into a queue and raises when the queue has not taken them; None: process them here, one by one.

    Returns:
        How many pages of the list were tried or sent.

    Raises:
        DedupError: a server does not answer; the letters that are left stay on the list.
    """
    letters = dead_letters(context, page_ids)
    if send is None:
        for letter in letters:
            _process(context, letter)
        return len(letters)
    for some in chunked(letters, SENT_AT_A_TIME):
        send([letter.page_id for letter in some])
        context.jobs.drop_dead(some)
    return len(letters)


def dead_letters(context: MaintenanceContext, page_ids: Sequence[str] | None = None) -> list[DeadLetter]:
    """All dead letters, or those of some pages."""
    wanted = frozenset(page_ids or ())
    letters = context.jobs.dead()
    return [letter for letter in letters if not wanted or letter.page_id in wanted]


def _process(context: MaintenanceContext, letter: DeadLetter) -> None:
    try:
        ingest(context, [letter.page_id])
    except Exception as error:
        if isinstance(error, DedupError) and error.retryable:
            raise
        put_dead_letters(
            context, [letter.page_id], "replay", letter.attempts + 1, f"{type(error).__name__}: {error}"[:200]
        )
    else:
        context.jobs.drop_dead([letter])
