"""Experiments that es-dedup is judged by: published methods beside its own, and their comparison on labelled pairs.

Not part of the installed package. To import this package registers the comparators, in worker processes, too.
"""

from experiments.comparators.catalogue import register_all

register_all()
