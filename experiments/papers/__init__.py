"""The experiments of the source documents on the labelled sets: ``python -m experiments.papers NAME``."""
