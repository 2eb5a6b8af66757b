"""Settings of what stands on servers: the index on Elasticsearch, jobs over attached indices, and the REST API."""

from __future__ import annotations

import re
from typing import Final, Literal

from pydantic import Field, SecretStr, ValidationInfo, field_validator

from es_dedup.settings.sections import Section, feature_setting

_FINGERPRINT: Final = re.compile(r"([0-9a-fA-F]{2}:?){31}[0-9a-fA-F]{2}")
_PROXY: Final = re.compile(r"https?://\S+:\d+/?")


class ConnectionConfig(Section):
    """How to reach a cluster, and who asks."""

    user: str = Field("", description="user name; empty: none")
    password: SecretStr = Field(SecretStr(""), description="of the user; best given by the environment")
    api_key: SecretStr = Field(SecretStr(""), description="in place of user and password, in encoded form")
    bearer_token: SecretStr = Field(
        SecretStr(""), description="in place of these: token of a service account, or of an identity provider"
    )
    ca_certs: str = Field("", description="file with trusted certificates; empty: those of the system")
    ca_fingerprint: str = Field(
        "",
        description="SHA-256 of the server's certificate or of its authority, in hexadecimal, in place of trusted certificates",
    )
    client_cert: str = Field(
        "", description="file with a client certificate (PEM), and its key if client_key is empty"
    )
    client_key: str = Field("", description="file with the key of the client certificate (PEM)")
    proxy: SecretStr = Field(
        SecretStr(""), description="forward proxy, http://[user:password@]host:port; empty: none"
    )

    @field_validator("bearer_token")
    @classmethod
    def _one_of_both(cls, value: SecretStr, info: ValidationInfo) -> SecretStr:
        given = info.data.get("api_key")
        if value.get_secret_value() and given is not None and given.get_secret_value():
            raise ValueError("give an API key or a bearer token, not both")
        return value

    @field_validator("ca_fingerprint")
    @classmethod
    def _sha256(cls, value: str) -> str:
        if value and not _FINGERPRINT.fullmatch(value):
            raise ValueError("must be 64 hexadecimal digits, with or without colons")
        return value.replace(":", "").lower()

    @field_validator("client_key")
    @classmethod
    def _with_certificate(cls, value: str, info: ValidationInfo) -> str:
        if value and not info.data.get("client_cert"):
            raise ValueError("needs client_cert beside it")
        return value

    @field_validator("proxy")
    @classmethod
    def _address(cls, value: SecretStr) -> SecretStr:
        if value.get_secret_value() and not _PROXY.fullmatch(value.get_secret_value()):
            raise ValueError("must be http://[user:password@]host:port")
        return value


class ElasticConfig(ConnectionConfig):
    """An index on an Elasticsearch server; the settings from ``shards`` on hold when it is made."""

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


class SourceConfig(ConnectionConfig):
    """The cluster with your documents, where it is another one than that of the index."""

    url: str = Field(
        "",
        description="its address, https://host:9200[/prefix]; then the other settings of this section are its own. Empty: that of the "
        "index, reached by section elastic",
    )

    @field_validator("url")
    @classmethod
    def _without_credentials(cls, value: str) -> str:
        if "@" in value:
            raise ValueError(
                "must be an address without user and password: give source.user and source.password"
            )
        if value and not value.startswith(("http://", "https://", "cloud://")):
            raise ValueError("must be https://host:9200, with a prefix if there is one")
        return value


class HookConfig(Section):
    """Documents on their way into the user's index."""

    on_failure: Literal["fail_open", "fail_closed"] = Field(
        "fail_open",
        description="where the feature index gives no decision: fail_open writes documents as inconclusive, to be decided on later; "
        "fail_closed writes none of the batch and raises NotDecided",
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
    follow_seconds: float = Field(
        2.0, gt=0, le=3600, description="time between looks of `follow` for new writes when there were none"
    )
    deletions_seconds: float = Field(
        60.0, gt=0, le=86_400, description="time between looks of `follow` for deleted documents"
    )
    recluster_hours: float = Field(
        24.0,
        ge=0,
        description="hours after the last reclustering or backfill at which beat starts the next reclustering; 0: never",
    )
    keep_days: int = Field(
        0,
        ge=0,
        le=100_000,
        description="days after their publication at which `remove --expired` and, where nothing is attached, beat remove pages; 0: never",
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
