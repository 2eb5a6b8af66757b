"""The client that the guide shows, in Node, against a real server; skipped where Node is missing."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.processes import ended
from tests.serving import TEXT, serving

GUIDE: Final = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "serve.md"


def test_the_client_of_the_guide_checks_a_page(tmp_path: Path) -> None:
    if shutil.which("node") is None:
        pytest.skip("needs node")
    (code,) = re.findall(r"^```js\n(.*?)^```$", GUIDE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    program = tmp_path / "client.js"
    program.write_text(code, encoding="utf-8")
    with serving(str(tmp_path / "pages.db"), tmp_path / "server") as api:
        api.post("/v1/pages", json={"id": "a", "text": TEXT})
        environment = {**os.environ, "DEDUP_URL": api.address, "DEDUP_TOKEN": api.tokens["read"]}

        def run(page_id: str) -> subprocess.CompletedProcess[str]:
            return ended("node", program, page_id, TEXT, cwd=tmp_path, env=environment)

        done = run("b")
        assert (done.returncode, done.stdout) == (0, "duplicate a\n"), done.stderr
        assert run("").stdout == "duplicate a\n"
        refused = run("a" * 513)
        assert (refused.returncode, "id: " in refused.stderr) == (1, True)
        environment["DEDUP_TOKEN"] = "wrong"  # noqa: S105 - it is
        assert "send a token" in run("b").stderr
