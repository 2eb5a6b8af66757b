"""A client that openapi-python-client makes from the document of the REST API adds, checks, explains and pages through clusters."""

import shutil
from pathlib import Path
from typing import Any, Final

import pytest

from tests.processes import ended
from tests.serving import OTHER, TEXT, Api, serving

GENERATOR: Final = shutil.which("openapi-python-client") or ""
pytestmark = [
    pytest.mark.integrations,
    pytest.mark.skipif(not GENERATOR, reason="openapi-python-client is not installed"),
]


@pytest.fixture
def generated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The server and the package that was made from its document."""
    with serving(str(tmp_path / "pages.db"), tmp_path / "server") as api:
        (tmp_path / "openapi.json").write_text(api.get("/openapi.json").text)
        (tmp_path / "config.yml").write_text("post_hooks: []\n")
        command = [GENERATOR, "generate", "--meta", "none"]
        command += ["--path", "openapi.json", "--config", "config.yml", "--output-path", "client_of_es_dedup"]
        made = ended(*command, cwd=tmp_path)
        assert made.returncode == 0, made.stdout + made.stderr
        monkeypatch.syspath_prepend(tmp_path)
        yield api


def test_a_generated_client_adds_checks_explains_and_pages_through_clusters(generated: Api) -> None:
    import client_of_es_dedup as package  # type: ignore[import-not-found]  # noqa: PLC0415 - made by the fixture
    from client_of_es_dedup.api.default import add, check, clusters, explain, metrics, stored  # type: ignore[import-not-found]  # noqa: PLC0415
    from client_of_es_dedup.models import ExplainBody, PageBody, Problem  # type: ignore[import-not-found]  # noqa: PLC0415
    from client_of_es_dedup.types import UNSET  # type: ignore[import-not-found]  # noqa: PLC0415

    names = [f"https://a.example/{number}?x=ü" for number in range(7)]
    with package.AuthenticatedClient(base_url=generated.address, token=generated.tokens["write"]) as client:
        for number, name in enumerate(names):  # three copies of one text, four of another
            body = PageBody(id=name, text=TEXT if number < 3 else OTHER, title="No title")
            assert add.sync(client=client, body=body).stored == 1
        assert check.sync(client=client, body=PageBody(id="new", text=TEXT)).duplicate_of == names[0]
        pair = explain.sync(client=client, body=ExplainBody(left=names[0], right=names[1]))
        assert (pair.left, pair.right) == tuple(names[:2])
        sizes, after = [], UNSET
        while after is not None:
            page = clusters.sync(client=client, limit=1, after=after)
            sizes += [each.size for each in page.clusters]
            after = page.next_
        assert sorted(sizes) == [3, 4]
        assert stored.sync(names[3], client=client).title == "No title"
        assert isinstance(stored.sync("none", client=client), Problem)
        assert "es_dedup_" in metrics.sync_detailed(client=client).content.decode()
