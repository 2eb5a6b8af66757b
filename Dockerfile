# A worker, or the REST API; docker-compose.yml starts both. The settings come from the environment, see docs/operations/README.md.
FROM rust:1.91-slim-bookworm AS native
RUN apt-get update && apt-get install --yes --no-install-recommends python3-pip
COPY native /build
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels /build

FROM python:3.12.7-slim
WORKDIR /build
COPY --from=native /wheels /wheels
COPY pyproject.toml constraints.txt README.md LICENSE NOTICE ./
COPY es_dedup es_dedup
COPY tasks tasks
COPY mappings mappings
RUN pip install --no-cache-dir --constraint constraints.txt '.[elastic,celery,proxy,serve]' /wheels/*.whl && rm -rf /build /wheels
WORKDIR /tmp
USER nobody
ENTRYPOINT ["es-dedup"]
CMD ["--help"]
