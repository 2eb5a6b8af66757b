"""Experiments that es-dedup is judged by: published methods beside its own, and their comparison on labelled pairs.

Not part of the installed package. To import this package registers the comparators, in worker processes, too.
"""

import sys
from pathlib import Path

from experiments.catalogue import register_all

register_all()
sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))  # the harness and the labelled sets
