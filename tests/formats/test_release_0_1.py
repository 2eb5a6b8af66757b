"""Hooks of release 0.1, whose code is taken from the history of this repository, and an index that ``reindex`` of this release made anew."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from elasticsearch.helpers import scan

from es_dedup import Deduplicator
from es_dedup.errors import SchemaMismatch
from es_dedup.hook import DedupHook
from es_dedup.maintenance.reindex import reindex
from es_dedup.settings import Settings
from tests.hooked import FIELDS, action_of, clusters
from tests.samples import story
from tests.servers import client_of, fresh_name, remove, url_of
from tests.source_indices import remove_templates

if TYPE_CHECKING:
    from collections.abc import Iterator

    from elasticsearch import Elasticsearch

pytestmark = pytest.mark.slow

ROOT: Final = Path(__file__).parents[2]
RELEASE: Final = "e4125c92"
"""The last commit of 0.1.0: the next one opens the section 0.2.0 of the changelog."""

HOOK: Final = """
import json, sys
from elasticsearch import Elasticsearch
import es_dedup
from es_dedup.hook import DedupHook, HostFields, dedup_bulk

url, name = sys.argv[1:]
assert es_dedup.__version__ == "0.1.0"
fields = HostFields("text", published="published", site="site")
with Elasticsearch(url) as client, DedupHook.open(f"{url}/{name}", fields) as hook:
    print("open", flush=True)
    for line in sys.stdin:
        report = dedup_bulk(client, json.loads(line), hook=hook).report
        print(json.dumps({"written": report.written, "inconclusive": report.inconclusive}), flush=True)
"""

COMMAND: Final = "from es_dedup.cli.main import run; run()"


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages of release 0.1, which run with the installed versions of its dependencies."""
    given = ("git", "archive", RELEASE, "es_dedup", "mappings")
    made = subprocess.run(given, cwd=ROOT, capture_output=True, check=False)
    if made.returncode:
        pytest.skip(f"the history of this checkout has no release 0.1 ({RELEASE}): git fetch --unshallow")
    folder = tmp_path_factory.mktemp("release")
    with tarfile.open(fileobj=io.BytesIO(made.stdout)) as packed:
        packed.extractall(folder, filter="data")
    with started(folder, "import es_dedup.hook, es_dedup.cli.main") as importing:
        problem = importing.communicate()[1]
    if importing.returncode:
        pytest.skip(f"release 0.1 does not run with what is installed here: {problem.splitlines()[-1]}")
    return folder


@pytest.fixture
def client() -> Iterator[Elasticsearch]:
    with client_of(url_of("es8")) as client:
        yield client


@pytest.fixture
def name(client: Elasticsearch) -> Iterator[str]:
    name = fresh_name()
    client.indices.create(index=name)
    yield name
    remove(f"{url_of('es8')}/{name}")
    client.indices.delete(index=f"{name}*", expand_wildcards="all")
    remove_templates(client, f"{name}-dedup-source")


def started(release: Path, program: str, *arguments: str) -> subprocess.Popen[str]:
    others = {name: value for name, value in os.environ.items() if not name.startswith("ES_DEDUP_")}
    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        env={**others, "PYTHONPATH": str(release)},  # 0.1 refuses variables that it does not know
        cwd=release,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def sent(hook: subprocess.Popen[str], name: str, *numbers: int) -> Any:
    """Let a hook write stories and copies of them; what its report says."""
    pages = [page for number in numbers for page in (story(number), story(number, f"copy-{number}", day=2))]
    actions = [action_of(page, name) for page in pages]
    assert hook.stdin is not None
    assert hook.stdout is not None
    hook.stdin.write(json.dumps(actions) + "\n")
    hook.stdin.flush()
    return json.loads(hook.stdout.readline() or "null")


def stored(client: Elasticsearch, pattern: str) -> dict[tuple[str, str], Any]:
    """All documents of some indices."""
    client.indices.refresh(index=pattern, expand_wildcards="all")
    hits = scan(client, index=pattern, expand_wildcards="all")
    return {(hit["_index"], hit["_id"]): hit["_source"] for hit in hits}


def test_hooks_of_0_1_are_refused_after_the_switch(release: Path, client: Elasticsearch, name: str) -> None:
    """One that is open writes its documents without a decision, as its store does not answer; another one cannot be opened."""
    place = f"{url_of('es8')}/{name}"
    with started(release, HOOK, url_of("es8"), name) as hook:
        assert hook.stdout is not None
        assert hook.stdout.readline() == "open\n"
        assert sent(hook, name, 0, 1) == {"written": 4, "inconclusive": {}}
        fields = ("--content-field", "text", "--published-field", "published", "--site-field", "site")
        with started(release, COMMAND, "--db", place, "attach", name, *fields) as attach:
            assert attach.communicate() is not None
        assert attach.returncode == 0
        assert reindex(place, Settings()).pages == 4
        index, documents = stored(client, f"{name}-dedup-*"), stored(client, name)

        report = sent(hook, name, 2)
        assert report["written"] == 2
        assert set(report["inconclusive"]) == {f"{name}/story-2", f"{name}/copy-2"}
        assert all("holds format 2, this version needs 1" in said for said in report["inconclusive"].values())
        hook.communicate()
    assert stored(client, f"{name}-dedup-*") == index
    now = stored(client, name)
    assert {key: now[key] for key in documents} == documents
    assert {now[name, key]["dedup"]["relation"] for key in ("story-2", "copy-2")} == {"inconclusive"}

    with started(release, HOOK, url_of("es8"), name) as later:
        assert "SchemaMismatch" in later.communicate()[1]
    assert later.returncode
    assert stored(client, f"{name}-dedup-*") == index
    assert stored(client, name) == now

    with DedupHook.open(place, FIELDS) as new:
        new.recheck(name)
    assert clusters(client, name) == {frozenset({f"story-{number}", f"copy-{number}"}) for number in range(3)}


def test_an_index_that_0_1_scanned_is_made_anew_from_its_texts(
    release: Path, name: str, tmp_path: Path
) -> None:
    place = f"{url_of('es8')}/{name}"
    lines = tmp_path / "pages.jsonl"
    pages = [page for number in range(3) for page in (story(number), story(number, f"copy-{number}"))]
    lines.write_text("".join(json.dumps({"id": page.id, "text": page.text}) + "\n" for page in pages))
    with started(release, COMMAND, "--db", place, "scan", str(lines)) as scanned:
        said = scanned.communicate()
    assert scanned.returncode == 0, said
    with pytest.raises(SchemaMismatch, match=f"--db {place} reindex"):
        Deduplicator.open(place)
    assert reindex(place, Settings()).pages == len(pages)
    with Deduplicator.open(place) as dedup:
        found = {
            frozenset({each.canonical, *(member.page_id for member in each.members)})
            for each in dedup.clusters()
        }
    assert found == {frozenset({f"story-{number}", f"copy-{number}"}) for number in range(3)}


def test_a_file_of_0_1_is_refused_and_left_as_it_is(release: Path, tmp_path: Path) -> None:
    lines, file = tmp_path / "pages.jsonl", tmp_path / "pages.db"
    lines.write_text(json.dumps({"id": "a", "text": story(0).text}) + "\n")
    with started(release, COMMAND, "--db", str(file), "scan", str(lines)) as scanned:
        said = scanned.communicate()
    assert scanned.returncode == 0, said
    before = file.read_bytes()
    with pytest.raises(SchemaMismatch, match="scan the pages again into a new file"):
        Deduplicator.open(file)
    assert file.read_bytes() == before
