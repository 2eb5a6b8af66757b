# A worker; docker-compose.yml starts it. The settings come from the environment, see docs/operations/README.md.
FROM python:3.12.7-slim
WORKDIR /build
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY es_dedup es_dedup
COPY tasks tasks
COPY mappings mappings
RUN pip install --no-cache-dir --constraint constraints.txt '.[elastic,celery]' && rm -rf /build
WORKDIR /tmp
USER nobody
ENTRYPOINT ["es-dedup"]
CMD ["--help"]
