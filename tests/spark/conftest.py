"""One Spark session for all tests of the folder: two cores, in this process' machine."""

import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from es_dedup.errors import MissingExtra, SparkUnavailable

CONFIG = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.driver.maxResultSize": "192m",  # a step that collects more than it says fails
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.log.level": "ERROR",
}


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A session; skipped with the reason where pyspark or Java is missing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of packages that pyspark imports
        try:
            from es_dedup.spark import session  # noqa: PLC0415 - says what is missing

            made = session("local[2]", CONFIG)
        except (MissingExtra, SparkUnavailable) as missing:
            pytest.skip(str(missing))
    yield made
    made.stop()
