"""``Deduplicator`` over a file or an index on Elasticsearch, beside the model."""

import random
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Final

from es_dedup.deduplicator.deduplicator import Deduplicator
from es_dedup.errors import DuplicatePage, OverrideConflict, UnknownPage
from es_dedup.settings import Settings
from tests.model.material import EDITS, FAMILIES, TEMPLATES, WINDOWS, Version, drawn, text_of
from tests.model.plain import KINDS, SAME, Oracle, Plain
from tests.model.system import (
    PAGES,
    RARELY,
    Step,
    by_policy,
    cluster_ids,
    crossed,
    demand,
    dies,
    equal,
    name_of,
    partition,
    versions,
)
from tests.servers import remove

SETTINGS: Final = Settings.model_validate({"workers": 1, "index": {"lock_seconds": 60}})
WEIGHTS: Final = {
    "add": 10,
    "update": 3,
    "remove": 4,
    "override": 3,
    "undo": 1,
    "recluster": 1,
    "reopen": 1,
    "kill": 1,
}
KILLABLE: Final = ("add", "remove", "recluster", "override", "undo")
LAST_WRITE: Final = 120


class Library:
    """A ``Deduplicator``.

    Args:
        address: a file that is not there, or an index on a server.
        templates: pages share closing sentences, of which the library learns. Then what is said of pages depends on what was learned
            when they came, and only after ``recluster`` it must equal the model's; else it must after each step.
        restarts: the server is killed and started again at times; it is one of ``scripts/servers``.
    """

    def __init__(self, address: str, *, templates: bool = False, restarts: bool = False) -> None:
        self._address, self._templates = address, templates
        self._weights = WEIGHTS | ({"crash": RARELY} if restarts else {})
        self._model = Plain(Oracle(learns=templates))
        self._dedup = Deduplicator.open(address, settings=SETTINGS)

    def draw(self, rng: random.Random) -> Step:
        """See ``System``."""
        return self._drawn(rng, rng.choices(list(self._weights), list(self._weights.values()))[0])

    def _drawn(self, rng: random.Random, op: str) -> Step:
        if op in ("kill", "crash"):
            inner = self._drawn(rng, rng.choice(KILLABLE)) | {"policy": "mark"}
            return {"op": op, "step": inner, "at": int(LAST_WRITE ** rng.random()), "after": rng.random()}
        if op == "remove":
            return {"op": op, "ids": [name_of(rng.randrange(PAGES)) for _ in range(rng.randint(1, 4))]}
        if op in ("recluster", "reopen"):
            return {"op": op}
        if op in ("override", "undo"):
            kind = rng.choice(KINDS)
            ids = rng.sample(range(PAGES), 1 if kind == "canonical" else 2)
            if op == "undo" and (known := self._model.overrides[kind]):
                return {"op": op, "kind": kind, "ids": list(rng.choice(known))}
            return {"op": op, "kind": kind, "ids": sorted(map(name_of, ids))}
        count = 1 if op == "update" else rng.choice((1, 1, 2, 5, 9))
        pages = []
        for name in (
            rng.sample(range(PAGES), count) if rng.random() < 0.5 else rng.choices(range(PAGES), k=count)
        ):
            version = drawn(rng, templates=self._templates)
            pages.append([name_of(name), version.content, version.day])
        how = rng.choice(("one", "many", "many", "scan")) if count > 1 else "many"
        policy = "mark"
        decided = any(self._model.overrides.values())  # policies look at pairs alone
        if (
            how == "many"
            and not self._templates
            and not decided
            and len({page[0] for page in pages}) == count
        ):
            policy = rng.choice(("mark", "mark", "mark", "skip", "overwrite", "fail"))
        return {"op": op, "pages": pages, "how": how, "policy": policy}

    def run(self, step: Step) -> None:
        """See ``System``."""
        if step["op"] in ("kill", "crash"):
            self._killed(step)
        elif step["op"] == "reopen":
            self._reopen()
        elif step.get("policy", "mark") != "mark":
            self._with_policy(step)
        else:
            act(self._dedup, step)
            self._follow(step)
        self._check(reclustered=step["op"] == "recluster")

    def finish(self) -> None:
        """See ``System``."""
        self._dedup.recluster()
        self._check(reclustered=True)

    def remove(self) -> None:
        """See ``System``."""
        self._dedup.close()
        if self._address.startswith("http"):
            remove(self._address)
        else:
            for ending in ("", "-wal", "-shm", ".lock"):
                Path(f"{self._address}{ending}").unlink(missing_ok=True)

    def _reopen(self) -> None:
        self._dedup.close()
        self._open()

    def _open(self) -> None:
        self._dedup = Deduplicator.open(self._address, settings=SETTINGS)
        self._dedup._index.refresh()  # searches see what another object wrote within a second, or after this
        self._dedup._index.refresh_clusters()

    def _follow(self, step: Step) -> None:
        live = self._model.live
        if step["op"] == "update":
            live.update({name: each for name, each in versions(step["pages"]).items() if name in live})
        elif step["op"] == "add":
            live.update(versions(step["pages"]))
        if step["op"] == "remove":
            for name in step["ids"]:
                live.pop(name, None)
        elif step["op"] in ("override", "undo"):
            pages, known = tuple(step["ids"]), self._model.overrides[step["kind"]]
            if step["op"] == "undo":
                known[:] = [each for each in known if each != pages]
            elif live.keys() >= set(pages) and pages not in known and self._model.allows(step["kind"], pages):
                known.append(pages)

    def _killed(self, step: Step) -> None:
        """What was kept before the death is kept, of each page the version before or the new one; then the same call does the rest."""
        before = dict(self._model.live)
        decided = {kind: list(known) for kind, known in self._model.overrides.items()}
        if step["op"] == "crash":
            crossed(partial(act, self._dedup), step["step"], step["after"])
            self._reopen()
        else:
            self._dedup.close()
            try:
                dies(act_alone, self._address, step["step"], at=step["at"])
            finally:
                self._open()
        self._follow(step["step"])
        real = self._stored()
        for name in {*real, *before, *self._model.live}:
            either = (before.get(name), self._model.live.get(name))
            demand(
                real.get(name) in either, "neither the old nor the new version", name, real.get(name), either
            )
        intended, self._model.live = self._model.live, real
        wanted, self._model.overrides = self._model.overrides, self._decided()
        demand(
            self._model.overrides in (decided, wanted), "overrides", self._model.overrides, decided, wanted
        )
        self._check(reclustered=False)
        act(self._dedup, step["step"])
        self._model.live, self._model.overrides = intended, wanted

    def _with_policy(self, step: Step) -> None:
        given = versions(step["pages"])
        if step["op"] == "update" or step["policy"] == "fail":
            self._failing(step, given)
            return
        act(self._dedup, step)
        by_policy(self._model, step["policy"], given.items(), late=given)

    def _failing(self, step: Step, given: dict[str, Version]) -> None:
        before = dict(self._model.live)
        self._follow(step)
        if step["op"] == "update":
            act(self._dedup, step)
            return
        related = self._model.related()
        new = [name for name, version in given.items() if before.get(name) != version]
        known = {left for (left, _), said in related.items() if left in new and said[0] in SAME}
        try:
            self._dedup.add_many((version.page(name) for name, version in given.items()), policy="fail")
        except DuplicatePage:
            demand(known, "refused though no page is a duplicate", step)
            self._model.live = before
        else:
            # a known page may take its own place in its cluster again
            demand(known <= before.keys(), "not refused though a page is a duplicate", step)

    def _decided(self) -> dict[str, list[tuple[str, ...]]]:
        in_force = self._dedup.overrides()
        return {kind: [each.pages for each in in_force if each.kind == kind] for kind in KINDS}

    def _stored(self) -> dict[str, Version]:
        found = {}
        for records in self._dedup._index.scan():
            for record in records:
                content = contents()[self._dedup.text(record.page_id)]
                found[record.page_id] = Version(content, _day(content, record.published))
        return found

    def _check(self, *, reclustered: bool) -> None:
        """Compare pages, and where they must be equal clusters."""
        demand(not self._dedup.clusters_pending, "clusters were left pending")
        equal("pages", self._stored(), self._model.live)
        equal("overrides", self._decided(), self._model.overrides)
        found, ids = {}, {}
        for cluster in self._dedup.clusters():
            pages = {cluster.canonical: "exact"} | {m.page_id: str(m.relation) for m in cluster.members}
            for name, relation in pages.items():
                demand(name not in found, "in two clusters", name)
                found[name] = (cluster.canonical, sorted(pages), relation)
                ids[name] = (cluster.id, set(pages))
        cluster_ids(ids, self._model.live.keys())
        if reclustered or not self._templates:
            equal("clusters", found, partition(self._model.expected()))
        equal("clustered pages", dict.fromkeys(found), dict.fromkeys(self._model.live))


