"""Settings of what stands on servers: the index on Elasticsearch, jobs over attached indices, and the REST API."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, SecretStr

from es_dedup.settings.sections import Section, feature_setting


class ElasticConfig(Section):
    """An index on an Elasticsearch server; the settings from ``shards`` on hold when it is made."""

    user: str = Field("", description="user name; empty: none")
    password: SecretStr = Field(SecretStr(""), description="of the user; best given by the environment")
    api_key: SecretStr = Field(SecretStr(""), description="in place of user and password, in encoded form")
    ca_certs: str = Field("", description="file with trusted certificates; empty: those of the system")
    request_seconds: float = Field(30.0, gt=0, le=3600, description="time for one request")
    retry_seconds: float = Field(30.0, ge=0, le=3600, description="how long a failing request is repeated")
    chunk_bytes: int = Field(5_000_000, ge=10_000, le=90_000_000, description="bytes of one bulk request")
    shards: int = Field(1, ge=1, le=1024, description="of features and texts")
    replicas: str = Field(
        "0-1", pattern=r"^\d+(-(\d+|all))?$", description="a number, or a range that follows the nodes"
    )
    refresh: str = Field(
        "1s", pattern=r"^(-1|\d+(ms|s|m))$", description="time until a write is seen by searches"
    )
    also_stored: tuple[str, ...] = feature_setting(
        ("dwdcs",),
        description="methods beside those of detectors whose features are stored in named fields; they take no part in "
        "candidates and decisions",
    )
    durability: Literal["request", "async"] = Field(
        "request", description="async: faster, but a crash of the server may lose 5 s of features"
    )
    named_fields: bool = Field(
        default=True,
        description="store signatures and key concepts as text, which people can read and query; off: fewer bytes",
    )


class MaintenanceConfig(Section):
    """Attached indices: jobs, tasks and their workers."""

    broker: SecretStr = Field(
        SecretStr("redis://127.0.0.1:6379/0"), description="Redis that carries the tasks; may hold a password"
    )
    batch: int = Field(256, ge=1, le=5_000, description="documents read and written at a time")
    part_documents: int = Field(20_000, ge=100, description="documents of one part of a job, about")
    step_seconds: float = Field(20.0, gt=0, le=600, description="one task works on a part for about so long")
    lease_seconds: float = Field(
        60.0, ge=1, le=3600, description="a part whose worker was silent for so long is given to another"
    )
    task_seconds: int = Field(1_800, ge=10, le=86_400, description="a task that takes longer is ended")
    max_attempts: int = Field(5, ge=1, le=100, description="tries before a page becomes a dead letter")
    max_change_share: float = Field(
        0.3, ge=0, le=1, description="share of the pages above which a change has to be forced"
    )
    tend_seconds: float = Field(15.0, ge=1, le=3600, description="time between looks for work left lying")
    recheck_seconds: float = Field(
        300.0, ge=0, description="time between looks for documents that still wait for a decision; 0: never"
    )
    recluster_hours: float = Field(
        24.0,
        ge=0,
        description="hours after the last reclustering or backfill at which beat starts the next reclustering; 0: never",
    )


class ServeConfig(Section):
    """The REST API (`es-dedup serve`)."""

    host: str = Field("127.0.0.1", min_length=1, description="address to listen on")
    port: int = Field(8765, ge=0, le=65535, description="port to listen on; 0: any that is free")
    require_token: bool = Field(
        default=True, description="requests need a token; off: only on an address of this machine alone"
    )
    token_file: str = Field(
        "es-dedup.tokens",
        min_length=1,
        description="file with the tokens, made with mode 0600 when it is not there",
    )
    read_token: SecretStr = Field(
        SecretStr(""), description="for reading, in place of the file; best given by the environment"
    )
    write_token: SecretStr = Field(
        SecretStr(""),
        description="for reading and writing, in place of the file; best given by the environment",
    )
    processes: int = Field(
        0, ge=0, le=64, description="processes that answer reading requests; 0: one per core, at most four"
    )
    waiting: int = Field(
        64, ge=0, le=10_000, description="requests that may wait, of each kind, before others get status 429"
    )
    max_body_bytes: int = Field(
        16_000_000, ge=1_000, le=1_000_000_000, description="bytes of a request's body"
    )
    body_seconds: float = Field(30.0, gt=0, le=3600, description="time for a client to send a body")
    request_seconds: float = Field(60.0, gt=0, le=3600, description="time for an answer")
    shutdown_seconds: int = Field(
        60, ge=1, le=3600, description="time for requests under way when the server is stopped"
    )
