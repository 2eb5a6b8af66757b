"""What all methods share: normalising, tokens and clauses, segmentation, stable hashing."""
