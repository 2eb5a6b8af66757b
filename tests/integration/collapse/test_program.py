"""The programs that the documents show for collapsed searches, run on a real server."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.collapsing import create
from tests.servers import client_of, fresh_name, needs_elasticsearch, url_of

ROOT: Final = Path(__file__).resolve().parents[3]


def test_the_program_prints_groups() -> None:
    text = (ROOT / "docs/how-to/collapse-search-results.md").read_text(encoding="utf-8")
    program = next(
        block
        for block in re.findall(r"^```\w*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        if "DedupSearch(" in block
    )
    needs_elasticsearch("place in this page")
    url, index = url_of("es8"), fresh_name()
    with client_of(url) as client:
        create(client, index)
        try:
            for name in ("first", "copy", "other"):
                mark = {"cluster_id": "other" if name == "other" else "first", "canonical": name != "copy"}
                document_ = {
                    "body": f"三桥 通车 {name}",
                    "site": "a.example",
                    "dedup": mark
                    | ({"cluster_size": 1 if name == "other" else 2} if mark["canonical"] else {}),
                }
                client.index(index=index, id=name, document=document_)
            client.indices.refresh(index=index)
            here = re.sub(r"http://[\w.]+:920\d", url, program).replace('"pages"', f'"{index}"')
            done = subprocess.run(
                [sys.executable, "-W", "error", "-c", here], capture_output=True, text=True, check=False
            )
        finally:
            client.indices.delete(index=index)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.rpartition("and ")[2] for line in lines if line.endswith("similar")] in (
        ["1 similar", "0 similar"],
        ["0 similar", "1 similar"],
    )
