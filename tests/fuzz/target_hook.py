"""Targets: bulk actions of any form into the hook, and answers of Elasticsearch to what it writes and reads."""

import copy
import random
import traceback
import warnings
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple
from unittest.mock import patch

from elasticsearch import ApiError, Elasticsearch, TransportError
from elasticsearch.helpers import BulkIndexError, bulk

from es_dedup.errors import DedupError
from es_dedup.hook import DedupHook, dedup_bulk
from es_dedup.index import factory
from es_dedup.index.source_index import SourceFields
from tests.fuzz.corpus import texts
from tests.fuzz.harness import Target
from tests.fuzz.mutate import VALUES, as_bytes, damaged_json, value_of
from tests.fuzz.node import Node
from tests.fuzz.target_elastic import ADDRESS, settings
from tests.fuzz.target_search import client

OPERATIONS: Final = ("index", "index", "create", "update", "delete")
FIELDS: Final = SourceFields("content", published="at", site="place.site")


class Given(NamedTuple):
    """One call: its actions and options, and what decides on the answers."""

    actions: list[Any]
    options: dict[str, Any]
    seed: int


def action(rng: random.Random) -> Any:
    """A sound action in one of the forms that the helper takes."""
    operation = rng.choice(OPERATIONS)
    document = {
        "content": rng.choice(texts())[:200],
        "title": "t",
        "url": "http://a/",
        "at": rng.choice(("2026-03-04", 1_700_000_000_000, None)),
        "place": {"site": "a"},
    }
    place = {"_index": "i", "_id": f"d{rng.randrange(4)}"}
    if operation == "update":
        return {"_op_type": "update", **place, "doc": document}
    if operation == "delete":
        return {"_op_type": "delete", **place}
    if rng.random() < 0.2:
        return (
            as_bytes(rng, document)
            if rng.random() < 0.5
            else as_bytes(rng, document).decode("utf-8", "replace")
        )
    made = {"_op_type": operation, **place} | (document if rng.random() < 0.5 else {"_source": document})
    if rng.random() < 0.3:
        made["routing"] = "r"
    if rng.random() < 0.1:
        del made["_id"]
    return made


def sound(rng: random.Random) -> Given:
    """A call as users make it."""
    options: dict[str, Any] = {
        "index": "i",
        "policy": rng.choice(("mark", "mark", "skip", "overwrite", "fail")),
        "chunk_size": rng.choice((1, 2, 500)),
    }
    return Given([action(rng) for _ in range(rng.randrange(1, 6))], options, rng.randrange(2**32))


def hostile(rng: random.Random) -> Given:
    """A call whose actions are damaged, or anything."""
    given = sound(rng)
    actions = []
    for each in given.actions:
        if isinstance(each, dict) and rng.random() < 0.6:
            each = damaged_json(rng, each)  # noqa: PLW2901 - the same action, damaged
        elif rng.random() < 0.1:
            each = rng.choice((*VALUES, value_of(rng), b"\xff", "{", "[1]", b"null"))  # noqa: PLW2901 - in its place
        actions.append(each)
    options = given.options | ({} if rng.random() < 0.8 else {"index": rng.choice((None, "", "x"))})
    return given._replace(actions=actions, options=options | {"policy": rng.choice(("mark", "skip"))})


def hooked(given: Given, *, damage: float, errors: float) -> None:
    """The hook around a write."""
    Node.rng, Node.features = random.Random(given.seed), factory.features_of(settings())
    Node.damage, Node.errors = 0, 0
    with (
        patch("elasticsearch.Elasticsearch", partial(Elasticsearch, node_class=Node)),
        patch("time.sleep", lambda _: None),
    ):
        source_index = factory.open_source_index(ADDRESS, settings())
        hook = DedupHook(factory.open_index(":memory:", settings()), source_index, FIELDS, settings())
        Node.damage, Node.errors = damage, errors
        try:
            with warnings.catch_warnings():
                # The documents that the node gives back are random: the hook rightly warns that they lost their fields.
                warnings.filterwarnings("ignore", "[^/]+/.* was stored without", UserWarning)
                dedup_bulk(client(), iter(given.actions), hook=hook, **given.options)
        finally:
            hook.close()


def as_the_helper(given: Given) -> None:
    """The hook raises an error of ours, or what the client's own helper raises for the same actions."""
    options = {name: value for name, value in given.options.items() if name != "policy"}
    Node.rng, Node.damage, Node.errors = random.Random(given.seed), 0, 0
    expected: type[BaseException] = DedupError
    try:
        bulk(client(), copy.deepcopy(given.actions), **options)
    except Exception as error:  # noqa: BLE001 - whatever it is
        expected = type(error)
    try:
        hooked(given, damage=0, errors=0)
    except expected:
        return
    except Exception as error:
        if not _of_the_client(error):
            raise


def answered(given: Given) -> None:
    """Whatever the server answers, the hook raises errors of ours or the client's own."""
    try:
        hooked(given, damage=0.1, errors=0.05)
    except (ApiError, TransportError, BulkIndexError):
        return
    except Exception as error:
        if not _of_the_client(error):
            raise


def _of_the_client(error: Exception) -> bool:
    """Whether the client's own code raised it: for another action of the call, or for an answer that it reads itself."""
    last = traceback.extract_tb(error.__traceback__)[-1].filename
    return not {"json", "elasticsearch", "elastic_transport"}.isdisjoint(Path(last).parts)


TARGETS: Final = (
    Target("hook-actions", hostile, as_the_helper, 8_000),
    Target("hook-answers", sound, answered, 8_000),
)
