"""One run of the command line: where the index is, which settings hold, how results are shown."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from es_dedup.cli.group import CommandFailed
from es_dedup.cli.output import Output
from es_dedup.cli.progress import ProgressDisplay
from es_dedup.errors import ConfigError, IndexError_, NotAnIndex, SettingsDiffer, needs_extra

if TYPE_CHECKING:
    import typer

    from es_dedup.deduplicator.deduplicator import Deduplicator
    from es_dedup.maintenance.context import MaintenanceContext
    from es_dedup.settings import Settings

DEFAULT_DB: Final = "es-dedup.db"
MEMORY: Final = ":memory:"
UNCLUSTERED: Final = (
    "pages are stored that are not clustered yet: run the same scan again, or `es-dedup elastic recluster`"
)

CONNECT_SECONDS: Final = 5.0  # for a connection; a command waits for somebody


@dataclass(slots=True)
class Session:
    """What the global options say.

    Attributes:
        db: the index file, ``:memory:``, or the address of an index on a server.
        config: the settings file, None for the usual places.
        given: settings of the command line by dotted name, which come before all others.
        output: where results and notes go.
        writing: a command is changing the index; on an interruption the message says how to continue.
        kept: what an interrupted command has saved, in words.
        resume: the command that goes on with it; empty: the same again.
    """

    db: str
    config: Path | None
    output: Output
    given: Mapping[str, Any] = field(default_factory=dict)
    writing: bool = False
    kept: str = ""
    resume: str = ""
    _settings: Settings | None = field(default=None, repr=False)

    @property
    def settings(self) -> Settings:
        """Settings, loaded on first use.

        Raises:
            ConfigError: they are wrong.
        """
        if self._settings is None:
            from es_dedup.settings import load_settings

            self._settings = load_settings(self.config, dict(self.given) or None)
        return self._settings

    @property
    def exists(self) -> bool:
        """Whether the index file is there; that of a server is known when it is opened."""
        return self.remote or (self.db != MEMORY and Path(self.db).exists())

    @property
    def remote(self) -> bool:
        """Whether the index is on a server."""
        return self.db.startswith(("http://", "https://"))

    @property
    def place(self) -> str:
        """The index as it may be shown: without user and password."""
        if not self.remote:
            return self.db
        from es_dedup.index.factory import shown

        return shown(self.db)

    def reach(self) -> None:
        """Connect to the server, and let go again; nothing for an index in a file.

        Raises:
            ServerUnreachable: nobody listens there. Without this the client would try again for a while.
        """
        if self.remote:
            from es_dedup.index import factory

            factory.reach(self.db, CONNECT_SECONDS, self.settings)

    def read(self, *, quiet: bool = False) -> Deduplicator:
        """The index, opened for reading; ``quiet``: without a word of settings that differ from its own.

        Raises:
            ConfigError: it is an address without scheme.
            NotAnIndex: there is no such file.
        """
        if not self.exists:
            from es_dedup.index.factory import must_be_place

            must_be_place(self.db)
            raise NotAnIndex(self.db, "there is no such file; `es-dedup scan PATH` makes it")
        return self._open(read_only=True, quiet=quiet)

    def read_clustered(self) -> Deduplicator:
        """``read``; raises ``CommandFailed`` where pages are stored that are not clustered yet."""
        dedup = self.read()
        if dedup.clusters_pending:
            dedup.close()
            raise CommandFailed(UNCLUSTERED)
        return dedup

    def prepare_search(self, reader: Deduplicator) -> None:
        """Have the full-text index of a file brought up to date, with progress; for the reader alone where the file cannot be written."""
        with self.progress() as progress:
            with suppress(IndexError_), self._open(quiet=True) as writer:
                writer.prepare_search(progress)
            reader.prepare_search(progress)

    def write(self, *, dry_run: bool = False, whole: bool = False) -> Deduplicator:
        """The index, opened for writing; made when it is not there, in memory on a dry run.

        Args:
            dry_run: nothing is written.
            whole: everything is clustered again, so that the current settings will be in force.
        """
        if dry_run:
            return self._if_there(whole=whole) or self.scratch()
        self.writing = True
        return self._open(whole=whole)

    def root(self) -> str | None:
        """The root that the index has recorded; None where there is none, or no index yet."""
        with self._if_there(quiet=True) or nullcontext() as dedup:
            return dedup.root() if dedup else None

    def _if_there(self, *, whole: bool = False, quiet: bool = False) -> Deduplicator | None:
        """The index, opened for reading; None where there is none yet."""
        try:
            return self._open(read_only=True, whole=whole, quiet=quiet) if self.exists else None
        except NotAnIndex:
            if not self.remote:
                raise
            return None

    def scratch(self) -> Deduplicator:
        """An index in memory, for work that leaves nothing behind."""
        from es_dedup.deduplicator.deduplicator import Deduplicator

        return Deduplicator.open(MEMORY, settings=self.settings)

    @contextmanager
    def site(self, *, read_only: bool = False) -> Iterator[MaintenanceContext]:
        """The index with its source indices, for maintenance; see ``open_context`` and ``reach``."""
        from es_dedup.index import factory
        from es_dedup.maintenance.context import open_context
        from es_dedup.settings.recorded import STATISTICS, decision_differences, decisions_in

        self.reach()
        factory.reach_source(self.db, CONNECT_SECONDS, self.settings)
        with open_context(self.db, self.settings, read_only=read_only) as site:
            if read_only:
                features = factory.feature_differences(site.index, self.settings)
                decisions = decision_differences(decisions_in(site.index.note(STATISTICS)), self.settings)
                self.tell(SettingsDiffer(self.place, features, decisions))
            yield site

    @contextmanager
    def index_and_site(
        self, *, read_only: bool = False
    ) -> Iterator[tuple[Deduplicator, MaintenanceContext | None]]:
        """The index, which must exist, and where it is on a server its source indices and jobs."""
        self.read().close()
        if self.remote:
            self.writing = not read_only
            with self.site(read_only=read_only) as site:
                yield site.dedup, site
            return
        with self._open(read_only=True, quiet=True) if read_only else self.write() as dedup:
            yield dedup, None

    def dispatcher(self) -> AbstractContextManager[Any]:
        """The queues of the index, closed at the end of the block; raises as ``dispatch``."""
        return closing(self.dispatch().CeleryDispatcher(self.db, self.settings))

    def dispatch(self) -> Any:
        """The module that sends work to workers.

        Raises:
            ConfigError: the index is not on Elasticsearch.
            MissingExtra: Celery is not installed.
        """
        if not self.remote:
            problem = f"workers need an index on Elasticsearch, http://host:9200/name, not {self.db}"
            raise ConfigError((problem,))
        with needs_extra("celery", "work on other processes (without --inline)", "celery"):
            from es_dedup_tasks import dispatch
        return dispatch

    def progress(self) -> ProgressDisplay:
        """Progress of long work, to be opened as a context."""
        return ProgressDisplay(quiet=self.output.quiet)

    def _open(self, *, read_only: bool = False, whole: bool = False, quiet: bool = False) -> Deduplicator:
        from es_dedup.deduplicator.deduplicator import Deduplicator
        from es_dedup.index.closing import on_error

        self.reach()
        warnings.simplefilter("ignore", SettingsDiffer)  # said here, once
        dedup = Deduplicator.open(self.db, settings=self.settings, read_only=read_only)
        try:
            differ = dedup.settings_differ
        except NotAnIndex:  # damaged statistics, which are learned anew
            if not whole:
                dedup.close()
                raise
            differ = None
        if differ is not None and not quiet and (differ.features or not whole):
            with on_error(dedup.close):
                self.tell(differ)
        return dedup

    def tell(self, differ: SettingsDiffer) -> None:
        """Warn of settings that are not in force; where an option asks for one of them, raise that as an error."""
        if self.given.keys() & {each.name for each in (*differ.features, *differ.decisions)}:
            raise differ.refusal
        if differ.features or differ.decisions:
            self.output.warn(str(differ))


def session_of(context: typer.Context) -> Session:
    """The session of a command's context."""
    session: Session = context.obj
    session.output.command = context.command_path.removeprefix(context.find_root().command_path).strip()
    return session
