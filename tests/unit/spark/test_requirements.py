"""What is missing for Spark is said with what to install."""

import sys
from pathlib import Path

import pytest

import es_dedup.spark
from es_dedup.errors import MissingExtra, SparkUnavailable


def test_without_pyspark_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "es_dedup.spark.requirements", raising=False)
    for name in ("pandas", "pyspark", "pyspark.sql"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtra, match=r"needs p\w+: install the extra spark"):
        es_dedup.spark.deduplicate  # noqa: B018 - the first use imports pyspark


def test_without_java_that_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SparkUnavailable, match=f"no Java at JAVA_HOME, {tmp_path}"):
        es_dedup.spark.session("local[1]")
