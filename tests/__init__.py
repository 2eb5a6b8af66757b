"""Tests of es-dedup, by kind: what a folder is for stands in CONTRIBUTING.md."""
