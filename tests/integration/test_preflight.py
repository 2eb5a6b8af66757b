"""Fields that documents do not have: said by a sample before anything is written."""

from typing import Any

import pytest

from es_dedup.errors import ConfigError, PreflightFailed
from es_dedup.index.source_index import SourceFields
from es_dedup.maintenance.attach import attach, check_sample
from es_dedup.maintenance.context import open_context
from tests.commands import ran
from tests.servers import url_of
from tests.source_indices import count_with_dedup_field, put, settings, source_index
from tests.texts import article
from tests.traffic import run

BODY = SourceFields("body")
TEXT = [{"body": f"Some text of page {at}.", "title": "T", "url": "u"} for at in range(20)]


def some(count: int) -> dict[str, dict[str, Any]]:
    return {
        f"p{at}": {"body": article(at), "title": "A page", "url": f"http://a/{at}"} for at in range(count)
    }


def test_attach_and_backfill_refuse_fields_that_documents_do_not_have() -> None:
    with source_index(some(300)) as (client, name):
        client.indices.put_alias(index=name, name=f"{name}-alias")
        client.indices.create(index=f"{name}-empty")
        client.indices.create(index=f"{name}-closed")
        client.indices.close(index=f"{name}-closed")
        with open_context(f"{url_of('es8')}/{name}", settings()) as site:
            for target, share in ((name, 200), (f"{name}-alias", 200), (f"{name}*", 100)):
                with pytest.raises(PreflightFailed, match=f"0 of {share} sampled documents of .* 'nofield'"):
                    attach(site, target, SourceFields("nofield"))
                assert attach(site, target, BODY, dry_run=True).documents == 300
            with pytest.raises(PreflightFailed, match="no index matches nosuch-"):
                attach(site, "nosuch-*", BODY)
            with pytest.raises(ConfigError, match="no open index"):
                attach(site, f"{name}-closed", BODY)
            assert not site.attachments
            assert "no documents" in attach(site, f"{name}-empty", BODY).warnings[0]
            attach(site, f"{name}-later*", BODY, force=True)
            put(client, f"{name}-later", {"x": {"text": "its field has another name"}})
            with pytest.raises(PreflightFailed, match=f"0 of 1 sampled documents of {name}-later "):
                run(site, "backfill")
            assert not site.jobs.jobs()
            assert count_with_dedup_field(client, f"{name}-later") == 0
            client.indices.delete(index=f"{name}-later")
            run(site, "backfill")


def test_the_commands_say_it_and_can_be_forced() -> None:
    with source_index(some(3)) as (_, name):
        start = ["--db", f"{url_of('es8')}/{name}"]
        arguments = (*start, "elastic", "attach", name, "--content-field", "nofield")
        refused = ran(*arguments, code=1)
        assert "0 of 3 sampled documents" in refused.stderr
        assert "--force" in refused.stderr
        assert "0 of 3 sampled documents" in ran(*arguments, "--force").stderr
        ran(*start, "elastic", "backfill", "--inline", code=1)
        attached = ran(*start, "elastic", "attach", name, "--content-field", "body", "--html")
        assert "declared as HTML" in attached.stderr


@pytest.mark.parametrize(
    ("fields", "sources", "problem"),
    [
        (SourceFields("none"), TEXT, "0 of 20 sampled documents of i have the content field 'none'"),
        (BODY, [{"body": ""}, {"body": None}, {"body": []}], "0 of 3"),
        (BODY, [{"body": {"de": "Text"}}, *TEXT], "object, a number or a boolean in 1 of 21"),
        (BODY, [{"body": 17}], "a number"),
        (BODY, [{"body": [{"p": "Text"}]}], "object"),
    ],
)
def test_problems(fields: SourceFields, sources: list[dict[str, Any]], problem: str) -> None:
    found = check_sample("i", fields, sources)
    assert len(found.problems) == 1
    assert problem in found.problems[0]


@pytest.mark.parametrize(
    ("fields", "sources", "warning"),
    [
        (SourceFields("body", title="no"), TEXT, "0 of 20 sampled documents of i have the title field 'no'"),
        (SourceFields("body", url="no"), TEXT, "the url field 'no'"),
        (SourceFields("body", published="no"), TEXT, "the published field 'no'"),
        (SourceFields("body", site="no.name"), TEXT, "the site field 'no.name'"),
        (BODY, [{**TEXT[0], "title": {"de": "T"}}], "the title field 'title' is an object"),
        (SourceFields("body", html=True), TEXT, "declared as HTML, and 0 of 20"),
        (BODY, [{**TEXT[0], "body": "<p>Text</p>"}] * 3, "not declared as HTML, and 3 of 3"),
        (BODY, [*TEXT[:3], *[{"title": "T", "url": "u"}] * 7], "only 3 of 10"),
        (BODY, [], "i has no documents"),
        (SourceFields("body", site="x"), [{**TEXT[0], "body": [["A text.", None], "B"]}], "field 'x'"),
        (SourceFields("body.p", site="x"), [{**TEXT[0], "body": [{"p": "A text."}, {}]}], "field 'x'"),
    ],
)
def test_warnings(fields: SourceFields, sources: list[dict[str, Any]], warning: str) -> None:
    found = check_sample("i", fields, sources)
    assert not found.problems
    assert len(found.notes) == 1
    assert warning in found.notes[0]


def test_fields_that_documents_have() -> None:
    assert check_sample("i", BODY, TEXT) == check_sample(
        "i", SourceFields("body", html=True), [{**TEXT[0], "body": "<p>T"}]
    )
