"""Kernels of this package; see ``es_dedup.kernels.dispatch``."""
