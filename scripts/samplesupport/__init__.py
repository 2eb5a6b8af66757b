"""Sample pages and their labels, built from the sources in ``samples/``: what ``scripts/build_samples.py`` is made of."""
