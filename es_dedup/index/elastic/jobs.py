"""Jobs, their parts, dead letters and times: documents of one index that are read as they are now."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from es_dedup.errors import WriteFailed
from es_dedup.index.elastic.bulk import OVERHEAD_BYTES, Write, write_all
from es_dedup.index.elastic.mappings import JOBS, alias_of, concrete_of
from es_dedup.index.elastic.reading import documents, pages_of_hits, whole
from es_dedup.index.elastic.server import CONFLICT, NOT_FOUND, reads_answers
from es_dedup.index.elastic.tokens import key_of
from es_dedup.index.jobs import DeadLetter, Job, JobState, Partition, Version

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from es_dedup.index.elastic.bulk import Result
    from es_dedup.index.elastic.options import Options
    from es_dedup.index.elastic.schema import Schema
    from es_dedup.index.elastic.server import Server

BY_JOB: Final = ({"job": "desc"},)


@reads_answers()
class ElasticJobs:
    """See ``es_dedup.index.jobs.JobStore``. The index is made when it is not there, unless ``read_only``.

    Args:
        server: where to.
        name: of the index on the server.
        schema: makes it.
        options: times of requests.
    """

    def __init__(
        self, server: Server, name: str, schema: Schema, options: Options, *, read_only: bool = False
    ) -> None:
        self._server, self._options = server, options
        self._index = alias_of(name, JOBS)
        self._there = bool(schema.mappings(JOBS)) or not read_only
        if not read_only and not schema.mappings(JOBS):
            schema.make(JOBS, concrete_of(name, JOBS, 1), alias=True)

    def close(self) -> None:
        """Let go of the connections; may be called twice."""
        self._server.close()

    def create(self, job: Job) -> None:
        """See ``JobStore.create``."""
        self._must(self._write([self._job_write(job, "create")]))

    def job(self, job_id: str) -> tuple[Job, Version] | None:
        """See ``JobStore.job``."""
        if not self._there:
            return None
        found = next(documents(self._server, self._index, [f"job:{job_id}"]), None)
        return None if found is None else (Job.from_dict(found["_source"]["body"]), _version(found))

    def change(self, job: Job, version: Version) -> Version | None:
        """See ``JobStore.change``."""
        return self._change(self._job_write(job, "index", version))

    def jobs(self, *, unfinished: bool = False) -> list[Job]:
        """See ``JobStore.jobs``."""
        if not self._there:
            return []
        self._refresh()
        filters: list[dict[str, Any]] = [{"term": {"kind": "job"}}]
        if unfinished:
            filters.append({"terms": {"state": [state for state in JobState if not state.over]}})
        query = {"bool": {"filter": filters}}
        return [
            Job.from_dict(hit["_source"]["body"])
            for hits in pages_of_hits(self._server, self._index, query, BY_JOB, size=1000)
            for hit in hits
        ]

    def create_partitions(self, parts: Iterable[Partition]) -> None:
        """See ``JobStore.create_partitions``."""
        results = self._write(_part_write(part, "create") for part in parts)
        self._must(result for result in results if result.status != CONFLICT)

    def parts(self, job_id: str, plan: str, numbers: Sequence[int]) -> list[tuple[Partition, Version]]:
        """See ``JobStore.parts``."""
        keys = [_part_key(job_id, plan, number) for number in numbers]
        found = documents(self._server, self._index, keys)
        return [(Partition(**document["_source"]["body"]), _version(document)) for document in found]

    def change_partition(self, part: Partition, version: Version) -> Version | None:
        """See ``JobStore.change_partition``."""
        return self._change(_part_write(part, "index", version))

    def drop(self, job: Job) -> None:
        """See ``JobStore.drop``."""
        keys = [f"job:{job.id}"]
        for plan, count in zip(job.plans, job.parts, strict=True):
            keys += (_part_key(job.id, plan, number) for number in range(count))
        self._must(self._write(Write("delete", self._index, key) for key in keys))

    def set_time(self, name: str) -> None:
        """See ``JobStore.set_time``."""
        body = {"kind": "time", "at": int(time.time() * 1000)}
        self._must(self._write([Write("index", self._index, f"time:{name}", body)]))

    def times(self, names: Sequence[str]) -> dict[str, int]:
        """See ``JobStore.times``."""
        if not self._there:
            return {}
        found = documents(self._server, self._index, [f"time:{name}" for name in names])
        return {each["_id"].removeprefix("time:"): each["_source"]["at"] for each in found}

    def put_dead_letters(self, letters: Iterable[DeadLetter]) -> None:
        """See ``JobStore.put_dead_letters``."""
        self._must(
            self._write(
                Write(
                    "index",
                    self._index,
                    _dead_key(letter.page_id),
                    {"kind": "dead", "job": letter.page_id, "at": letter.at, "body": letter.as_dict()},
                )
                for letter in letters
            )
        )

    def dead(self, limit: int | None = None) -> list[DeadLetter]:
        """See ``JobStore.dead``."""
        if not self._there:
            return []
        self._refresh()
        found: list[DeadLetter] = []
        size = 1000 if limit is None else max(1, min(limit, 1000))
        order = [{"job": "asc"}]
        for hits in pages_of_hits(self._server, self._index, _DEAD, order, size=size):
            found += (DeadLetter(**hit["_source"]["body"]) for hit in hits)
            if limit is not None and len(found) >= limit:
                break
        return found[:limit]

    def count_dead(self) -> int:
        """See ``JobStore.count_dead``."""
        if not self._there:
            return 0
        self._refresh()
        body = {"query": _DEAD, "size": 0, "track_total_hits": True}
        return int(whole(self._server, self._index, body)["hits"]["total"]["value"])

    def drop_dead(self, letters: Iterable[DeadLetter]) -> int:
        """See ``JobStore.drop_dead``."""
        wanted = {_dead_key(letter.page_id): letter for letter in letters}
        deletes = [
            Write("delete", self._index, found["_id"], condition=_version(found))
            for found in documents(self._server, self._index, wanted)
            if DeadLetter(**found["_source"]["body"]) == wanted[found["_id"]]
        ]
        results = [result for result in self._write(deletes) if result.status != CONFLICT]
        self._must(results)
        return sum(result.status != NOT_FOUND for result in results)

    # Inner workings

    def _job_write(self, job: Job, operation: str, version: Version | None = None) -> Write:
        body = {"kind": "job", "job": job.id, "state": job.state, "at": job.changed, "body": job.as_dict()}
        return Write(operation, self._index, f"job:{job.id}", body, condition=version)

    def _refresh(self) -> None:
        self._server.call(lambda client: client.indices.refresh(index=self._index))

    def _write(self, writes: Iterable[Write]) -> list[Result]:
        options = self._options
        given = [
            Write(each.operation, self._index, each.key, each.body, OVERHEAD_BYTES * 4, each.condition)
            for each in writes
        ]
        return write_all(self._server, given, chunk_bytes=options.chunk_bytes, seconds=options.retry_seconds)

    def _change(self, write: Write) -> Version | None:
        (result,) = self._write([write])
        if result.status in (CONFLICT, NOT_FOUND):
            return None
        self._must([result])
        return result.condition

    def _must(self, results: Iterable[Result]) -> None:
        problems = [result.reason for result in results if not result.done]
        if problems:
            raise WriteFailed(self._server.name, f"{len(problems)} writes failed: {problems[0]}")


_DEAD: Final = {"bool": {"filter": [{"term": {"kind": "dead"}}]}}


def _dead_key(page_id: str) -> str:
    return f"dead:{key_of(page_id)}"


def _part_key(job_id: str, plan: str, number: int) -> str:
    return f"part:{job_id}:{plan}:{number}"


def _part_write(part: Partition, operation: str, version: Version | None = None) -> Write:
    state = "finished" if part.finished else "working" if part.owner else "waiting"
    body = {"kind": "part", "job": part.job, "state": state, "at": part.beat, "body": part.as_dict()}
    return Write(operation, "", _part_key(part.job, part.plan, part.number), body, condition=version)


def _version(document: Mapping[str, Any]) -> Version:
    return document["_seq_no"], document["_primary_term"]
