"""Targets: everything that is stored as bytes, by the Python form and by the native core; and whole index files."""

import json
import random
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import date
from functools import cache, partial
from typing import Any, Final

import numpy as np

from es_dedup import native
from es_dedup.batch.corpus import corpus_of
from es_dedup.batch.learning import learn
from es_dedup.batch.overrides import JOURNAL, OVERRIDES
from es_dedup.clustering.order import PageKey
from es_dedup.decision.comparison import PagePairs, Pages, compare, pair_decisions
from es_dedup.decision.statistics import Statistics
from es_dedup.deduplicator.deduplicator import Deduplicator
from es_dedup.detectors import features
from es_dedup.detectors.features import FeatureTable
from es_dedup.detectors.port import Detector
from es_dedup.detectors.registry import create_detectors, detector_names
from es_dedup.errors import DedupError
from es_dedup.index.elastic.documents import hash_of, hash_token
from es_dedup.index.embedded import candidates
from es_dedup.index.embedded.tables import pack_terms, unpack_terms
from es_dedup.index.texts import compress_text, decompress_text
from es_dedup.model import Content, Page, Skipped
from es_dedup.settings import Settings
from tests.fuzz.corpus import texts
from tests.fuzz.harness import Target
from tests.fuzz.mutate import VALUES, damaged, damaged_json, window
from tests.fuzz.target_readers import folder

PLAIN: Final = Settings()
FURTHER: Final = Settings(
    detectors=("ccdet", "simhash", "coverage", "dwdcs", "multi_simhash", "char_frequency")
)
PAGES: Final = 24
TABLES: Final = ("pages", "features", "texts", "edges", "assignments", "postings", "notes", "meta")


@contextmanager
def native_core(*, on: bool) -> Iterator[None]:
    """Run by the native core, where it is installed, or by the Python form."""
    before = native.core
    native.core = before if on else None
    try:
        yield
    finally:
        native.core = before


