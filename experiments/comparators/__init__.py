"""Comparators: published methods that those of es-dedup are measured against, one module per method.

What several of them share stands beside them: ``words`` (segmented words and sentences), ``hashsets`` (features that are
sets of hashes), ``minima`` (min-wise hashing), ``spots`` (spot signatures), ``periods`` (period signatures), ``collection`` (document frequencies),
``strings`` and ``subsequence`` (short texts compared by longest common subsequence).
"""
