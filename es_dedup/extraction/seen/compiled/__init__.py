"""Kernels of this room; see ``es_dedup.compiled``."""
