"""Pages erased: nothing of them is found by any question, nor in the bytes of the file."""

from dataclasses import replace
from pathlib import Path

from es_dedup import Deduplicator, Page
from es_dedup.index.source_index import SourceFields
from es_dedup.maintenance.audit import audit
from es_dedup.maintenance.forget import forget_pages, traces
from es_dedup.maintenance.reindex import reindex
from es_dedup.maintenance.runner import start_follow
from es_dedup.maintenance.status import follow_status
from es_dedup.model.annotations import Label
from tests.commands import ran
from tests.servers import empty
from tests.source_indices import attached, source_index
from tests.texts import article
from tests.traffic import run

NAME = "http://site.example/people/anna-zweig"
TITLE = "Anna Zweig receives the prize"
SECRET = f"{article(1)} The winner is called Zweigsecretname."


def filled(place: str | Path) -> Deduplicator:
    """An index with a cluster that is named after the page to be forgotten, and a label on it."""
    dedup = Deduplicator.open(place)
    dedup.add(Page(id=NAME, text=SECRET, title=TITLE, url=f"{NAME}?q=1"))
    dedup.add_many(
        [
            Page(id="copy", text=SECRET.replace("Zweigsecretname", "somebody"), title="A prize"),
            Page(id="other", text=article(2)),
        ]
    )
    dedup.annotate(NAME, "other", Label("diff"), reader="bo")
    return dedup


def contains(folder: Path, words: str) -> bool:
    """Whether a file of the folder has these bytes."""
    return any(words.encode() in path.read_bytes() for path in folder.iterdir())


def test_nothing_of_a_forgotten_page_is_in_the_file(tmp_path: Path) -> None:
    with filled(tmp_path / "pages.db") as dedup:
        assert dedup.cluster("copy").id == NAME
        dedup.search("Zweigsecretname")
        report = dedup.forget(NAME)
        assert (report.removed, report.annotations, report.overrides, report.problem) == (1, 1, (), "")
        assert dedup.traces(NAME) == []
        assert dedup.cluster("copy").id != NAME
        assert dedup.search("Zweigsecretname").hits == ()
        assert dedup.search("prize").total_documents == 1
        assert dedup.count() == 2
    assert not any(contains(tmp_path, words) for words in (NAME, TITLE, "Zweig", "zweigsecretname"))


def test_what_was_only_removed_is_in_the_file_until_it_is_forgotten(tmp_path: Path) -> None:
    with filled(tmp_path / "pages.db") as dedup:
        dedup.remove(NAME)
        assert "labels of readers" in dedup.traces(NAME)
        assert contains(tmp_path, NAME)
        dedup.forget([NAME])
        assert dedup.traces(NAME) == []
    assert not contains(tmp_path, "anna-zweig")


def test_a_reader_that_keeps_the_log_is_named(tmp_path: Path) -> None:
    with (
        filled(tmp_path / "pages.db") as dedup,
        Deduplicator.open(tmp_path / "pages.db", read_only=True) as reader,
    ):
        records = reader.records()
        next(records)
        with reader._index._connection.reading() as connection:  # type: ignore[attr-defined]
            connection.execute("SELECT count(*) FROM pages").fetchone()
            assert "another process reads" in dedup.forget(NAME).problem
        assert dedup.forget(NAME).problem == ""


def test_overrides_stay_and_are_named(tmp_path: Path) -> None:
    with filled(tmp_path / "pages.db") as dedup:
        made = dedup.override_different(NAME, "copy", reason="two people", author="bo").overrides
        assert dedup.forget(NAME).overrides == (made[0].id,)
        assert dedup.traces(NAME) == []


def test_on_a_server_the_page_is_gone_and_what_is_left_in_segments_is_said(own_address: str) -> None:
    with filled(own_address) as dedup:
        report = dedup.forget(NAME)
        assert report.removed == 1
        assert report.problem == "" or "_forcemerge" in report.problem
        assert dedup.traces(NAME) == []
        assert dedup.cluster("copy").id != NAME
        assert {each.page_id for each in dedup.changes()} == {"copy", "other"}
        dedup.remove("copy")
        assert dedup.traces("copy") == ["name in the storage"]  # the feed tells of its removal
        dedup.forget("copy")
        assert dedup.traces("copy") == []
        assert {each.page_id for each in dedup.changes()} == {"other"}
    empty(own_address)


def test_a_site_forgets_documents_and_dead_letters() -> None:
    given = {f"{at}-0": {"body": article(at), "title": "A page"} for at in range(3)}
    with source_index(given) as (_, name), attached(name, fields=SourceFields("body")) as site:
        run(site, "backfill")
        dead, stored = f"{name}/0-0", f"{name}/1-0"
        site.put_dead_letters({dead: "its text cannot be read"}, "ingest")
        assert {"dead letter", "document in the source index"} <= set(traces(site, dead))
        done = forget_pages(site, [dead, stored], document=True)
        assert (done.index.removed, set(done.documents), done.dead_letters) == (2, {dead, stored}, 1)
        assert traces(site, dead) == traces(site, stored) == []


def test_documents_jobs_and_the_previous_generation_do_not_name_it() -> None:
    given = {f"{at}-{copy}": {"body": article(at), "title": "A page"} for at in range(2) for copy in range(3)}
    with source_index(given) as (client, name), attached(name, fields=SourceFields("body")) as site:
        run(site, "backfill")
        reindex(site.place, site.settings)
        start_follow(site)
        (first, *_) = (each for group in site.index.clusters(min_size=2) for each in group)
        page_id = first.cluster_id
        (job,) = (each for each in site.jobs.jobs() if each.what == "follow")
        ((part, version),) = site.jobs.parts(job.id, job.plans[-1], [0])
        state = {**part.work["state"], "deletions": {**part.work["state"]["deletions"], "after": page_id}}
        site.jobs.change_partition(replace(part, checkpoint=state), version)
        left = traces(site, page_id)
        assert f"position of job {job.id}" in left
        assert "features of the previous generation" in left
        forget_pages(site, [page_id], document=True)
        assert traces(site, page_id) == []
        client.indices.refresh(index=name)
        for field in ("cluster_id", "duplicate_of"):
            assert client.count(index=name, query={"term": {f"dedup.{field}": page_id}})["count"] == 0
        assert audit(site).clean
        assert follow_status(site) is not None


def test_the_command_erases_and_doctor_proves_it(tmp_path: Path) -> None:
    place = tmp_path / "pages.db"
    filled(place).close()

    def said(*arguments: str, code: int = 0, given: str = "") -> str:
        return ran("--db", place, *arguments, code=code, given=given).output

    assert "there is: features, text, cluster, edges, labels of readers" in said(
        "index", "remove", "--erase", NAME, "--dry-run"
    )
    assert "has no source documents" in said("index", "remove", "--erase", NAME, "--document", code=2)
    assert "--yes" in said("index", "remove", "--erase", NAME, code=2)
    said("index", "remove", "--erase", "--yes", "-", given=f"{NAME}\n")
    assert "nothing of these pages is stored" in said("index", "remove", "--erase", NAME, "--dry-run")
