"""A folder of tables on any file system that Spark reads: which are finished, and what they were made with."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import types as T  # noqa: N812 - its usual name

from es_dedup.decision.statistics import Statistics
from es_dedup.errors import ConfigError, InputError, SettingsMismatch, reading_stored
from es_dedup.settings.recorded import differences
from es_dedup.spark import tables

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

SCHEMAS: Final = {"features": tables.FEATURES, "pairs": tables.PAIRS, "clusters": tables.CLUSTERS}
SUCCESS: Final = "_SUCCESS"  # written by Spark when a table is whole
DAY: Final = "day="
NOTES: Final = "value string"


class TableFolder:
    """``features``, ``pairs`` and ``clusters``, each with a folder ``day=…`` for each day; ``statistics`` and ``settings``.

    Args:
        spark: the session.
        path: of the folder, as Spark takes it.
    """

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._spark, self.path = spark, path.rstrip("/")

    def days(self, name: str, *, finished: bool = True) -> list[str]:
        """Days of which a table is finished, or that were begun and are not; ascending."""
        found = [each for each in names_in(self._spark, f"{self.path}/{name}") if each.startswith(DAY)]
        return sorted(
            each.removeprefix(DAY) for each in found if self._finished(f"{name}/{each}") == finished
        )

    def read(self, name: str, days: Sequence[str]) -> DataFrame:
        """The rows of some days; at least one."""
        paths = [f"{self.path}/{name}/{DAY}{day}" for day in days]
        return self._spark.read.schema(SCHEMAS[name]).parquet(*paths)

    def write(self, name: str, day: str, table: DataFrame) -> None:
        """A table of a day, in place of what is there; then free all that the session has persisted."""
        table.write.mode("overwrite").parquet(f"{self.path}/{name}/{DAY}{day}")
        self._spark.catalog.clearCache()

    def drop(self, *names: str) -> None:
        """Delete folders within this one, in this order; those that are not there are no error."""
        for name in names:
            path, files = _file_system(self._spark, f"{self.path}/{name}")
            files.delete(path, True)  # noqa: FBT003 - with what is in it

    def statistics(self) -> Statistics | None:
        """The statistics that pairs were decided with; None: none yet."""
        if not self._finished("statistics"):
            return None
        row = self._spark.read.parquet(f"{self.path}/statistics").first()
        with reading_stored("statistics"):
            return Statistics.from_bytes(bytes(row.value))

    def keep_statistics(self, statistics: Statistics) -> None:
        """Write statistics in place of those there."""
        rows = [(bytearray(statistics.to_bytes()),)]
        self._spark.createDataFrame(rows, "value binary").coalesce(1).write.mode("overwrite").parquet(
            f"{self.path}/statistics"
        )

    def recorded(self) -> Mapping[str, Any]:
        """What the tables were made with; empty where there are none."""
        if not self._finished("settings"):
            return {}
        row = self._spark.read.schema(NOTES).parquet(f"{self.path}/settings").first()
        with reading_stored("settings"):
            return dict(json.loads(row.value))

    def check_replaceable(self, inputs: Sequence[str]) -> None:
        """Check that the folder holds tables, or nothing, and no input.

        Settings are the first table that is written and the last that is dropped: a folder without them has no other table.

        Raises:
            ConfigError: it holds something else, which must not be lost, or an input.
        """
        problem = ""
        if any(f"{each.rstrip('/')}/".startswith(f"{self.path}/") for each in inputs):
            problem = "it is part of the input: name another folder"
        elif not self._finished("settings"):
            there = {*names_in(self._spark, self.path), *names_in(self._spark, f"{self.path}/settings")}
            if others := sorted(there - {"settings", "_temporary"}):
                problem = f"it holds {others[0]} and is no folder of tables: name another, or remove it first"
        if problem:
            raise ConfigError((problem,), self.path)

    def check(self, made_with: Mapping[str, Any]) -> None:
        """Check that the tables there were made with these settings; so they were where there are none.

        Raises:
            SettingsMismatch: the tables there were made with other settings.
        """
        recorded = self.recorded()
        if recorded and (others := differences(recorded, json.loads(json.dumps(made_with)))):
            raise SettingsMismatch(self.path, others)

    def record(self, made_with: Mapping[str, Any]) -> None:
        """Write down what tables are made with, where nothing is written down."""
        if not self.recorded():
            rows = self._spark.createDataFrame([(json.dumps(made_with, sort_keys=True),)], NOTES)
            rows.coalesce(1).write.mode("overwrite").parquet(f"{self.path}/settings")

    def _finished(self, name: str) -> bool:
        return SUCCESS in names_in(self._spark, f"{self.path}/{name}")


def read_pages(spark: SparkSession, inputs: Sequence[str], columns: Sequence[str]) -> DataFrame:
    """Pages of Parquet or JSON Lines files, folders or patterns; all of one kind.

    Args:
        spark: the session.
        inputs: as Spark takes them.
        columns: read of JSON Lines, as text.

    Raises:
        InputError: there is nothing, or it cannot be read.
    """
    for each in inputs:
        with readable(each):
            if not names_in(spark, each):
                raise InputError(each, None, "no such file or folder, or nothing in it")
    names = [each.partition("?")[0] for place in inputs for each in (place, *names_in(spark, place))]
    with readable(inputs[0]):
        if not any(".json" in each for each in names):
            return spark.read.parquet(*inputs)
        if any(each.endswith(".parquet") for each in names):
            raise InputError(
                inputs[0], None, "JSON Lines and Parquet cannot be read together: make one of them"
            )
        some = spark.read.text(list(inputs)).limit(1_000).rdd.map(lambda row: row[0])
        known = set(spark.read.json(some).columns)
        if not known or ("id" in known and not known.isdisjoint(("text", "html"))):
            known = set(columns)  # later lines may have others of them
        schema = T.StructType([T.StructField(name, T.StringType()) for name in sorted(known)])
        return spark.read.schema(schema).json(list(inputs))


def names_in(spark: SparkSession, path: str) -> list[str]:
    """Names of files and folders in a folder, or that of a file, or those of all a pattern names; none where there is nothing."""
    where, files = _file_system(spark, path)
    found = files.globStatus(where) or []
    listed = [one for each in found for one in (files.listStatus(each.getPath()))]
    return [each.getPath().getName() for each in listed]


def _file_system(spark: SparkSession, path: str) -> tuple[Any, Any]:
    """Hadoop's path and the file system that it is in: the one that Spark reads and writes it by."""
    context: Any = spark.sparkContext
    where = context._jvm.org.apache.hadoop.fs.Path(path)  # noqa: SLF001 - there is no public way from Python
    return where, where.getFileSystem(context._jsc.hadoopConfiguration())  # noqa: SLF001


@contextmanager
def readable(source: str) -> Iterator[None]:
    """Say in one line what Spark could not do with an input or table.

    Raises:
        InputError: in place of the errors of Spark.
    """
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise InputError(source, None, cause(error)) from error


def cause(error: BaseException) -> str:
    """The line of an error of Spark that says most."""
    java = getattr(error, "java_exception", None)
    while java is not None and java.getCause() is not None:
        java = java.getCause()
    said = java.getMessage() or java.toString() if java is not None else str(error)
    lines = [line.strip() for line in str(said).splitlines() if line.strip()]
    if any(line.startswith("Traceback") for line in lines):  # of a Python worker
        lines = lines[-1:]
    return lines[0] if lines else type(error).__name__
