"""Input from a server that speaks the protocol of S3, through s3fs and the command line."""

import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.processes import PROGRAM, ended

moto = pytest.importorskip("moto.server", reason="the extra integrations is not installed")
s3fs = pytest.importorskip("s3fs", reason="the extra s3 is not installed")


pytestmark = [
    pytest.mark.integrations,
    pytest.mark.filterwarnings("ignore"),  # other packages warn of their own code
]
TEXTS = (
    "The ferry to the island runs again after the storm, the harbour office said on Monday.",
    "Pupils of the village school planted three hundred oak trees along the river last week.",
    "A new bakery opens on the market square and sells rye bread from five in the morning.",
)
LINES = "".join(json.dumps({"id": str(number), "text": text}) + "\n" for number, text in enumerate(TEXTS))


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    """Address of a bucket on a server that the environment names, as users of other tools set it."""
    with pytest.MonkeyPatch.context() as patch:
        yield from _filled(patch)


def _filled(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    storage = s3fs.S3FileSystem(skip_instance_cache=True)
    storage.mkdir("crawl")
    storage.pipe("crawl/day/a.html", b"<html><body><p>A ferry runs again after the storm.</p></body></html>")
    storage.pipe("crawl/day/part-1.jsonl.gz", gzip.compress(LINES.encode()))
    storage.pipe("crawl/day/part-2.jsonl", LINES.replace('"id": "', '"id": "2-').encode())
    yield "s3://crawl"
    server.stop()


def scan(*paths: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "es_dedup", "--db", "pages.db", "--json", "scan", *paths]
    return subprocess.run(command, check=False, cwd=cwd, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("below", "pages"),
    [("", 7), ("/day", 7), ("/*/part-*", 6), ("/day/part-1.jsonl.gz", 3), ("/**/*.html", 1)],
)
def test_scan(bucket: str, below: str, pages: int, tmp_path: Path) -> None:
    done = scan(bucket + below, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["pages"] == pages


def test_a_bucket_that_is_not_there_is_one_line(bucket: str, tmp_path: Path) -> None:
    done = scan("s3://nowhere/a.jsonl", cwd=tmp_path)
    assert "Traceback" not in done.stderr
    assert "left out: s3://nowhere/a.jsonl: cannot be read: " in done.stderr


def test_filter_between_buckets(bucket: str, tmp_path: Path) -> None:
    outputs = ("--output-dir", f"{bucket}/unique", "--dropped", f"{bucket}/copies")
    done = ended(PROGRAM, "filter", f"{bucket}/day/part-*", *outputs, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["kept", "3", "dropped", "3", "preset", "balanced"]
    storage = s3fs.S3FileSystem(skip_instance_cache=True)
    kept = gzip.decompress(storage.cat("crawl/unique/part-1.jsonl.gz"))
    kept += storage.cat("crawl/unique/part-2.jsonl")
    assert len(kept.splitlines()) == 3
    storage.rm("crawl/unique", recursive=True)
    storage.rm("crawl/copies", recursive=True)


def test_an_output_in_a_bucket_that_is_not_there_is_one_line(bucket: str, tmp_path: Path) -> None:
    command = (PROGRAM, "filter", f"{bucket}/day/part-2.jsonl", "-o", "s3://nowhere/out.jsonl")
    done = ended(*command, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("error: ")
    assert "Traceback" not in done.stderr
