"""The REST API: ``es-dedup serve``. One process takes requests and writes, others answer what only reads.

A request passes ``app`` (headers, figures, one answer to all errors) and a route, which checks who asks, reads the body, and has a
function of ``calls`` or the library run by ``workers``: in a process that reads, or in the thread that writes.

Modules:
    app: the application; ``server``: sockets, start and end.
    routes: of the REST API; ``bodies``, ``answers``: models of the JSON of requests and answers.
    browsers: sessions and forms of the console; ``console``: its routes.
    service: what all routes share; ``sessions``: what it remembers of browsers; ``cluster_queries``: parameters of both kinds of routes.
    calls: what routes ask the library where that is more than one method.
    readers: the processes that read; ``workers``: these, the thread that writes, and how many requests may wait for them.
    jobs: long calls; ``tokens``: who may do what; ``problems``: errors as problem+json.
    metrics: figures for Prometheus.
"""
