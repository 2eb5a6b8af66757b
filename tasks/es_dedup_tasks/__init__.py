"""Celery tasks of es-dedup: envelopes around the use cases of ``es_dedup.maintenance``, with ids in and counts out.

``es-dedup worker`` starts a worker. Only this package imports celery.
"""
