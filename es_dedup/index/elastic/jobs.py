"""Jobs, their parts, dead letters and times: documents of one index that are read as they are now."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from es_dedup.index.elastic.collection import Collection, Write
from es_dedup.index.elastic.documents import key_of
from es_dedup.index.elastic.schema import JOBS, Schema, alias_of, concrete_of
from es_dedup.index.elastic.server import CONFLICT, NOT_FOUND, Server, reads_answers
from es_dedup.index.jobs import DeadLetter, Job, JobState, Partition, Version, as_dict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


BY_JOB_DESCENDING: Final = ({"job": "desc"},)
BY_JOB: Final = ({"job": "asc"},)


@reads_answers()
class JobStore:
    """Jobs, parts, dead letters and times of one index. Reads by id see every write at once.

    The index is made when it is not there, unless ``read_only``.

    Args:
        server: where to.
        name: of the index on the server.
    """

    def __init__(self, server: Server, name: str, *, read_only: bool = False) -> None:
        self._server, schema = server, Schema(server, name)
        self._documents = Collection(server, alias_of(name, JOBS))
        self._there = bool(schema.mappings(JOBS))
        if not self._there and not read_only:
            schema.make(JOBS, concrete_of(name, JOBS, 1), alias=True)
            self._there = True

    def close(self) -> None:
        """Let go of the connections; may be called twice."""
        self._server.close()

    def create(self, job: Job) -> None:
        """Store a new job."""
        self._documents.write([self._job_write(job, "create")])

    def job(self, job_id: str) -> tuple[Job, Version] | None:
        """A job as it is now, or None."""
        found = self._documents.read_one(f"job:{job_id}") if self._there else None
        return None if found is None else (Job.from_dict(found["_source"]["body"]), _version(found))

    def change(self, job: Job, version: Version) -> Version | None:
        """Replace a job if nobody has since ``version``; the new version, or None when somebody has."""
        return self._documents.write_if(self._job_write(job, "index", version))

    def jobs(self, *, unfinished: bool = False) -> list[Job]:
        """All jobs, or those that are not over, by id descending."""
        filters: list[dict[str, Any]] = [{"term": {"kind": "job"}}]
        if unfinished:
            filters.append({"terms": {"state": [state for state in JobState if not state.over]}})
        return [Job.from_dict(body) for body in self._bodies(filters, BY_JOB_DESCENDING, None)]

    def create_partitions(self, parts: Iterable[Partition]) -> None:
        """Store new parts; one that is there already is left as it is."""
        results = self._documents.attempt(self._part_write(part, "create") for part in parts)
        self._documents.must_be_done(result for result in results if result.status != CONFLICT)

    def parts(self, job_id: str, plan: str, numbers: Sequence[int]) -> list[tuple[Partition, Version]]:
        """Parts as they are now."""
        found = self._documents.read(_part_key(job_id, plan, number) for number in numbers)
        return [(Partition(**document["_source"]["body"]), _version(document)) for document in found]

    def change_partition(self, part: Partition, version: Version) -> Version | None:
        """Replace a part if nobody has since ``version``; the new version, or None when somebody has."""
        return self._documents.write_if(self._part_write(part, "index", version))

    def drop(self, job: Job) -> None:
        """Remove a job and its parts."""
        keys = [f"job:{job.id}"]
        for plan, count in zip(job.plans, job.parts, strict=True):
            keys += (_part_key(job.id, plan, number) for number in range(count))
        self._documents.write(map(self._documents.delete, keys))

    def set_time(self, name: str) -> None:
        """Note that something has happened now."""
        body = {"kind": "time", "at": int(time.time() * 1000)}
        self._documents.write([self._documents.put(f"time:{name}", body)])

    def times(self, names: Sequence[str]) -> dict[str, int]:
        """When things last happened, in milliseconds since 1970; those that never did are absent."""
        found = self._documents.read(f"time:{name}" for name in names if self._there)
        return {each["_id"].removeprefix("time:"): each["_source"]["at"] for each in found}

    def put_dead_letters(self, letters: Iterable[DeadLetter]) -> None:
        """Keep dead letters; a page's earlier one is replaced."""
        self._documents.write(
            self._documents.put(
                _dead_key(letter.page_id),
                {"kind": "dead", "job": letter.page_id, "at": letter.at, "body": as_dict(letter)},
            )
            for letter in letters
        )

    def dead(self, limit: int | None = None) -> list[DeadLetter]:
        """Dead letters by page id, at most so many; None: all."""
        return [DeadLetter(**body) for body in self._bodies([_DEAD], BY_JOB, limit)]

    def count_dead(self) -> int:
        """Number of dead letters."""
        if not self._there:
            return 0
        self._documents.refresh()
        return self._documents.count(_DEAD)

    def drop_dead(self, letters: Iterable[DeadLetter]) -> int:
        """Remove dead letters that nobody has replaced since they were read; return how many were removed."""
        wanted = {_dead_key(letter.page_id): letter for letter in letters}
        deletes = [
            self._documents.delete(found["_id"], _version(found))
            for found in self._documents.read(wanted)
            if DeadLetter(**found["_source"]["body"]) == wanted[found["_id"]]
        ]
        results = [result for result in self._documents.attempt(deletes) if result.status != CONFLICT]
        self._documents.must_be_done(results)
        return sum(result.status != NOT_FOUND for result in results)

    def _bodies(
        self, filters: Sequence[Mapping[str, Any]], order: Sequence[Any], limit: int | None
    ) -> list[Mapping[str, Any]]:
        """What documents of some kind hold, as they are now; none where there is no index."""
        if not self._there:
            return []
        self._documents.refresh()
        hits = self._documents.first({"bool": {"filter": filters}}, order, limit)
        return [hit["_source"]["body"] for hit in hits]

    def _job_write(self, job: Job, operation: str, version: Version | None = None) -> Write:
        body = {"kind": "job", "job": job.id, "state": job.state, "at": job.changed, "body": as_dict(job)}
        return self._documents.put(f"job:{job.id}", body, operation=operation, condition=version)

    def _part_write(self, part: Partition, operation: str, version: Version | None = None) -> Write:
        state = "finished" if part.finished else "working" if part.owner else "waiting"
        body = {"kind": "part", "job": part.job, "state": state, "at": part.beat, "body": as_dict(part)}
        key = _part_key(part.job, part.plan, part.number)
        return self._documents.put(key, body, operation=operation, condition=version)


_DEAD: Final = {"term": {"kind": "dead"}}


def _dead_key(page_id: str) -> str:
    return f"dead:{key_of(page_id)}"


def _part_key(job_id: str, plan: str, number: int) -> str:
    return f"part:{job_id}:{plan}:{number}"


def _version(document: Mapping[str, Any]) -> Version:
    return document["_seq_no"], document["_primary_term"]
