"""``python -m es_dedup``: the same as ``es-dedup``."""

from __future__ import annotations

from es_dedup.cli.main import run

run()
