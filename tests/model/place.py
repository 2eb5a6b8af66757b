"""A user's index on Elasticsearch, and each step that somebody takes there: hook, other writers, jobs, workers."""

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

from elasticsearch.helpers import bulk
from es_dedup_tasks.dispatch import CeleryDispatcher
from typer.testing import CliRunner

from es_dedup.cli.main import app
from es_dedup.hook import DedupHook, SourceFields, dedup_bulk
from es_dedup.index.jobs import JobState
from es_dedup.maintenance.attach import attach, detach
from es_dedup.maintenance.audit import audit
from es_dedup.maintenance.context import MaintenanceContext, open_context
from es_dedup.maintenance.reindex import reindex, roll_back
from es_dedup.maintenance.runner import Runner
from es_dedup.settings import Settings, load_settings
from es_dedup.settings.sections import CcdetConfig
from tests.model.library import contents
from tests.model.material import Version, text_of
from tests.model.system import Step, demand, equal
from tests.servers import client_of, url_of
from tests.workers import environment, until, worker

FIELDS: Final = SourceFields("body", url="", published="at")
SHAPES: Final[tuple[dict[str, int], ...]] = ({}, {"window": 8})
"""Settings of ``ccdet`` that shape features and decide nothing: ``reindex`` goes from one to the other."""
SMALL: Final = {"batch": 16, "part_documents": 100, "lease_seconds": 1, "tend_seconds": 1}
DATABASE: Final = 12  # of Redis
PIPELINES: Final[dict[str, list[dict[str, Any]]]] = {
    "set": [{"set": {"field": "piped", "value": "yes"}}],
    "rename": [{"rename": {"field": "sort", "target_field": "kind"}}],
    "drop": [{"drop": {"if": "ctx.kind == 'part'"}}],
    "fail": [{"fail": {"message": "no parts", "if": "ctx.kind == 'part'"}}],
    "digest": [
        {"fingerprint": {"fields": ["body"], "target_field": "digest"}},
        {"set": {"field": "_id", "value": "{{{digest}}}"}},
        {"remove": {"field": ["digest"]}},
    ],
}
"""Pipelines that documents are sent through, by name: what they do leaves the page as it is, but for its id."""


def settings(shape: int) -> Settings:
    """Settings with one of the shapes: small batches and short leases."""
    return Settings.model_validate(
        {
            "workers": 1,
            "ccdet": CcdetConfig(**SHAPES[shape]),
            "maintenance": SMALL,
            "index": {"lock_seconds": 60},
        }
    )


