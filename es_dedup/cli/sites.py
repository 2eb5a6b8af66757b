"""What maintenance works with: the index of ``--db`` with its source indices, and its queues."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from es_dedup.errors import ConfigError, MissingExtra

if TYPE_CHECKING:
    from collections.abc import Iterator

    from es_dedup.cli.session import Session


@contextmanager
def site_of(session: Session, *, read_only: bool = False) -> Iterator[Any]:
    """The index of ``--db`` with its source indices; see ``open_context`` and ``Session.reach``."""
    from es_dedup.cli.waiting import CONNECT_SECONDS
    from es_dedup.errors import SettingsDiffer
    from es_dedup.index import factory
    from es_dedup.maintenance.context import open_context
    from es_dedup.settings.recorded import STATISTICS, decision_differences, decisions_in

    session.reach()
    factory.reach_source(session.db, CONNECT_SECONDS, session.settings)
    with open_context(session.db, session.settings, read_only=read_only) as site:
        if read_only:
            decisions = decisions_in(site.index.note(STATISTICS))
            session.tell(
                SettingsDiffer(
                    session.place,
                    factory.feature_differences(site.index, session.settings),
                    decision_differences(decisions, session.settings),
                )
            )
        yield site


@contextmanager
def dispatcher_of(session: Session) -> Iterator[Any]:
    """Queues of the session's index.

    Raises:
        ConfigError: the index is not on Elasticsearch.
        MissingExtra: Celery is not installed.
    """
    dispatcher = dispatch_of(session).CeleryDispatcher(session.db, session.settings)
    try:
        yield dispatcher
    finally:
        dispatcher.close()


def dispatch_of(session: Session) -> Any:
    """The module that sends work to workers; raises as ``dispatcher_of``."""
    if not session.remote:
        raise ConfigError(
            (f"workers need an index on Elasticsearch, http://host:9200/name, not {session.db}",)
        )
    try:
        from es_dedup_tasks import dispatch
    except ImportError as error:
        raise MissingExtra("celery", "celery", "work on other processes") from error
    return dispatch
