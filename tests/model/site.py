"""A user's index on Elasticsearch with hook, jobs and audits, beside the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from elasticsearch.helpers import scan

from es_dedup.errors import SettingsMismatch
from es_dedup.maintenance.audit import audit
from es_dedup.maintenance.context import open_context
from es_dedup.maintenance.reindex import abandon
from tests.model.answers import compare_clusters, compare_totals, said, wanted
from tests.model.material import Version, drawn
from tests.model.place import PIPELINES, Place, act_alone, command_alone, key_of, settings, version_of
from tests.model.plain import SAME, Oracle, Plain
from tests.model.system import (
    PAGES,
    RARELY,
    Step,
    batches,
    by_policy,
    cluster_ids,
    crossed,
    demand,
    dies,
    equal,
    name_of,
)
from tests.servers import fresh_name

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping

    Documents = dict[str, dict[str, Any]]

WEIGHTS: Final = {
    "bulk": 16,
    "piped": 4,
    "vanish": 4,
    "route": 2,
    "inline": 1,
    "together": 4,
    "foreign": 3,
    "deferred": 2,
    "recheck": 1,
    "backfill": 2,
    "audit": 2,
    "recluster": 2,
    "reindex": 1,
    "rollback": 1,
    "rollover": 1,
    "detach": 1,
    "attach": 1,
    "reopen": 1,
    "resume": 1,
    "kill": 2,
}
HEALING: Final = ("backfill", "audit", "reindex", "rollback", "inline")
HEALED: Final = 0.3  # share of steps that put right what may be wrong
KILLABLE: Final = ("bulk", "bulk", "piped", "vanish", "backfill", "audit", "recluster", "reindex", "detach")
OPERATIONS: Final = ("index", "index", "index", "index", "create", "update", "touch", "delete")
LAST_WRITE: Final = 40
ALIASES: Final[tuple[dict[str, str], ...]] = (
    {},
    {"index_routing": "r"},
    {"index_routing": "s", "search_routing": "r"},
    {"search_routing": "s"},
    {"routing": "r"},
)
"""What the alias that documents are written to may do beside naming the index."""
ROUTINGS: Final = ("", "", "", "r", "s")


class SiteSystem:
    """A user's index that is written through the hook and past it, and maintained.

    What is promised: whatever happens, no document is lost or changed but for ``dedup``. Through the hook, ``dedup`` fields and clusters are right
    after each call. After writes past the hook, lost messages and deaths they are right after ``backfill``, ``audit --repair`` or
    ``reindex`` (and after ``recheck`` or ``recluster``, of lost messages alone).

    Args:
        templates, restarts: see ``Library``.
        workers: Celery workers decide at times; they need Redis.
    """

    def __init__(self, *, templates: bool = False, restarts: bool = False, workers: bool = False) -> None:
        self._templates = templates
        rare = {"crash": restarts, "worker": workers}
        self._weights = WEIGHTS | {op: RARELY for op, wanted in rare.items() if wanted}
        self._model = Plain(Oracle(learns=templates))
        self._numbers, self._previous, self._routing = 1, -1, ""
        self._digests: dict[str, str] = {}
        self._attached, self._learned = False, True
        self._wrong: set[str] = set()
        self._place = Place(fresh_name(), 0)
        kinds = {
            "body": {"type": "text", "index": False},
            "kind": {"type": "keyword"},
            "at": {"type": "date"},
        }
        self._place.client.indices.put_index_template(
            name=f"{self._place.name}-own",
            index_patterns=[self._place.pattern],
            priority=500,
            template={
                "mappings": {"properties": kinds | {"title": {"type": "keyword"}}},
                "settings": {"number_of_shards": 2, "number_of_replicas": 0},
            },
        )
        self._place.put_pipelines()
        self._place.client.indices.create(
            index=self._place.index(0), aliases={self._place.alias: {"is_write_index": True}}
        )

    def draw(self, rng: random.Random) -> Step:
        """See ``System``."""
        op = rng.choices(list(self._weights), list(self._weights.values()))[0]
        if self._wrong and rng.random() < HEALED:
            op = rng.choice(HEALING[:3]) if self._attached else "attach"
        return self._drawn(rng, op)

    def _drawn(self, rng: random.Random, op: str) -> Step:
        if op in ("kill", "crash"):
            inner = self._drawn(rng, rng.choice(KILLABLE)) | {"policy": "mark"}
            return {"op": op, "step": inner, "at": int(LAST_WRITE ** rng.random()), "after": rng.random()}
        step: Step = {"op": op, "writer": rng.randrange(2)}
        if op == "route":
            step["alias"] = rng.choice(ALIASES)
        elif op == "inline":
            step["at"] = int(LAST_WRITE ** rng.random())
        if op in ("bulk", "piped", "vanish", "together", "foreign", "deferred", "worker"):
            policy = "mark"
            if op in ("bulk", "vanish") and not self._templates:
                policy = rng.choice(("mark", "mark", "mark", "skip", "overwrite"))
            operations = list(OPERATIONS) if policy == "mark" and op not in ("piped", "vanish") else ["index"]
            if op == "piped":
                step["pipeline"] = rng.choice(list(PIPELINES))
            if self._templates:  # whose times are of their own
                operations = [each for each in operations if each != "touch"]
            step |= {"policy": policy, "chunk": rng.choice((1, 2, 3, 500)), "lost": rng.random() < 0.5}
            step["actions"] = []
            for name in map(name_of, rng.choices(range(PAGES), k=rng.choice((1, 1, 2, 4, 8, 16)))):
                version, number = drawn(rng, templates=self._templates), rng.choice((-1, -1, -1, 0, 1))
                routing = rng.choice(ROUTINGS)
                step["actions"].append(
                    [rng.choice(operations), name, version.content, version.day, number, routing]
                )
            if op == "vanish":
                step["which"] = [rng.random() for _ in step["actions"]]
        return step

    def run(self, step: Step) -> None:
        """See ``System``."""
        op = step["op"]
        if not self._possible(step["step"]["op"] if "step" in step else op):
            return
        if op == "kill":
            self._killed(self._fitted(step["step"]), step["at"])
        elif op == "crash":
            self._crashed(self._fitted(step["step"]), step["after"])
        else:
            self._take(self._fitted(step))
        self.check()

    def _possible(self, op: str) -> bool:
        needs = "audit recluster backfill reindex rollback rollover detach resume worker inline".split()
        if (op in needs and not self._attached) or (op == "worker" and self._wrong):
            return False
        return not (op == "rollback" and self._previous < 0) and not (op == "attach" and self._attached)

    def _fitted(self, step: Step) -> Step:
        """The step with indices that are there, and with the settings that it leads to."""
        if "actions" in step:
            last = self._numbers - 1
            actions = [[*action[:4], min(action[4], last), action[5]] for action in step["actions"]]
            for action in actions:
                if step.get("pipeline") == "digest":  # ids that are given anew are of one routing
                    action[4:] = max(action[4], 0), ""
                elif action[4] < 0:
                    action[5] = self._routing
            if step["op"] == "vanish":
                return self._vanishing(step, actions)
            return {**step, "actions": actions}
        if step["op"] == "reindex":
            return {**step, "shape": 1 - self._place.shape}
        return {**step, "shape": self._previous}

    def _vanishing(self, step: Step, actions: list[Any]) -> Step:
        """Canonical documents that are deleted, and actions that write a copy of each, none over another.

        The hook comes across these; that another member of a cluster has gone is what an audit finds.
        """
        names = sorted(name for name, place in self._model.expected().items() if place.canonical == name)
        gone = list(dict.fromkeys(names[int(len(names) * share**2)] for share in step["which"] if names))
        of_one_page = {action[1]: action for action in actions}
        copies = [
            [*action[:2], self._model.live[name].content, *action[3:]]
            for action, name in zip(of_one_page.values(), gone, strict=False)
        ]
        return {**step, "actions": copies, "gone": gone[: len(copies)]}

    def _take(self, step: Step) -> None:
        op = step["op"]
        if op == "reopen":
            self._reopen(self._place.shape)
            return
        if op == "inline":
            self._inline(step)
            return
        for name in step.get("gone", ()):
            del self._model.live[name]
        before = dict(self._model.live)
        done = self._place.act(step)
        if self._wrong and step.get("policy", "mark") != "mark":
            self._doubtful(step, before)
        else:
            self._expect(step)
        if op in ("reindex", "rollback"):
            self._previous = self._place.shape
            self._reopen(step["shape"])
        elif op in ("bulk", "piped", "vanish"):
            report = done.report
            demand(self._wrong or not (report.inconclusive or report.not_repaired), "not decided", report)
            stayed = before.keys() & self._model.live.keys()
            demand(stayed.isdisjoint(report.gone), "not gone", report)
        elif op == "together":
            reports = [each.report for each in done]
            self._wrong |= {"waiting"} if any(report.inconclusive for report in reports) else set()
            self._wrong |= {"killed"} if any(report.not_repaired for report in reports) else set()
        if op == "route":
            self._routing = step["alias"].get("index_routing", step["alias"].get("routing", ""))
        if op in ("backfill", "recluster", "reindex", "rollback"):
            self._learned = True
        elif op in "bulk piped vanish together foreign deferred worker audit recheck".split():
            self._learned = False
        self._account(op, lost=bool(step.get("lost")))
        if op == "vanish" and step["policy"] != "mark":
            self._wrong.add("foreign")  # a copy that is left out meets one other document

    def _inline(self, step: Step) -> None:
        """A command that works on its job itself is killed; the same command goes on with the job."""
        command = (self._place.name, self._place.shape, "elastic", "backfill", "--inline")
        before = {job.id for job in self._place.site.jobs.jobs(unfinished=True)}
        dies(command_alone, *command, at=step["at"])
        dies(command_alone, *command, at=0)  # never
        unfinished = {job.id for job in self._place.site.jobs.jobs(unfinished=True)}
        demand(unfinished <= before, "a job is left", unfinished - before)
        self._learned = True
        self._account("inline", lost=False)

    def _doubtful(self, step: Step, before: Mapping[str, Version]) -> None:
        """A policy while features may be of older versions: it may overlook copies, but takes out nothing else that is no copy."""
        given = {(self._key(step, action), Version(*action[2:4])) for action in step["actions"]}
        real = self._versions()
        for name in before.keys() - real.keys() - {name for name, _ in given}:
            copies = any(self._model.relation(before[name], version) in SAME for _, version in given)
            demand(step["policy"] == "overwrite" and copies, "deleted, and no copy of it was written", name)
        for name, version in real.items():
            demand(
                before.get(name) == version or (name, version) in given, "a version that nobody wrote", name
            )
        self._model.live = real

    def _account(self, op: str, *, lost: bool) -> None:
        """Remember what may be wrong now."""
        if op in HEALING:
            self._wrong.clear()
        elif op in ("recheck", "recluster"):
            self._wrong.discard("waiting")
        elif op == "foreign":
            self._wrong.add("foreign")
        elif op == "deferred" and lost:
            self._wrong.add("waiting")
        elif op == "detach":
            self._attached = False
            self._wrong.add("detached")
        elif op == "attach":
            self._attached = True
        elif op == "rollover":
            self._numbers, self._routing = self._numbers + 1, ""

    def _expect(self, step: Step) -> None:
        """What the documents are after a step."""
        live = self._model.live
        if step.get("policy", "mark") != "mark":
            for batch in batches(step):
                written = [(self._key(step, action), Version(*action[2:4])) for action in batch]
                changed = {name for name, version in written if live.get(name) != version}
                late = changed if step["policy"] == "skip" else ()
                by_policy(self._model, step["policy"], written, late=late, again=True)
            return
        for action in step.get("actions", ()):
            operation, _, content, day, _, _ = action
            key = self._key(step, action)
            if step.get("pipeline") in ("drop", "fail") and content.startswith("part"):
                continue
            if operation == "delete":
                live.pop(key, None)
            elif operation == "touch" and key in live:
                live[key] = Version(live[key].content, day)
            elif (
                operation == "index"
                or (operation == "create" and key not in live)
                or (operation == "update" and key in live)
            ):
                live[key] = Version(content, day)

    def _key(self, step: Step, action: list[Any]) -> str:
        """The page id that an action gives its document."""
        _, name, content, _, number, routing = action
        if step.get("pipeline") == "digest":
            if content not in self._digests:
                self._digests[content] = self._place.digest(content)
            name = self._digests[content]
        index = self._place.index(number if number >= 0 else self._numbers - 1)
        return f"{index}?{routing}/{name}{routing}" if routing else f"{index}/{name}"

    def _reopen(self, shape: int) -> None:
        self._place.close()
        self._place = Place(self._place.name, shape)

    def _killed(self, step: Step, at: int) -> None:
        """A death: of each document the old or the new version is there; then somebody does what is said to put it right."""
        before = dict(self._model.live)
        dies(act_alone, self._place.name, self._place.shape, step, at=at)
        self._adopt(step, before)

    def _crashed(self, step: Step, after: float) -> None:
        """The server dies: a step that ends well all the same has done all of it; after another one somebody puts it right."""
        before, wrong = dict(self._model.live), set(self._wrong)
        done, error = crossed(self._place.act, step, after)
        if step["op"] in ("bulk", "piped", "vanish") and error is None:
            report, (_, refused) = done.report, done
            whole = not refused or step.get("pipeline") == "fail"
            error = (
                AssertionError(report) if report.inconclusive or report.not_repaired or not whole else None
            )
        self._reopen(self._place.shape)
        self._adopt(step, before)
        if error is None and step["op"] not in ("reindex", "detach"):
            self._wrong = wrong
            self._account(step["op"], lost=False)

    def _adopt(self, step: Step, before: dict[str, Version]) -> None:
        """Take each document as it is: its old version, or one that the step gave it."""
        given: dict[str, list[Version | None]] = {}
        for action in step.get("actions", ()):
            self._expect({**step, "actions": [action]})
            name = self._key(step, action)
            given.setdefault(name, []).append(self._model.live.get(name))
        for name in step.get("gone", ()):
            given.setdefault(name, []).append(None)
        real = self._versions()
        for name in {*real, *before, *self._model.live}:
            versions = (before.get(name), *given.get(name, ()))
            demand(real.get(name) in versions, "a version that nobody wrote", name, real.get(name), versions)
        self._model.live = real
        self._wrong.add("killed")
        self._learned = False
        if step["op"] == "reindex":
            self._after_reindex(step)
        elif step["op"] == "detach":
            self._after_detach(step)

    def _after_reindex(self, step: Step) -> None:
        """The same call goes on; or, while the old settings are in force, it is given up."""
        self._place.close()
        try:
            with open_context(self._place.address, settings(step["shape"])):
                pass
            self._reopen(step["shape"])  # the new generation was in use already
            self._previous = -1
        except SettingsMismatch:
            self._reopen(self._place.shape)
            if step["writer"]:
                demand(abandon(self._place.address, self._place.settings) in (True, False))
            else:
                self._take(step)

    def _after_detach(self, step: Step) -> None:
        if self._place.site.attachments:
            self._place.act(step)
        self._account("detach", lost=False)

    def finish(self) -> None:
        """See ``System``."""
        if not self._attached:
            self.run({"op": "attach"})
        self.run({"op": "audit"})
        self.run({"op": "recluster"})

    def remove(self) -> None:
        """See ``System``."""
        client, name = self._place.client, self._place.name
        client.indices.delete(index=f"{name}*", expand_wildcards="all", ignore_unavailable=True)
        client.options(ignore_status=404).indices.delete_index_template(name=f"{name}-own")
        for kind in PIPELINES:
            client.ingest.delete_pipeline(id=self._place.pipeline(kind))
        self._place.close()

    # What is compared

    def _documents(self) -> Documents:
        index = f"{self._place.name}-pages-0*"
        self._place.client.indices.refresh(index=index)
        hits = scan(self._place.client, index=index)
        return {key_of(hit): hit["_source"] for hit in hits}

    def _versions(self) -> dict[str, Version]:
        documents = self._documents()
        for source in documents.values():
            source.pop("dedup", None)
        return {name: version_of(source) for name, source in documents.items()}

    def check(self) -> None:
        """Compare all that must be equal now."""
        documents = self._documents()
        dedup_fields = {name: source.pop("dedup", None) or {} for name, source in documents.items()}
        equal("documents", {name: version_of(source) for name, source in documents.items()}, self._model.live)
        if self._wrong:
            return
        if self._attached:
            found = audit(self._place.site).as_dict()["found"]
            demand(not found, "an audit finds", found)
        if self._templates and not self._learned:
            return
        expected = self._model.expected()
        equal(
            "dedup fields",
            {name: said(dedup_field) for name, dedup_field in dedup_fields.items()},
            wanted(expected),
        )
        ids = {
            name: (dedup_field["cluster_id"], expected[name].members)
            for name, dedup_field in dedup_fields.items()
        }
        cluster_ids(ids, self._model.live.keys())
        compare_clusters(self._place, expected, dedup_fields)
        compare_totals(self._place, self._model.live, expected, templates=self._templates)
