"""The command line of es-dedup with the commands of the experiments: ``python -m experiments compare …``."""

from __future__ import annotations

from es_dedup.cli.main import app, run
from experiments import compare, extractors, idf

for module in (compare, extractors, idf):
    module.register(app)

if __name__ == "__main__":
    run()
