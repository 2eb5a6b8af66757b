"""Backup by a snapshot and restore, by the requests that the guide shows, and the audit after it."""

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from es_dedup.maintenance.audit import audit
from tests.servers import needs_elasticsearch, server_of, url_of
from tests.source_indices import attached, documents, put, source_index
from tests.traffic import run

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "how-to" / "move-an-index.md"


def commands() -> Sequence[str]:
    """The blocks with requests to the server, in order."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [block for block in blocks if "_snapshot" in block]


def test_the_requests_of_the_guide() -> None:
    needs_elasticsearch("the same wait_for_completion")
    folder = Path(server_of("es8").folder) / "node-1" / "snapshots"
    given = dict(list(documents().items())[:40])
    with source_index(given) as (client, name), attached(name) as site:
        run(site, "backfill")
        assert audit(site).clean
        pages = site.index.count()

        def shell(block: str) -> None:
            head = f"URL={url_of('es8')} FOLDER={folder} DAY=1\nset -eo pipefail\n"
            block = block.replace("news", name)
            done = subprocess.run(["bash", "-c", head + block], capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr + done.stdout
            assert "error" not in done.stdout, done.stdout

        register, take, restore = commands()
        try:
            shell(register)
            shell(take)
            # what happens before the disaster and is not in the snapshot
            first = next(iter(given))
            put(client, name, {"new": {**given[first], "url": "https://new.example/1"}})
            client.delete(index=name, id=list(given)[1], refresh=True)
            client.indices.delete(index=f"{name}-dedup-*", expand_wildcards="all")
            shell(restore)
            assert site.index.count() == pages
            found = audit(site)
            assert not found.clean
            assert audit(site, repair=True).repaired
            assert audit(site).clean
        finally:
            client.options(ignore_status=404).snapshot.delete(repository=f"{name}-backup", snapshot="*")
            client.options(ignore_status=404).snapshot.delete_repository(name=f"{name}-backup")
