"""Settings of what stands on servers: the index on Elasticsearch, jobs over attached indices, and the REST API."""

from __future__ import annotations

import re
from typing import Any, Final, Literal

from pydantic import Field, SecretStr, ValidationInfo, field_validator

from es_dedup.settings.sections import DetectorNames, Section, feature_setting

_FINGERPRINT: Final = re.compile(r"([0-9a-fA-F]{2}:?){31}[0-9a-fA-F]{2}")
_PROXY: Final = re.compile(r"https?://\S+:\d+/?")


class ConnectionConfig(Section):
    """Connection to a cluster, and credentials."""

    user: str = ""
    """user name; empty: none"""
    password: SecretStr = SecretStr("")
    """password of the user; best set in the environment"""
    api_key: SecretStr = SecretStr("")
    """API key in encoded form, instead of user and password"""
    bearer_token: SecretStr = SecretStr("")
    """token of a service account or an identity provider, instead of user and password or API key"""
    ca_certs: str = ""
    """file with trusted CA certificates; empty: those of the system"""
    ca_fingerprint: str = ""
    """SHA-256 fingerprint of the server's certificate or of its CA, in hexadecimal, instead of ca_certs"""
    client_cert: str = ""
    """file with a client certificate (PEM); must also contain the key if client_key is empty"""
    client_key: str = ""
    """file with the key of the client certificate (PEM)"""
    proxy: SecretStr = SecretStr("")
    """forward proxy, http://[user:password@]host:port; empty: none"""

    @property
    def connection(self) -> dict[str, Any]:
        """The settings of the connection alone, by name."""
        return {name: getattr(self, name) for name in ConnectionConfig.model_fields}

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
    """An index on an Elasticsearch server; ``shards`` and the settings after it apply when the index is created."""

    request_seconds: float = Field(30.0, gt=0, le=3600)
    """timeout of one request"""
    retry_seconds: float = Field(30.0, ge=0, le=3600)
    """how long a failing request is retried"""
    chunk_bytes: int = Field(5_000_000, ge=10_000, le=90_000_000)
    """maximum bytes of one bulk request"""
    shards: int = Field(1, ge=1, le=1024)
    """number of shards of the indices of features and texts"""
    replicas: str = Field("0-1", pattern=r"^\d+(-(\d+|all))?$")
    """number of replicas, or a range as of index.auto_expand_replicas"""
    refresh: str = Field("1s", pattern=r"^(-1|\d+(ms|s|m))$")
    """refresh interval: time until searches see a write"""
    also_stored: DetectorNames = feature_setting(("dwdcs",))
    """methods, besides those of detectors, whose features are stored in named fields; not used for candidates and decisions"""
    durability: Literal["request", "async"] = "request"
    """index.translog.durability; async is faster, but a crash of the server may lose 5 s of features"""
    named_fields: bool = True
    """store signatures and key concepts as readable text that can be queried; off: smaller index"""


class SourceConfig(ConnectionConfig):
    """The cluster with your documents, if it is not the cluster of the index."""

    url: str = ""
    """URL, https://host:9200[/prefix]; the other settings of this section then apply to it. Empty: the cluster of the index, with the settings
    of section elastic"""

    @field_validator("url")
    @classmethod
    def _without_credentials(cls, value: str) -> str:
        if "@" in value:
            raise ValueError(
                "must be an address without user and password: give source.user and source.password"
            )
        if value and not value.startswith(("http://", "https://")):
            raise ValueError("must be https://host:9200, with a prefix if there is one")
        return value


class HookConfig(Section):
    """The hook, which decides on documents before they are indexed."""

    on_failure: Literal["fail_open", "fail_closed"] = "fail_open"
    """if the feature index is unavailable: fail_open writes documents as inconclusive, to be decided on later; fail_closed writes no document
    of the batch and raises NotDecided"""


class MaintenanceConfig(Section):
    """Attached indices: jobs, tasks and their workers."""

    broker: SecretStr = SecretStr("redis://127.0.0.1:6379/0")
    """URL of the Redis that is the task broker; may contain a password"""
    batch: int = Field(256, ge=1, le=5_000)
    """documents read and written at a time"""
    part_documents: int = Field(20_000, ge=100)
    """approximate number of documents in one partition of a job"""
    step_seconds: float = Field(20.0, gt=0, le=600)
    """approximate time that one task works on a partition"""
    lease_seconds: float = Field(60.0, ge=1, le=3600)
    """time without a heartbeat after which a partition is given to another worker"""
    task_seconds: int = Field(1_800, ge=10, le=86_400)
    """time after which a task is terminated"""
    max_attempts: int = Field(5, ge=1, le=100)
    """attempts before a page becomes a dead letter"""
    max_change_share: float = Field(0.3, ge=0, le=1)
    """share of changed pages above which a command requires --force; up to 100 documents never do"""
    tend_seconds: float = Field(15.0, ge=1, le=3600)
    """interval of checks for orphaned partitions"""
    recheck_seconds: float = Field(300.0, ge=0)
    """interval of checks for documents without a decision, and for corpus statistics to be learned again; 0: never"""
    follow_seconds: float = Field(2.0, gt=0, le=3600)
    """interval at which `elastic follow` checks for new writes after a check that found none"""
    deletions_seconds: float = Field(60.0, gt=0, le=86_400)
    """interval at which `elastic follow` checks for deleted documents"""
    recluster_hours: float = Field(24.0, ge=0)
    """hours after the last reclustering or backfill at which beat starts the next reclustering; 0: never"""


class ServeConfig(Section):
    """The REST API (`es-dedup serve`)."""

    host: str = Field("127.0.0.1", min_length=1)
    """address to listen on"""
    port: int = Field(8765, ge=0, le=65535)
    """port to listen on; 0: any that is free"""
    require_token: bool = True
    """requests need a token; off is allowed only on a loopback address"""
    token_file: str = Field("es-dedup.tokens", min_length=1)
    """file with the tokens; created with mode 0600 if it does not exist"""
    read_token: SecretStr = SecretStr("")
    """token for reading, instead of the file; best set in the environment"""
    write_token: SecretStr = SecretStr("")
    """token for reading and writing, instead of the file; best set in the environment"""
    processes: int = Field(0, ge=0, le=64)
    """number of processes that answer read requests; 0: one per core, at most four"""
    waiting: int = Field(64, ge=0, le=10_000)
    """number of waiting requests of each kind above which further ones get status 429"""
    max_body_bytes: int = Field(16_000_000, ge=1_000, le=1_000_000_000)
    """maximum bytes of a request body"""
    body_seconds: float = Field(30.0, gt=0, le=3600)
    """timeout for receiving a request body"""
    request_seconds: float = Field(60.0, gt=0, le=3600)
    """timeout of a response"""
    shutdown_seconds: int = Field(60, ge=1, le=3600)
    """time for open requests to finish when the server is stopped"""