class Place:
    """A user's index: names, clients, and whoever works on it with settings of one shape; made anew when these change.

    Attributes:
        name: of the features; the user's indices and their alias are named after it.
        shape: of the settings in force.
    """

    def __init__(self, name: str, shape: int) -> None:
        self.name, self.shape = name, shape
        self.address, self.alias = f"{url_of('es8')}/{name}", f"{name}-pages-write"
        self.pattern = f"{name}-pages-0*"
        self._open = ExitStack()
        self.client = self._open.enter_context(client_of(url_of("es8")))
        self._hooks: dict[int, DedupHook] = {}
        self._site: MaintenanceContext | None = None

    @property
    def settings(self) -> Settings:
        """Those in force."""
        return settings(self.shape)

    @property
    def site(self) -> MaintenanceContext:
        """For maintenance."""
        if self._site is None:
            self._site = self._open.enter_context(open_context(self.address, self.settings))
        return self._site

    def hook(self, writer: int) -> DedupHook:
        """One of several writers' hooks."""
        if writer not in self._hooks:
            hook = DedupHook.open(self.address, FIELDS, settings=self.settings)
            self._hooks[writer] = self._open.enter_context(hook)
        return self._hooks[writer]

    def close(self) -> None:
        """Let go of everything."""
        self._open.close()

    def pipeline(self, kind: str) -> str:
        """Name of one of ``PIPELINES``."""
        return f"{self.name}-{kind}"

    def put_pipelines(self) -> None:
        """Make the pipelines."""
        for kind, processors in PIPELINES.items():
            self.client.ingest.put_pipeline(id=self.pipeline(kind), processors=processors)

    def digest(self, content: str) -> str:
        """The id that the pipeline ``digest`` gives a document of this content."""
        document = {"_index": self.index(0), "_id": "given", "_source": source_of(Version(content, 0))}
        (answer,) = self.client.ingest.simulate(id=self.pipeline("digest"), docs=[document])["docs"]
        return str(answer["doc"]["_id"])

    def index(self, number: int) -> str:
        """Concrete index of that number."""
        return f"{self.name}-pages-{number + 1:06}"

    def act(self, step: Step) -> Any:
        """Take a step, without the model."""
        return getattr(self, f"_{step['op']}")(step)

    def _bulk(self, step: Step) -> Any:
        options = {"policy": step["policy"], "chunk_size": step["chunk"], "raise_on_error": False}
        if "pipeline" in step:
            options["pipeline"] = self.pipeline(step["pipeline"])
        hook = self.hook(step["writer"])
        return dedup_bulk(self.client, self.actions(step), hook=hook, refresh=True, **options)

    _piped = _bulk

    def _vanish(self, step: Step) -> Any:
        """Documents are deleted past the hook, then a copy of each goes through it."""
        bulk(self.client, [{"_op_type": "delete", **address_of(key)} for key in step["gone"]], refresh=True)
        return self._bulk(step)

    def _together(self, step: Step) -> list[Any]:
        """Both writers at once, each with documents of its own."""

        def send(writer: int) -> Any:
            mine = [action for action in step["actions"] if int(action[1][1:]) % 2 == writer]
            return self._bulk({**step, "actions": mine, "writer": writer})

        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(send, (0, 1)))

    def _foreign(self, step: Step) -> None:
        bulk(self.client, self.actions(step), refresh=True, raise_on_error=False)

    def _deferred(self, step: Step) -> None:
        hook = self.hook(step["writer"])
        told: list[str] = []
        with deferring(hook, told):
            dedup_bulk(self.client, self.actions(step), hook=hook, refresh=True, raise_on_error=False)
        if not step["lost"]:
            hook.decide(told)

    def _worker(self, step: Step) -> None:
        """Workers decide on what the hook has indexed; some die before they acknowledge."""
        given = load_settings(environ=environment(DATABASE) | shaped(self.shape))
        dispatcher = CeleryDispatcher(self.address, given)
        with tempfile.TemporaryDirectory() as folder, Path(folder, "log").open("wb") as log:
            deaths = Path(folder, "deaths")
            deaths.mkdir()
            for number in range(step["chunk"] % 3):
                (deaths / str(number)).touch()
            faults = shaped(self.shape) | {"FAULTY_KILLS": str(deaths)}
            hook = self.hook(step["writer"])
            hook.dispatcher = dispatcher
            try:
                with worker(self.address, log, faults=faults, database=DATABASE):
                    dedup_bulk(self.client, self.actions(step), hook=hook, refresh=True, raise_on_error=False)
                    until(lambda: audit(self.site).clean)
            finally:
                hook.dispatcher = None
                dispatcher.close()

    def _recheck(self, step: Step) -> None:
        self.hook(step["writer"]).recheck(self.pattern)

    def _backfill(self, _: Step) -> None:
        self._job("backfill")

    def _recluster(self, _: Step) -> None:
        self._job("recluster")

    def _job(self, what: str) -> None:
        runner = Runner(self.site)
        self.over(runner.start(what, {"target": None}).id)

    def over(self, job_id: str) -> None:
        """Work on a job to its end."""
        demand(Runner(self.site).run(job_id).state is JobState.DONE, "a job is not done", job_id)

    def _resume(self, _: Step) -> None:
        for job in self.site.jobs.jobs(unfinished=True):
            self.over(job.id)

    def _audit(self, _: Step) -> None:
        audit(self.site, repair=True, force=True)

    def _reindex(self, step: Step) -> None:
        reindex(self.address, settings(step["shape"]))

    def _rollback(self, step: Step) -> None:
        roll_back(self.address, settings(step["shape"]))

    def _route(self, step: Step) -> None:
        (index,) = (
            name
            for name, found in self.client.indices.get_alias(name=self.alias).items()
            if found["aliases"][self.alias].get("is_write_index")
        )
        alias = {"index": index, "alias": self.alias, "is_write_index": True, **step["alias"]}
        self.client.indices.update_aliases(actions=[{"add": alias}])

    def _rollover(self, _: Step) -> None:
        self.client.indices.rollover(alias=self.alias)

    def _detach(self, _: Step) -> None:
        detach(self.site, self.pattern, force=True)

    def _attach(self, _: Step) -> None:
        mapping = attach(self.site, self.pattern, FIELDS).mapping
        (own,) = self.client.indices.get_index_template(name=f"{self.name}-own")["index_templates"]
        template = own["index_template"]
        template["template"]["mappings"]["properties"] |= mapping  # as attach tells the owner
        given = {key: template[key] for key in ("index_patterns", "priority", "template")}
        self.client.indices.put_index_template(name=f"{self.name}-own", **given)

    def actions(self, step: Step) -> list[dict[str, Any]]:
        """Bulk actions of a step."""
        made = []
        for operation, name, content, day, number, routing in step["actions"]:
            index = self.alias if number < 0 else self.index(number)
            action: dict[str, Any] = {"_index": index, "_id": name + routing}
            if routing and number >= 0:  # else the alias gives it
                action["routing"] = routing
            source = source_of(Version(content, day))
            if step.get("pipeline") == "rename":
                source["sort"] = source.pop("kind")
            if operation in ("index", "create"):
                action |= {"_op_type": operation, "_source": source}
            elif operation == "delete":
                action["_op_type"] = "delete"
            else:
                doc = {"at": source["at"]} if operation == "touch" else source
                action |= {"_op_type": "update", "doc": doc}
            made.append(action)
        return made