def act(dedup: Deduplicator, step: Step) -> None:
    """Take a step in the library alone."""
    pages = [Version(content, day).page(name) for name, content, day in step.get("pages", ())]
    if step["op"] == "update":
        with suppress(UnknownPage):
            dedup.update(pages[0])
    elif step["op"] == "remove":
        dedup.remove(step["ids"])
    elif step["op"] == "recluster":
        dedup.recluster()
    elif step["op"] == "override":
        with suppress(UnknownPage, OverrideConflict):
            decide = getattr(dedup, f"override_{step['kind']}")
            decide(*step["ids"], reason="why", author="who")
    elif step["op"] == "undo":
        for each in dedup.overrides():
            if (each.kind, list(each.pages)) == (step["kind"], step["ids"]):
                dedup.undo_override(each.id)
    elif step["how"] == "one":
        for page in pages:
            dedup.add(page)
    elif step["how"] == "scan":
        dedup.scan(pages)
    else:
        dedup.add_many(pages, policy=step["policy"])


def act_alone(address: str, step: Step) -> None:
    """Take a step in a process of its own."""
    with Deduplicator.open(address, settings=SETTINGS) as dedup:
        act(dedup, step)


@cache
def contents() -> dict[str, str]:
    """Names of all contents by their text."""
    names = [f"{kind}:{family}" for kind in ("full", "part", "digest") for family in range(FAMILIES)]
    names += [f"edit:{family}.{number}" for family in range(FAMILIES) for number in range(EDITS)]
    names += [f"window:{family}.{number}" for family in range(2) for number in range(WINDOWS)]
    names += [f"template:{number}" for number in range(TEMPLATES)]
    return {text_of(name)[1]: name for name in names}


@cache
def _days(content: str) -> dict[str, int]:
    return {(Version(content, day).published or ""): day for day in range(10)}


def _day(content: str, published: str) -> int:
    return _days(content)[published[:10]]
