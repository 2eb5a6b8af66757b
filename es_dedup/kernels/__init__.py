"""Compiled kernels: when they are used, and the cache of their machine code."""
