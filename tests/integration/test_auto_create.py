"""The hook and indices that do not exist: it makes those that a plain write would make."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from es_dedup.hook import dedup_bulk
from tests.hooked import STORIES, clusters, five

if TYPE_CHECKING:
    from elasticsearch import Elasticsearch

    from es_dedup.hook import DedupHook


@pytest.mark.slow  # changes a setting of the whole server
def test_no_index_is_made_where_the_server_makes_none(
    hook: DedupHook, client: Elasticsearch, name: str
) -> None:
    """The hook does as a plain ``bulk``: nothing is written, and no features are kept."""
    client.cluster.put_settings(persistent={"action.auto_create_index": f"-{name}*,*"})
    try:
        _, errors = dedup_bulk(client, five(name), hook=hook, raise_on_error=False)
        assert {error["index"]["status"] for error in errors if isinstance(error, dict)} == {404}
        assert not client.indices.exists(index=name)
        assert hook._index.count() == 0
        client.indices.put_index_template(
            name=name, index_patterns=[name], allow_auto_create=True, priority=900
        )
        assert dedup_bulk(client, five(name), hook=hook)[0] == 5
        assert clusters(client, name) == STORIES
    finally:
        client.cluster.put_settings(persistent={"action.auto_create_index": None})
        client.options(ignore_status=404).indices.delete_index_template(name=name)
