"""Decisions and clusters of a stored corpus that need not fit into memory; ``recluster_out_of_core`` gives what ``recluster_corpus`` gives.

Features are read once and written to a folder of temporary files. Statistics and candidates are made a range of values at a
time, pairs are verified some thousand at a time, clusters are made component by component, and all is written as it comes. What is held of
every page is some numbers: about 150 bytes.
"""

from es_dedup.batch.out_of_core.recluster import recluster_out_of_core

__all__ = ["recluster_out_of_core"]