@cache
def contents() -> tuple[Content, ...]:
    """Pages, some of them alike, one very short, one of digits."""
    some = texts()[:: max(1, len(texts()) // PAGES)][:PAGES]
    made = [Content("\n".join((text, some[at - 1])), title=text[:20]) for at, text in enumerate(some)]
    long = [Content("\n".join(texts()[at : at + 40]), title="长文") for at in (0, 40)]
    return (*made, *long, Content("短文"), Content("1 2 3 4 5 " * 30))


@cache
def payloads(settings: Settings) -> tuple[bytes, ...]:
    """Stored features of these pages."""
    table = features.featurise(
        [each.text for each in contents()], [each.title for each in contents()], settings
    )
    return tuple(features.pack(table))


@cache
def sound(settings: Settings) -> FeatureTable:
    """The same, unpacked."""
    return features.unpack(payloads(settings))


def some_payloads(rng: random.Random, settings: Settings) -> list[bytes]:
    """A few payloads, at least one of them damaged."""
    made = [rng.choice(payloads(settings)) for _ in range(rng.randrange(1, 4))]
    place = rng.randrange(len(made))
    made[place] = damaged(rng, made[place], payloads(settings), most=3)
    return made


def compared(settings: Settings, on: bool, stored: Sequence[bytes]) -> None:
    """Unpack features; those that can be unpacked can also be compared, and learned from."""
    with native_core(on=on):
        table = features.unpack(stored)
        rows, others = np.arange(len(table)), np.arange(len(table)) % len(sound(settings))
        mine = Pages([str(row) for row in rows], table, np.zeros(len(table), dtype=np.int64))
        theirs = Pages(
            [str(row) for row in range(len(sound(settings)))],
            sound(settings),
            np.zeros(len(sound(settings)), dtype=np.int64),
        )
        comparison = compare(PagePairs(mine, rows, theirs, others), statistics(), settings)
        pair_decisions(comparison, [0])
        features.stored_terms(table, settings)
        learn(corpus_of([*map(PageKey, mine.ids)], table), settings.ccdet)


@cache
def statistics() -> Statistics:
    """What the pages teach."""
    table = sound(PLAIN)
    rows = np.tile(np.arange(len(table)), 12)
    keys = [
        PageKey(f"p{at}", date.fromordinal(max(40 * row, 1)).isoformat(), f"s{at % 5}")
        for at, row in enumerate(rows.tolist())
    ]
    made = learn(corpus_of(keys, table.take(rows)), PLAIN.ccdet)
    assert made.pages
    return made


@cache
def methods() -> tuple[tuple[Detector[Any], tuple[Any, ...], tuple[bytes, ...]], ...]:
    """Each method with features of the pages, and the same packed."""
    made = []
    for name in detector_names():
        detector = create_detectors(Settings(detectors=(name,)))[name]
        found = tuple(each for each in detector.featurise_many(contents()) if not isinstance(each, Skipped))
        if found:
            made.append((detector, found, tuple(map(detector.pack, found))))
    return tuple(made)


def of_method(rng: random.Random) -> tuple[int, bytes]:
    """A method, and features that it did not make."""
    which = rng.randrange(len(methods()))
    _, _, packed = methods()[which]
    others = rng.choice(methods())[2] if rng.random() < 0.2 else packed
    return which, damaged(rng, rng.choice(others), packed, most=3)


def unpacked(given: tuple[int, bytes]) -> None:
    """What a method unpacks it can also use; else it raises ``ValueError``, as its contract says."""
    detector, found, _ = methods()[given[0]]
    try:
        made = detector.unpack(given[1])
    except ValueError:
        return
    detector.terms(made)
    detector.candidate_query(made)
    detector.verify(made, found[0])
    detector.verify(found[0], made)
    detector.pack(made)


def packed_text(rng: random.Random) -> bytes:
    """A damaged stored text."""
    packed = compress_text(window(rng, rng.choice(texts()).encode(), 600).decode("utf-8", "ignore"))
    return damaged(rng, packed, most=3)


def snapshot(rng: random.Random) -> bytes:
    """Damaged statistics; now and then sound as an archive, with columns that do not fit."""
    return damaged(rng, _snapshots()[rng.randrange(len(_snapshots()))], _snapshots(), most=3)


@cache
def _snapshots() -> tuple[bytes, ...]:
    known = statistics()
    changed: list[dict[str, Any]] = [
        {}, {"grams": known.grams[::-1].copy()}, {"grams": known.grams.astype(np.float64)}, {"gram_weights": known.gram_weights * np.float32("nan")},
        {"clauses": known.clauses.astype(np.int64) * -1}, {"noise": known.noise.astype("S8")}, {"pages": np.array([1, 2])}, {"pages": np.int64(-5)},
        {"placeholders": known.grams[::-1].astype(np.int64)}, {"placeholders": known.grams}, {"grams": known.grams[None], "gram_weights": known.gram_weights[None]}, {"clauses": known.clauses[:0], "clause_weights": known.clause_weights[:0]},
    ]  # fmt: skip
    made = []
    for change in changed:
        other = Statistics(
            **{**{name: getattr(known, name) for name in known.__dataclass_fields__}, **change}
        )
        made.append(other.to_bytes())
    return tuple(made)


def learned(on: bool, data: bytes) -> None:
    """Statistics that can be read can be used."""
    try:
        found = Statistics.from_bytes(data)
    except ValueError:
        return
    with native_core(on=on):
        table = sound(PLAIN).coverage
        found.weights(table)
        found.titled(table, np.arange(len(table)))
        _ = found.version


def override_note(rng: random.Random) -> tuple[str, str]:
    """Overrides as an index keeps them: the head and a row, one of them damaged."""
    kinds = {"same": ["a", "b"], "different": ["b", "c"], "canonical": ["a"]}
    listed = [
        {"id": kind, "kind": kind, "pages": pages, "reason": "r", "author": "a", "time": "2026-01-01"}
        for kind, pages in kinds.items()
    ]
    head: Any = {"format": 2, "journal": rng.randbytes(6).hex(), "rows": 1, "mark": "m"}
    row: Any = {"mark": "m", "overrides": listed}
    with suppress(RecursionError):  # nested too deep to be written
        if rng.random() < 1 / 4:
            return json.dumps(damaged_json(rng, head)), json.dumps(row)
        return json.dumps(head), json.dumps(damaged_json(rng, row))
    return "{", "{"


def noted(notes: tuple[str, str]) -> None:
    """Overrides out of notes."""
    head, row = notes
    with Deduplicator.open(":memory:", settings=PLAIN) as dedup:
        dedup._index.set_note(JOURNAL.row(1), row)
        dedup._index.set_note(OVERRIDES, head)
        dedup.import_overrides(dedup.overrides(undone=True))


def codes(rng: random.Random) -> tuple[str, bytes]:
    """A damaged list of terms, as a file keeps it, or a hash, as a server does."""
    if rng.random() < 0.5:
        terms = np.array([rng.randrange(2**48) for _ in range(rng.randrange(6))], dtype=np.uint64)
        return "file", damaged(rng, pack_terms(terms), most=3)
    return "server", damaged(rng, hash_token(rng.randrange(2**64)).encode(), most=3)


def decoded(given: tuple[str, bytes]) -> None:
    """Terms of a page out of what is stored."""
    kind, data = given
    if kind == "file":
        found = unpack_terms(data)
        with sqlite3.connect(":memory:") as connection:
            connection.execute(
                "CREATE TABLE postings (term INTEGER, doc INTEGER, PRIMARY KEY (term, doc)) WITHOUT ROWID"
            )
            ones = np.ones(len(found), dtype=np.int64)
            candidates.insert_postings(connection, found, ones)
            assert len(candidates.find_postings(connection, found, 9 * ones)[0].pages) == len(found)
            candidates.remove_postings(connection, found, ones)
    else:
        hash_of(data.decode("latin-1")[:11])


@cache
def index_file() -> bytes:
    """A small embedded index."""
    path = folder() / "whole.db"
    with Deduplicator.open(path) as index:
        index.add_many(Page(f"p{at}", text=each.text, title=each.title) for at, each in enumerate(contents()))
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("PRAGMA journal_mode = DELETE")
    return path.read_bytes()


def cells(rng: random.Random) -> bytes:
    """An index in which values of any table are damaged."""
    path = folder() / "cells.db"
    path.write_bytes(index_file())
    connection = sqlite3.connect(path)
    names = [
        name
        for (name,) in connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE '%VIRTUAL%'"
        )
    ]
    for _ in range(rng.choice((1, 1, 3))):
        table = rng.choice([name for name in names if "_" not in name])
        column = rng.choice([row[1] for row in connection.execute(f"PRAGMA table_info({table})")])
        try:
            rows = connection.execute(f"SELECT rowid, {column} FROM {table}").fetchall()
        except sqlite3.Error:  # a table without row numbers
            continue
        if not rows:
            continue
        at, value = rng.choice(rows)
        if isinstance(value, bytes) and rng.random() < 0.8:
            value = damaged(rng, value, most=3)
        elif isinstance(value, str) and rng.random() < 0.5:
            value = damaged(rng, value.encode(), most=2).decode("utf-8", "replace")
        else:
            value = rng.choice(
                [
                    each
                    for each in (*VALUES, b"", b"\xff" * 9)
                    if isinstance(each, int | float | bytes) and abs(_number(each)) < 2**62
                ]
            )
        try:
            connection.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (value, at))
        except sqlite3.Error:
            continue
    connection.commit()
    connection.close()
    return path.read_bytes()


