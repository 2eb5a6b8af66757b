"""What can be set for an index on a server."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Options:
    """How to talk to the server, and what its indices are made with.

    Attributes:
        section: of the settings that name the connection, for messages.
        user, password, api_key, bearer_token: credentials; key and token come before a user. Empty: none.
        ca_certs: file with the certificates that are trusted; empty: those of the system.
        ca_fingerprint: SHA-256 of the server's certificate or of its authority, which then is all that is checked; empty: none.
        client_cert, client_key: files with a certificate of ours and its key; empty: none.
        proxy: address of a forward proxy; empty: none.
        request_seconds: how long one request may take.
        retry_seconds: how long a failing request is repeated.
        chunk_bytes: of one bulk request.
        shards, replicas, refresh, durability: see ``mappings.body_of``; used when an index is made.
        named_fields: see ``mappings.body_of``; used when an index is made.
        lock_seconds: how long a write session waits for another writer.
        fresh_reads: searches see all earlier writes of the same object, at the cost of a refresh where these are not at hand;
            without it they see what was written about ``refresh`` ago.
    """

    section: str = "elastic"
    user: str = ""
    password: str = field(default="", repr=False)
    api_key: str = field(default="", repr=False)
    bearer_token: str = field(default="", repr=False)
    ca_certs: str = ""
    ca_fingerprint: str = ""
    client_cert: str = ""
    client_key: str = ""
    proxy: str = field(default="", repr=False)
    request_seconds: float = 30.0
    retry_seconds: float = 30.0
    chunk_bytes: int = 5_000_000
    shards: int = 1
    replicas: str = "0-1"
    refresh: str = "1s"
    durability: str = "request"
    named_fields: bool = True
    lock_seconds: float = 10.0
    fresh_reads: bool = True
