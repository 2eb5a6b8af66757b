"""Slow, obvious reference implementations, written from the definitions alone.

They are the oracle of the differential tests: pure Python, no array library, nothing imported from the
package under test, and no regard for speed.

Modules:
    ccdet: period signatures, index pruning, containment similarity, decision.
    simhash: weighted 64-bit fingerprint, Hamming distance, band keys and radius-1 candidate queries.
    multi_simhash: word weights, keyword windows, two fingerprints, the rule.
    char_frequency: GB 2312 numbering, main and auxiliary strings, edit distance.
    dwdcs: merging of concepts, network, path lengths without a node, both similarities.
    normalise: the canonical form of a page text.
    coverage: tokens, grams, clauses, digit masking, bottom-k sketches, two-way cover.

Traps:
    Where a definition left a choice, the docstring of the function says "Settled:" and what was chosen.
"""
