"""What the embedded index says of files that are not its own, damaged, or not permitted."""

import pickle
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from es_dedup.errors import IndexUnavailable, NotAnIndex, SchemaMismatch
from es_dedup.index.embedded import EmbeddedIndex
from es_dedup.index.embedded.tables import SCHEMA_VERSION
from es_dedup.testing.builders import random_records, record


def open_index(path: Path, *, read_only: bool = False) -> EmbeddedIndex:
    return EmbeddedIndex(path, features={"made": "f"}, read_only=read_only)


class TestOtherFiles:
    def test_a_file_of_a_newer_format(self, path: Path) -> None:
        open_index(path).close()
        with sqlite3.connect(path) as connection:
            connection.execute("UPDATE meta SET value = 99 WHERE name = 'schema'")
        connection.close()
        with pytest.raises(SchemaMismatch) as caught:
            open_index(path)
        assert (caught.value.expected, caught.value.found) == (SCHEMA_VERSION, 99)

    @pytest.mark.parametrize("read_only", [True, False])
    @pytest.mark.parametrize(
        "content", [b"hello, this is no database", b"\x00" * 8192, b"SQLite format 3\x00" + b"?" * 9000]
    )
    def test_a_file_of_another_kind_is_left_alone(self, path: Path, content: bytes, read_only: bool) -> None:
        path.write_bytes(content)
        with pytest.raises(NotAnIndex):
            open_index(path, read_only=read_only)
        assert path.read_bytes() == content

    def test_a_database_of_another_application_is_left_alone(self, path: Path) -> None:
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE meta (name, value)")
        connection.close()
        before = path.read_bytes()
        with pytest.raises(NotAnIndex, match="another application"):
            open_index(path)
        assert path.read_bytes() == before

    def test_a_damaged_file(self, path: Path) -> None:
        with open_index(path) as index:
            index.put_many(random_records(2000, seed=1))
        content = bytearray(path.read_bytes())
        content[8192:] = b"\xa5" * (len(content) - 8192)
        path.write_bytes(bytes(content))
        with pytest.raises(NotAnIndex, match=r"damaged|malformed"), open_index(path) as index:
            index.count()

    @pytest.mark.parametrize(
        ("name", "read_only", "problem"),
        [
            (".", False, "a folder"),
            ("no/pages.db", False, "does not exist"),
            ("none.db", True, "no such file"),
            ("empty.db", True, "empty"),
        ],
    )
    def test_paths_that_name_no_file(self, tmp_path: Path, name: str, read_only: bool, problem: str) -> None:
        (tmp_path / "empty.db").touch()
        with pytest.raises(NotAnIndex, match=problem) as caught:
            open_index(tmp_path / name, read_only=read_only)
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)

    def test_a_lock_file_that_cannot_be_written(self, path: Path) -> None:
        open_index(path).close()
        lock = path.with_name(path.name + ".lock")
        lock.unlink(missing_ok=True)
        lock.mkdir()
        with open_index(path) as index, pytest.raises(IndexUnavailable, match="lock file"):
            index.put_many([record("a")])


VISITOR = """
import os, sys, tempfile
from es_dedup.index.embedded import EmbeddedIndex
from es_dedup.errors import Difference, DedupError
"".encode("utf-32-le")
with tempfile.TemporaryDirectory() as own, EmbeddedIndex(own + "/own.db", features={"made": "f"}) as index:
    index.search("words")  # all modules are loaded while they can be read
if os.geteuid() == 0:
    os.setuid(65534)
for read_only in (False, True):
    try:
        with EmbeddedIndex(sys.argv[1], features={"made": "f"}, read_only=read_only) as index:
            print("opened", index.count(), len(index.search("words")))
    except DedupError as error:
        print(type(error).__name__, error)
"""


class TestPermissions:
    """What another user meets: root drops to an unprivileged user, for whom modes count."""

    @pytest.fixture
    def folder(self) -> Iterator[Path]:
        folder = Path(tempfile.mkdtemp())
        with open_index(folder / "pages.db") as index:
            index.put_many([record("a", text="words")])
        folder.chmod(0o755)
        yield folder
        folder.chmod(0o755)
        shutil.rmtree(folder)

    def visit(self, file: Path) -> list[str]:
        command = [sys.executable, "-c", VISITOR, str(file)]
        return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()

    def test_a_read_only_folder(self, folder: Path) -> None:
        (folder / "pages.db").chmod(0o444)
        folder.chmod(0o555)
        writing, reading = self.visit(folder / "pages.db")
        assert writing.startswith("IndexUnavailable")
        assert "read-only" in writing
        assert reading == "opened 1 1"

    def test_a_file_that_may_not_be_read(self, folder: Path) -> None:
        (folder / "pages.db").chmod(0o000)
        for line in self.visit(folder / "pages.db"):
            assert line.startswith("NotAnIndex")
            assert "Permission denied" in line
