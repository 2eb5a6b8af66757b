"""One tree of errors; each says what to do next and whether the same call may be tried again.

Each is made again from its fields when it was pickled, as between processes.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, dataclass_transform

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

REASON_CHARS: Final = 300  # of a reason that are repeated
METHODS: Final = frozenset({"detectors", "elastic.also_stored"})
"""Settings that say which methods have features."""


def wrong_type(what: str, wanted: str, given: object, advice: str = "") -> TypeError:
    """The error of an argument of a wrong type: what it must be, what it is, and what to do instead."""
    return TypeError(f"{what} must be {wanted}, not {type(given).__name__}{advice and ': '}{advice}")


@dataclass_transform(eq_default=False)
class DedupError(Exception):
    """Root of all errors of this package; subclasses are dataclasses, whose fields are the data of the error.

    Attributes:
        retryable: True when repeating the same call later may succeed.
        message: what the error says; names its fields in braces.
    """

    retryable: ClassVar[bool] = False
    message: ClassVar[str] = ""

    def __init_subclass__(cls, *, retryable: bool | None = None) -> None:
        if retryable is not None:
            cls.retryable = retryable
        dataclass(eq=False, repr=False)(cls)

    def __post_init__(self) -> None:
        self.args = tuple(vars(self).values())  # of which an error is made again when it was pickled

    def __str__(self) -> str:
        return self.message.format_map(vars(self))


class ConfigError(DedupError):
    """Settings are wrong; all problems are named at once."""

    problems: tuple[str, ...]
    source: str = "settings"

    def __str__(self) -> str:
        lines = "\n".join(f"  - {problem}" for problem in self.problems)
        return f"{self.source}: {len(self.problems)} problem(s), nothing was done:\n{lines}"


class MissingExtra(DedupError):
    """An optional package is not installed."""

    package: str
    extra: str
    needed_by: str
    message = (
        "{needed_by} needs {package}: install the extra {extra}, from a clone by pip install '.[{extra}]'"
    )


@contextmanager
def needs_extra(extra: str, needed_by: str, package: str = "") -> Iterator[None]:
    """Import what an extra brings.

    Args:
        extra: its name.
        needed_by: what needs it.
        package: name of the distribution; empty: that of the missing module.

    Raises:
        MissingExtra: it is not installed.
    """
    try:
        yield
    except ImportError as error:
        raise MissingExtra(package or (error.name or extra).partition(".")[0], extra, needed_by) from error


class SparkUnavailable(DedupError):
    """No Spark session could be made."""

    problem: str
    message = "no Spark session ({problem}): check that Java 17 is on PATH or at JAVA_HOME, the master, and the configuration"


class InputError(DedupError):
    """Input that cannot be read; names file and line."""

    source: str
    line: int | None
    problem: str

    def __str__(self) -> str:
        place = self.source if self.line is None else f"{self.source}:{self.line}"
        return f"{place}: {self.problem}"


class IndexError_(DedupError):  # noqa: N801 - Python has an IndexError
    """Root of what an index can raise (the name avoids Python's own IndexError)."""


class IndexProblem(IndexError_):
    """Root of the errors that name an index and what is wrong with it."""

    index: str
    problem: str
    message = "{index}: {problem}"


class WriteFailed(IndexProblem):
    """Single writes that the server refused, or that met too many other writers."""


class SchemaMismatch(IndexError_):
    """The stored format is not the one this version reads; ``found`` says more where its number is the same."""

    index: str
    expected: int
    found: int | str

    message = (
        "{index} holds format {found}, this version needs {expected}: use the release that wrote it, or make a new index under another "
        "name (`es-dedup scan` of the pages; for a source index `es-dedup elastic attach` and `es-dedup elastic backfill`)"
    )


@dataclass(frozen=True, slots=True)
class Difference:
    """A setting whose current value is not the one that an index records; None stands for no value."""

    name: str
    recorded: Any
    current: Any

    def __str__(self) -> str:
        return f"{self.name} is {_shown(self.recorded)} in the index and {_shown(self.current)} now"


class SettingsMismatch(IndexError_):
    """The stored features were made with other settings; comparing them with new ones would be wrong."""

    index: str
    differences: tuple[Difference, ...]

    def __str__(self) -> str:
        made, advice = "with other settings", "Set these values to write to it, scan"
        if self._of_another_release:
            made, advice = "by another release of es-dedup", "Scan"
        return (
            f"{self.index} was made {made}: {_listed(self.differences)}. {advice} the pages again into a new index, or, "
            f"with attached indices, run `es-dedup elastic reindex`"
        )

    @property
    def _of_another_release(self) -> bool:
        """Whether the index has a setting that is none here, or the other way round, or another version of a method: nobody can set these."""
        methods = any(each.name in METHODS for each in self.differences)
        return any(
            each.name.startswith("version of ")
            if None not in (each.recorded, each.current)
            else not (methods or each.name.startswith("content of "))
            for each in self.differences
        )


@dataclass(eq=False, repr=False)
class SettingsDiffer(UserWarning):
    """Current settings that are not in force, because the index was made or clustered with others.

    Attributes:
        index: the index.
        features: settings that shape features; reading takes those of the index.
        decisions: settings that shape decisions; those of the index are in force until everything is clustered again.
    """

    index: str
    features: tuple[Difference, ...]
    decisions: tuple[Difference, ...]

    def __str__(self) -> str:
        if self.features:
            return (
                f"{self.index} was made with other settings: {_listed(self.features)}. The settings of the index are used for reading; "
                f"writing is refused until `es-dedup elastic reindex`, or a scan into a new index, makes the features anew."
            )
        return (
            f"the clusters of {self.index} were made with other settings: {_listed(self.decisions)}. "
            f"The settings of the index are in force; `es-dedup elastic recluster` applies the current ones."
        )

    @property
    def refusal(self) -> DedupError:
        """The same as an error, where an option asks for these settings."""
        return SettingsMismatch(self.index, self.features) if self.features else ConfigError((str(self),))


def _listed(differences: tuple[Difference, ...]) -> str:
    """Differences in words; where other methods are enabled, their settings and versions are not named one by one."""
    methods = [each for each in differences if each.name in METHODS]
    return "; ".join(
        str(each)
        for each in differences
        if not methods or each in methods or None not in (each.recorded, each.current)
    )


def _shown(value: Any) -> str:
    match value:
        case None:
            return "not set"
        case bool():
            return str(value).lower()
        case list() | tuple():
            return ", ".join(map(str, value)) or "empty"
    return str(value) or "empty"


class NotAnIndex(IndexProblem):
    """There is no es-dedup index at that place, or it is damaged."""

    def __str__(self) -> str:
        advice = "name another file, or restore a copy"
        if "://" in self.index:
            advice = "name another index, or restore a snapshot; `es-dedup scan` and `es-dedup elastic attach` make a new one"
        return f"{self.index} is not a readable es-dedup index ({self.problem}): {advice}"


class DamagedData(IndexError_, ValueError):
    """Stored bytes that cannot be read: features, a text, terms or statistics."""

    what: str
    problem: str
    message = (
        "stored {what} are damaged ({problem}): restore a copy of the index, or rebuild it "
        "(scan the pages again; with attached indices, `es-dedup elastic reindex`)"
    )


@contextmanager
def reading_stored(what: str, damage: Callable[[str, str], DedupError] = DamagedData) -> Iterator[None]:
    """Read a stored value, or an answer.

    Args:
        what: is read.
        damage: makes the error, out of this and the problem.

    Raises:
        DamagedData, or as ``damage`` says: it is of another form than what is written.
    """
    try:
        yield
    except DedupError:
        raise
    except (LookupError, TypeError, AttributeError, ValueError, OverflowError, RecursionError) as error:
        raise damage(what, f"{type(error).__name__}: {error}"[:REASON_CHARS]) from error


class IndexLocked(IndexError_, retryable=True):
    """Another process is writing to the same index."""

    index: str
    seconds: float
    message = (
        "{index} is being written by another process (waited {seconds:g} s): "
        "try again when it has finished; reading is possible meanwhile"
    )


class OtherRoot(IndexError_):
    """The ids of page files in an index are relative to another folder, which still exists."""

    index: str
    recorded: str
    root: str
    message = (
        "{index}: page ids are relative to {recorded}, which still exists, so {root} was refused; nothing was stored: "
        "run the command again without --root, or scan into another index"
    )


class IndexUnavailable(IndexProblem, retryable=True):
    """The storage did not answer or could not be written; what was stored before is intact."""

    message = "{index}: {problem}; what was stored before is intact"


class IndexInterrupted(IndexUnavailable):
    """A write to a server got no good answer: a part of it may be kept. To repeat the call is safe."""

    message = "{index}: {problem}; part of this call may have been stored: repeat the call, which is safe"


class ServerUnreachable(IndexUnavailable):
    """Nobody listens at the server's address; nothing was sent."""

    message = "cannot connect to {index} ({problem}): start the server, or name another address with --db"


class UnreadableAnswer(IndexProblem):
    """An answer that is none of Elasticsearch's: parts are missing, or of other types."""

    message = (
        "{index}: the response of the server cannot be read ({problem}): check that it is Elasticsearch and "
        "that no proxy changes its answers; repeating the call is safe"
    )


class IndexReadOnly(IndexProblem, retryable=True):
    """The server has blocked writes to the index, most often because its disk is nearly full."""

    message = (
        "{index} takes no writes ({problem}): free disk space on the server, or lift the block "
        "(index.blocks.*), then repeat the call; reading is possible meanwhile"
    )


class IndexRefused(IndexProblem):
    """The server does not allow the request: credentials, privileges, certificates, or a wrong request."""

    advice: str = "change what it names; to repeat the call does not help before"
    message = "{index}: the server refuses ({problem}): {advice}"


class CredentialsRefused(IndexRefused):
    """The server knows nobody of these credentials."""


class OtherCluster(DedupError):
    """The bulk helper's client writes to another cluster than the one that holds the hook's features."""

    found: str
    expected: str
    message = (
        "the client writes to cluster {found}, the hook reads and updates documents in cluster {expected}: nothing "
        "was written; open the hook with an address of the cluster that holds the documents, or name that in source.url "
        "where the features are kept on another one"
    )


class NotDecided(IndexError_, retryable=True):
    """Documents that were not written, because there was no decision on them and setting ``hook.on_failure`` is ``fail_closed``."""

    documents: int
    problem: str
    message = (
        "{documents} documents were not written, because the feature index gave no decision ({problem}): send them again, "
        "or set hook.on_failure to fail_open, which writes them and decides later"
    )


class MappingConflict(IndexRefused):
    """Fields of ``dedup`` have other types in an index than they need."""

    message = (
        "{index} has a wrong mapping ({problem}), which cannot be changed: searches and grouping by cluster would be wrong. "
        "No further documents are written to it. If you can write its documents again: `DELETE /{index}`, create it, write them "
        "again. To keep them: create an index NEW, `es-dedup elastic attach NEW`, `POST /_reindex "
        '{{"source": {{"index": "{index}", "_source": {{"excludes": ["dedup"]}}}}, "dest": {{"index": "NEW"}}}}`, '
        "`es-dedup elastic backfill`. For indices that are created later, add the mapping that `es-dedup elastic attach` prints for an "
        "alias or a pattern to their template"
    )


class SourceIncomplete(IndexProblem):
    """Marking documents of an index would delete data, as its ``_source`` does not hold whole documents."""

    message = (
        "documents of {index} cannot be updated: its _source is not the whole document ({problem}), and an "
        "update of a document would permanently delete what _source leaves out; no document was changed: index the "
        "pages from their origin into an index that stores the whole _source, and attach that index; to stop "
        "maintaining an index that is attached already, run `es-dedup elastic detach --keep-fields`"
    )


class ServerTooOld(IndexError_):
    """The server is of a version that is not supported."""

    index: str
    found: str
    needed: str
    message = (
        "{index}: {found} is not supported: upgrade the server to {needed} or later, or keep "
        "the index in a file"
    )


class SearchRefused(IndexError_):
    """A search that is not possible with these options."""

    problem: str
    advice: str
    message = "this search is not possible ({problem}): {advice}"


class CursorLost(IndexError_):
    """The point in time that a cursor of a search rests on is gone."""

    problem: str
    message = (
        "this cursor has expired ({problem}): start again at the first page; "
        "if readers need more time between pages, set a longer keep_alive"
    )


class UnknownPage(DedupError):
    """A page id that is not stored."""

    page_id: str
    message = "no page {page_id!r} is stored: check the id, or add the page first"


class InvalidOverride(DedupError, ValueError):
    """An override that cannot be stored: one page named twice, no reason or author, or a string that is too long or no text."""

    problem: str
    message = (
        "no override ({problem}): give two different pages, one page, or a site with a passage, and why and by whom, in at most "
        "1,000 characters each"
    )


class InvalidAnnotation(DedupError, ValueError):
    """An annotation that cannot be stored: one page named twice, no reader, or a string that is too long or no text."""

    problem: str
    message = "no annotation ({problem}): give two different pages and a reader, in at most 1,000 characters"


class OverrideConflict(DedupError):
    """An override that cannot hold beside others."""

    override: str
    others: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"override {self.override} cannot hold beside {'; '.join(self.others)}: nothing was stored; "
            f"undo one of these first (`es-dedup quality override undo ID`)"
        )


