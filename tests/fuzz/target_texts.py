"""Targets: what people write or send back: settings, the environment, labels, addresses, cursors."""

import base64
import json
import random
import zlib
from functools import cache
from typing import Any, Final, NamedTuple

from es_dedup.collapse.cursor_paging import Cursor, pack, unpack
from es_dedup.collapse.model import Bound, Total
from es_dedup.evaluation.labels import read_labels
from es_dedup.index.elastic.address import is_address, parse_address
from es_dedup.settings.loading import Settings, describe, load_settings
from tests.fuzz.harness import Target
from tests.fuzz.mutate import VALUES, as_bytes, damaged, damaged_json, nested, value_of
from tests.fuzz.target_readers import folder

ADDRESSES: Final = (
    "http://u:p@localhost:9200/pages",
    "https://a:9200,https://b:9200/x-y",
    "http://[::1]:9200/p",
    "pages.db",
    "http://%zz@h/p",
)


class Given(NamedTuple):
    """A settings file, the environment beside it, and arguments."""

    file: bytes
    environ: dict[str, str]
    overrides: dict[str, Any]


@cache
def lines() -> tuple[tuple[str, Any], ...]:
    """Every setting with its default."""
    return tuple((line.key, line.default) for line in describe(Settings()))


def settings(rng: random.Random) -> Given:
    """Settings of which some are wrong in any way."""
    written = []
    for key, default in rng.sample(lines(), rng.randrange(6)):
        value = default if rng.random() < 0.5 else rng.choice(VALUES)
        section, _, name = key.rpartition(".")
        shown = json.dumps(list(value) if isinstance(value, tuple) else value)
        written.append(
            f"[{section}]\n{name} = {shown}\n" if section and rng.random() < 0.7 else f"{key} = {shown}\n"
        )
    file = "\n".join(written).encode("utf-8", "replace")
    environ = {
        "ES_DEDUP_"
        + rng.choice((key.replace(".", "__").upper(), "X", "_", "BY_RULES", "DECISION__")): rng.choice(
            (
                "",
                "1",
                "-1",
                "nan",
                "inf",
                "1e400",
                "x,y",
                ",",
                "true",
                "[]",
                "\udc80",
                "9" * 4000,
                str(default),
            )
        )
        for key, default in rng.sample(lines(), rng.randrange(3))
    }
    overrides = {
        rng.choice((key, key.partition(".")[0], "x")): rng.choice((*VALUES, nested(rng, 50)))
        for key, _ in rng.sample(lines(), rng.randrange(3))
    }
    return Given(damaged(rng, file, most=3) if rng.random() < 0.7 else file, environ, overrides)


def loaded(given: Given) -> None:
    """Settings, or all that is wrong with them."""
    path = folder() / "settings.toml"
    path.write_bytes(given.file)
    describe(load_settings(path, given.overrides, given.environ))


def labels(rng: random.Random) -> tuple[str, bytes]:
    """A damaged file of labels."""
    rows = [
        {
            "id_a": f"a{rng.randrange(4)}",
            "id_b": f"b{rng.randrange(4)}",
            "label": rng.choice(("dup", "0", "diff", "contain", "?")),
            "relation": rng.choice(("", "exact", "x")),
        }
        for _ in range(rng.randrange(1, 6))
    ]
    if rng.random() < 0.5:
        made = b"\n".join(
            as_bytes(rng, damaged_json(rng, row) if rng.random() < 0.5 else row) for row in rows
        )
        name = "labels.jsonl"
    else:
        made = "\n".join(["\t".join(rows[0]), *("\t".join(map(str, row.values())) for row in rows)]).encode()
        name = rng.choice(("labels.tsv", "labels"))
    return name, damaged(rng, made, most=4) if rng.random() < 0.6 else made


def labelled(given: tuple[str, bytes]) -> None:
    """Pairs, or which lines are wrong."""
    path = folder() / given[0]
    path.write_bytes(given[1])
    for pair in read_labels(path):
        assert pair.left < pair.right


def address(rng: random.Random) -> str:
    """A damaged address."""
    return damaged(rng, rng.choice(ADDRESSES).encode(), most=3).decode("utf-8", "surrogateescape")


def addressed(text: str) -> None:
    """The parts of an address."""
    if is_address(text):
        str(parse_address(text)).encode()


def cursor(rng: random.Random) -> str:
    """A cursor that was changed, before or after it was packed."""
    sound = [1, "pit", "0123456789abcdef", [1.5, "x", None], [10, "exact"], [3, "about"]]
    match rng.choice((0, 1, 3)) if rng.random() < 0.98 else 2:  # bombs take long to make
        case 0:
            text = pack(Cursor("pit", "0" * 16, (1, None), Total(3, Bound.ABOUT)))
            return damaged(rng, text.encode(), most=3).decode("latin-1")
        case 1:
            return base64.urlsafe_b64encode(
                damaged(rng, zlib.compress(json.dumps(sound).encode()), most=2)
            ).decode()
        case 2:
            data = zlib.compress(
                rng.choice((b"[" * 10**6, b" " * 3 * 10**6, b'["' + b"a" * 2 * 10**6, b"9" * 10**5)), 1
            )
            return base64.urlsafe_b64encode(data).decode()
        case _:
            made = as_bytes(rng, damaged_json(rng, sound) if rng.random() < 0.9 else value_of(rng))
            return base64.urlsafe_b64encode(zlib.compress(made)).decode()


def unpacked(text: str) -> None:
    """A cursor that can be read has what a search goes on with."""
    found = unpack(text)
    assert isinstance(found.pit, str)
    pack(found)


TARGETS: Final = (
    Target("settings", settings, loaded, 20_000),
    Target("labels", labels, labelled, 60_000),
    Target("addresses", address, addressed, 60_000),
    Target("cursors", cursor, unpacked, 60_000),
)
