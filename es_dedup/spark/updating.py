"""The whole flow over one table, and over tables in a folder, where what is finished is not made again, and a new day is compared with the days before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from es_dedup.errors import ConfigError, InputError
from es_dedup.index.factory import features_of
from es_dedup.settings.recorded import decision_settings
from es_dedup.spark.feature_rows import COLUMNS, checked, features
from es_dedup.spark.folder import DAY, TableFolder, read_pages, readable
from es_dedup.spark.ranking import DuplicateIds, learned, processed
from es_dedup.spark.related_pairs import pairs
from es_dedup.spark.star_clusters import clusters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from es_dedup.settings import Settings

FIRST: Final = "0"
"""The day of tables that no day was given for: before any date."""
DERIVED: Final = ("clusters", "pairs", "statistics")
"""Tables that are made from the features. Each is made from those after it, so they are dropped in this order: if a call is stopped meanwhile, the next one can go on."""
PATTERN: Final = frozenset("{}[]*?\\")
"""Characters that Spark reads as those of a pattern in a path."""


def deduplicate(pages: DataFrame, settings: Settings | None = None) -> DataFrame:
    """Cluster, canonical document and relation of each page: ``tables.CLUSTERS``, as ``Deduplicator.scan`` clusters these pages.

    Features and pairs are persisted; to keep them, or to go on after a failure, call the steps and write their tables.

    Args:
        pages: columns as the attributes of ``Page``: ``id``, ``text`` or ``html``, and optionally ``title``, ``url``, ``site``, ``published``
            and ``http_charset``.
        settings: None: those of the settings file and the environment.

    Raises:
        ConfigError: a column is missing, or a method is enabled that Spark does not know.
        ValueError: a page id occurs twice.
    """
    made = features(pages, settings).persist()
    related = pairs(made, settings).persist()
    return clusters(made, related, settings)


@dataclass(frozen=True, slots=True)
class TablesReport:
    """Result of ``update_tables``.

    Attributes:
        pages, failed: rows of features up to this day, and those of them that could not be processed.
        pairs: related pairs.
        clusters: clusters, singletons among them.
        made: tables that this call has made; the others were finished.
        preset: the preset that decides, and what is set in place of its values.
    """

    pages: int
    failed: int
    pairs: int
    clusters: int
    made: tuple[str, ...]
    preset: str


@dataclass(frozen=True, slots=True)
class DayOptions:
    """How the tables of a day are made.

    Attributes:
        day: name of the input; days are added in ascending order of names.
        named: make named fields too, for ``load``.
        renew: learn statistics and compare the pages of all days again; features are kept.
    """

    day: str = FIRST
    named: bool = False
    renew: bool = False


def update_tables(
    spark: SparkSession,
    inputs: Sequence[str],
    output: str,
    settings: Settings | None = None,
    options: DayOptions = DayOptions(),
) -> TablesReport:
    """Features, pairs and clusters of a day's pages and of all days before, as Parquet tables in a folder.

    The first call learns statistics, which later days keep; of the pairs only those with a page of a later day are made then. A call
    that was stopped goes on with the first table that is not finished; so does one for a day whose features were deleted.

    Args:
        spark: the session.
        inputs: the day's pages: Parquet or JSON Lines, as Spark takes paths; not looked at where the features of the day are finished.
        output: the folder.
        settings: None: those of the settings file and the environment.
        options: the day, and whether all is decided again.

    Raises:
        ConfigError: the folder holds something else or an input, settings or columns are wrong, a later day is there already, an earlier one is not finished, or ``day`` is empty, or it or ``output`` has a character that Spark reads as one of a pattern, or ``day`` a slash or colon.
        InputError: the input or a table cannot be read, or a page id occurs twice.
        SettingsMismatch: the tables there were made with other settings.
    """
    chosen, folder, day = checked(settings), TableFolder(spark, output), options.day
    recorded = made_with(chosen, named=options.named)
    if PATTERN & set(output) or not day or (PATTERN | {"/", ":"}) & set(day):
        raise ConfigError(
            (f"day {day!r} or the folder has a character that paths of tables must not have",), output
        )
    with readable(output):
        folder.check_replaceable(inputs)
        days = folder.days("features")
        if days and days[-1] > day:
            raise ConfigError((f"day {day} comes before day {days[-1]}, which is there",), output)
        if others := [each for each in folder.days("features", finished=False) if each != day]:
            raise ConfigError(
                (f"day {others[0]} was begun and is not finished: finish it, or delete its folder",), output
            )
        folder.check(recorded)
        made, fresh = list[str](), None
        if day not in days:
            fresh = features(read_pages(spark, inputs, COLUMNS), chosen, named=options.named)
        if options.renew or not days:
            folder.drop(*DERIVED)
        folder.record(recorded)
        if fresh is not None:
            folder.drop(f"clusters/{DAY}{day}", f"pairs/{DAY}{day}")  # of features that were deleted
            with readable(inputs[0]):
                folder.write("features", day, fresh)
            made.append("features")
        made += _derive(folder, day, chosen)
        return _report(folder, day, tuple(made), chosen)


def made_with(settings: Settings, *, named: bool) -> dict[str, Any]:
    """What tables record: the settings that shape features and decisions, by name."""
    return features_of(settings, embedded=not named) | decision_settings(settings) | {"named": named}


def _derive(folder: TableFolder, day: str, settings: Settings) -> list[str]:
    """Statistics where there are none, pairs and clusters of the day; names of the tables made."""
    made = []
    days = folder.days("features")
    whole = folder.read("features", days)
    statistics = folder.statistics()
    if statistics is None:
        statistics = learned(processed(whole), settings)
        folder.keep_statistics(statistics)
        made.append("statistics")
    if day not in folder.days("pairs"):
        compared = max(folder.days("pairs"), default="")
        before, new = [each for each in days if each <= compared], [each for each in days if each > compared]
        known = folder.read("features", before) if before else None
        try:
            found = pairs(folder.read("features", new), settings, known=known, statistics=statistics)
        except DuplicateIds as error:
            folder.drop(f"features/{DAY}{day}")
            raise InputError(folder.path, None, f"{error}, and repeat the call for day {day}") from error
        folder.write("pairs", day, found)
        made.append("pairs")
    if day not in folder.days("clusters"):
        related = folder.read("pairs", folder.days("pairs"))
        folder.write("clusters", day, clusters(whole, related, settings))
        made.append("clusters")
    return made


def _report(folder: TableFolder, day: str, made: tuple[str, ...], settings: Settings) -> TablesReport:
    found: Any = folder.read("clusters", [day]).selectExpr(
        "count(*) AS pages", "count_if(failed != '') AS failed", "count_if(page_id = canonical) AS clusters"
    )
    counted = found.first()
    related = folder.read("pairs", folder.days("pairs")).count()
    return TablesReport(
        counted.pages, counted.failed, related, counted.clusters, made, settings.decision.summary
    )
