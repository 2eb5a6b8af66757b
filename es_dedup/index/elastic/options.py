"""What can be set for an index on a server."""

from __future__ import annotations

from es_dedup.settings.servers import ElasticConfig


class Options(ElasticConfig):
    """How to talk to the server, and what its indices are made with: the settings of section ``elastic``, and what goes with them."""

    section: str = "elastic"
    """section of the settings that names the connection, for messages"""
    lock_seconds: float = 10.0
    """how long a write session waits for another writer"""