def shaped(shape: int) -> dict[str, str]:
    """A shape as environment variables."""
    return {f"ES_DEDUP_CCDET__{name.upper()}": str(value) for name, value in SHAPES[shape].items()}


def source_of(version: Version) -> dict[str, Any]:
    """The document of a version."""
    title, text = text_of(version.content)
    return {"body": text, "title": title, "at": version.published, "kind": version.content.partition(":")[0]}


class _Loses:
    """A dispatcher that only writes down what it is told."""

    def __init__(self, told: list[str]) -> None:
        self._told = told

    def ingest(self, page_ids: Sequence[str]) -> None:
        """See ``Dispatcher``."""
        self._told += page_ids


@contextmanager
def deferring(hook: DedupHook, told: list[str]) -> Iterator[None]:
    """Let a hook leave decisions to somebody else."""
    hook.dispatcher = _Loses(told)
    try:
        yield
    finally:
        hook.dispatcher = None


def act_alone(name: str, shape: int, step: Step) -> None:
    """Take a step in a process of its own."""
    Place(name, shape).act(step)


def command_alone(name: str, shape: int, *arguments: str) -> None:
    """Run the command line in a process of its own."""
    small = {f"ES_DEDUP_MAINTENANCE__{key.upper()}": str(value) for key, value in SMALL.items()}
    os.environ.update(shaped(shape) | small | {"ES_DEDUP_WORKERS": "1", "ES_DEDUP_INDEX__LOCK_SECONDS": "60"})
    said = CliRunner().invoke(app, ["--db", Place(name, shape).address, *arguments])
    demand(said.exit_code == 0, "a command failed", arguments, said.output)


def address_of(key: str) -> dict[str, str]:
    """Index, id and routing of a document, as a bulk action names them, of its page id."""
    place, _, name = key.partition("/")
    index, _, routing = place.partition("?")
    return {"_index": index, "_id": name} | ({"routing": routing} if routing else {})


def key_of(hit: Mapping[str, Any]) -> str:
    """The page id of a document that a search found."""
    routing = f"?{hit['_routing']}" if "_routing" in hit else ""
    return f"{hit['_index']}{routing}/{hit['_id']}"


def version_of(source: Mapping[str, Any]) -> Version:
    """What a document holds, every field of it but that of the pipeline ``set``."""
    source = {name: value for name, value in source.items() if name != "piped"}
    content = contents()[source["body"]]
    days = {Version(content, day).published: day for day in range(10)}
    version = Version(content, days[source["at"]])
    equal("fields", source, source_of(version))
    return version