def _number(value: float | bytes) -> float:
    return 0 if isinstance(value, bytes) else float(value)


def disk(rng: random.Random) -> bytes:
    """An index file with damage anywhere."""
    return damaged(rng, index_file(), most=rng.choice((2, 40)))


def used(data: bytes) -> None:
    """Open an index, ask everything, then write; each step may refuse."""
    path = folder() / "used.db"
    for name in ("used.db-wal", "used.db-shm", "used.db.lock"):
        (folder() / name).unlink(missing_ok=True)
    path.write_bytes(data)
    given = Page("new", text=contents()[0].text)
    with Deduplicator.open(path) as index:
        for step in (
            lambda: index.check(given), lambda: list(index.clusters()), lambda: index.explain("p0", "p1"), lambda: index.text("p2"),
            lambda: index.record("p3"), lambda: index.candidates("p4"), lambda: index.search("的"), index.stats, lambda: index.cluster("p5"),
            lambda: index.aligned("p0", "p1"), lambda: index.add(given), lambda: index.remove("p6"), lambda: index.add_many([given, Page("p7", text="x")]),
        ):  # fmt: skip
            _refusable(step)


def _refusable(step: Callable[[], object]) -> None:
    with suppress(DedupError):
        step()


TARGETS: Final = (
    Target("payloads", partial(some_payloads, settings=PLAIN), partial(compared, PLAIN, False), 30_000),
    Target("payloads-native", partial(some_payloads, settings=PLAIN), partial(compared, PLAIN, True), 30_000),
    Target(
        "payloads-further",
        partial(some_payloads, settings=FURTHER),
        partial(compared, FURTHER, False),
        20_000,
    ),
    Target("overrides", override_note, noted, 20_000),
    Target("methods", of_method, unpacked, 60_000),
    Target("texts", packed_text, decompress_text, 60_000),
    Target("statistics", snapshot, partial(learned, False), 20_000),
    Target("statistics-native", snapshot, partial(learned, True), 20_000),
    Target("terms", codes, decoded, 60_000),
    Target("index-cells", cells, used, 3_000),
    Target("index-file", disk, used, 3_000),
)
