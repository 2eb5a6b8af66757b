"""Attach, backfill, audit and their like on a real server, worked on in this process."""

from __future__ import annotations

from es_dedup.index.jobs import JobState
from es_dedup.maintenance.audit import audit
from es_dedup.maintenance.runner import Runner
from es_dedup.pipeline import Deduplicator
from tests.hosts import attached, canonical_counts, documents, host_index, marked, settings


def test_a_backfill_marks_every_document_as_the_embedded_index_would() -> None:
    given = documents(made_up=300)
    with host_index(given) as (client, name), attached(name) as site:
        job = Runner(site).start("backfill", {"target": name})
        job = Runner(site).run(job.id)
        assert job.state is JobState.DONE
        assert job.counts["stored"] == len(given)
        assert marked(client, name) == len(given)
        assert set(canonical_counts(client, name).values()) == {1}
        assert audit(site).as_dict()["found"] == {}
        with Deduplicator.open(":memory:", settings=settings()) as plain:
            fields = next(iter(site.indices().values()))
            plain.scan(fields.page(f"{name}/{key}", source) for key, source in given.items())
            expected = {
                each.id: sorted(m.page_id for m in each.members) for each in plain.clusters(min_size=2)
            }
        with_us = {
            each.id: sorted(m.page_id for m in each.members) for each in site.dedup.clusters(min_size=2)
        }
        assert with_us == expected
        assert len(expected) > 100
