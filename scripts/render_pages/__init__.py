"""Labelled pages made by construction: known texts rendered by real programs with real themes."""
