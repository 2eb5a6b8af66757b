"""A model-based test: random sequences of steps on a real index and on a plain model of it, which must agree.

``python -m tests.model --help`` runs it for as long as wanted; ``test_model`` is the short form with fixed seeds.
"""
