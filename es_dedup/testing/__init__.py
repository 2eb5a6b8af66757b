"""The contract suite for those who add detectors."""