class UnknownOverride(DedupError):
    """No override of that id."""

    override_id: str
    message = "there is no override {override_id!r}: `es-dedup quality override list --all` shows all ids"


class DuplicatePage(DedupError):
    """Raised by the write policy ``fail``."""

    page_id: str
    duplicate_of: str
    message = (
        "page {page_id!r} duplicates {duplicate_of!r} and the write policy is 'fail': "
        "use policy 'mark' or 'skip' to continue"
    )


class MassChange(DedupError):
    """A maintenance command would change more than its limit; nothing was changed."""

    what: str
    changes: int
    limit: int
    message = (
        "{what} would change {changes:,} documents, the limit is {limit:,}: check with a dry run, "
        "then use --force, or raise the setting maintenance.max_change_share"
    )


class PreflightFailed(DedupError):
    """Sampled documents of a target do not hold what its fields name."""

    target: str
    problems: tuple[str, ...]

    def __str__(self) -> str:
        lines = "\n".join(f"  - {problem}" for problem in self.problems)
        return (
            f"{self.target}: {len(self.problems)} problem(s), nothing was done:\n{lines}\n"
            f"Check the names of the index and of its fields, or use --force if this is intended"
        )


class ContentMissing(DedupError):
    """No document of a bulk call has the field that holds the page."""

    field: str
    documents: int
    names: tuple[str, ...]

    @property
    def finding(self) -> str:
        """What is wrong, whether or not the documents are written."""
        names = ", ".join(self.names) or "no fields"
        return f"none of {self.documents} documents has the content field {self.field!r}, so that each is unique; the first has {names}"

    def __str__(self) -> str:
        return (
            f"{self.finding}. Nothing was written: name the field in SourceFields(content=…), or pass "
            f'on_missing_content="warn" to write documents without text'
        )


class QueueUnavailable(DedupError, retryable=True):
    """Redis, the message queue, did not answer; Elasticsearch still holds what was to be sent."""

    queue: str
    problem: str
    advice: str = "start Redis or set maintenance.broker; commands with --inline need no Redis"
    message = "{queue}: Redis does not answer ({problem}): {advice}"


class UnknownJob(DedupError):
    """No job of that id."""

    job_id: str
    message = "there is no job {job_id!r}: `es-dedup elastic jobs` lists them"


class NotAttached(DedupError):
    """A source index that is not attached, and what is; without a name, none is."""

    target: str
    attached: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.attached:
            return f"{self.target} is not attached; attached are: {', '.join(self.attached)}"
        command = f"es-dedup elastic attach {self.target or 'INDEX'} --content-field …"
        return f"{self.target or 'no index'} is {'not ' * bool(self.target)}attached: `{command}` attaches {'it' if self.target else 'one'}"
