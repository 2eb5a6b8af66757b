"""The REST API: ``es-dedup serve``. One process takes requests and writes, others answer what only reads.

Modules:
    app: the routes; ``bodies``, ``answers``: models of the JSON of requests and answers; ``server``: sockets, start and end.
    calls: each route's call of the library, on bytes and to bytes.
    readers: the processes that read; ``workers``: these, the thread that writes, and how many requests may wait for them.
    jobs: long calls; ``idempotency``: ``Idempotency-Key``; ``tokens``: who may do what; ``problems``: errors as problem+json.
    metrics: figures for Prometheus.
"""
