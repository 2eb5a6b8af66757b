"""What has to be installed, and a session that has what the steps need."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING, Final

from es_dedup.errors import MissingExtra, MissingJava

try:
    import pandas as pd  # noqa: F401 - pyspark needs both for Arrow batches, and brings neither
    import pyarrow as pa  # noqa: F401
    from pyspark.sql import SparkSession
except ImportError as error:
    raise MissingExtra(error.name or "pyspark", "spark", "es_dedup.spark") from error

if TYPE_CHECKING:
    from collections.abc import Mapping

ROWS: Final = 2_000  # of an Arrow batch: pages of 100 KB make 200 MB
LOCAL_PARTITIONS: Final = 8  # of a shuffle on one machine: of Spark's 200 each would cost a task of Python


def session(master: str | None = None, config: Mapping[str, str] | None = None) -> SparkSession:
    """The Spark session of this process, made when there is none.

    Args:
        master: ``local[2]``, an address of a cluster, or None: what ``spark-submit`` or the configuration says.
        config: further configuration.

    Raises:
        MissingJava: no Java was found, and no cluster to connect to is named.
    """
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else "java"  # noqa: PTH118 - a program, not a file
    if shutil.which(java) is None:
        raise MissingJava("es_dedup.spark", home or "")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("es-dedup")
    builder = builder.config("spark.sql.execution.arrow.maxRecordsPerBatch", str(ROWS))
    if master and master.startswith("local"):
        builder = builder.config("spark.sql.shuffle.partitions", str(LOCAL_PARTITIONS))
    for name, value in (config or {}).items():
        builder = builder.config(name, value)
    return (builder.master(master) if master else builder).getOrCreate()
