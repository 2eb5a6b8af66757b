# A worker, or the REST API; docker-compose.yml starts both. The settings come from the environment, see docs/operations/README.md.
FROM python:3.12.7-slim
ENV NUMBA_CACHE_DIR=/var/cache/es-dedup
WORKDIR /build
COPY pyproject.toml constraints.txt README.md LICENSE NOTICE ./
COPY es_dedup es_dedup
COPY tasks tasks
COPY mappings mappings
RUN pip install --no-cache-dir --constraint constraints.txt '.[fast,elastic,celery,serve]' && rm -rf /build
WORKDIR /tmp
# for a machine with another processor the worker compiles again when it starts, so its user may write there
RUN es-dedup compile && chown -R nobody /var/cache/es-dedup
USER nobody
ENTRYPOINT ["es-dedup"]
CMD ["--help"]
