"""What has to be installed, and a session that has what the steps need."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING, Final

from es_dedup.errors import SparkUnavailable, needs_extra

with needs_extra("spark", "es_dedup.spark"):
    import pandas as pd  # noqa: F401 - pyspark needs both for Arrow batches, and brings neither
    import pyarrow as pa  # noqa: F401
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

if TYPE_CHECKING:
    from collections.abc import Mapping

ROWS: Final = 2_000  # of an Arrow batch: pages of 100 KB make 200 MB
PARTITIONS: Final = "spark.sql.shuffle.partitions"
LOCAL_PARTITIONS: Final = 8  # of a shuffle on one machine: of Spark's 200 each would cost a task of Python


def session(master: str | None = None, config: Mapping[str, str] | None = None) -> SparkSession:
    """The Spark session of this process, made when there is none.

    Args:
        master: ``local[2]``, an address of a cluster, or None: what ``spark-submit`` or the configuration says.
        config: further configuration.

    Raises:
        SparkUnavailable: no session could be made; the driver needs Java on a cluster, too.
    """
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else "java"  # noqa: PTH118 - a program, not a file
    if shutil.which(java) is None:
        raise SparkUnavailable(f"no Java at JAVA_HOME, {home}" if home else "no Java on PATH")
    builder = SparkSession.builder.appName("es-dedup")
    builder = builder.config("spark.sql.execution.arrow.maxRecordsPerBatch", str(ROWS))
    for name, value in (config or {}).items():
        builder = builder.config(name, value)
    try:
        made = (builder.master(master) if master else builder).getOrCreate()
    except (PySparkException, Py4JError) as error:
        from es_dedup.spark.folder import cause  # noqa: PLC0415 - imports pyspark

        raise SparkUnavailable(cause(error)) from error
    context = made.sparkContext
    if context.master.startswith("local"):
        if not context.getConf().contains(PARTITIONS):
            made.conf.set(PARTITIONS, LOCAL_PARTITIONS)
        if "PYSPARK_PYTHON" not in os.environ:  # the first one of PATH may have no es-dedup
            context.pythonExec = sys.executable
    return made
