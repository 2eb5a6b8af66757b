"""The model-based test in its short form: fixed seeds; and that it would notice something."""

import json
import random
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from es_dedup.deduplicator.deduplicator import Deduplicator
from tests.model.driver import sequence, shortest
from tests.model.library import Library, contents
from tests.model.material import Version, constructed
from tests.model.plain import Oracle, Plain
from tests.model.site import SiteSystem
from tests.model.system import Finding
from tests.servers import fresh_name, url_of

STEPS = 15


@pytest.fixture(autouse=True)
def certain_from_the_first_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Policies count every edge, as the model does: it knows nothing of statistics that are too young."""
    monkeypatch.setattr("es_dedup.batch.decisions.KNOWN_OF_CALL", 0)


def test_relations_are_those_that_the_texts_were_made_for() -> None:
    names = [name for name in contents().values() if not name.startswith(("window", "template"))]
    live = {f"{name}@{day}": Version(name, day) for name in names for day in (0, 1, 9)}
    related = Oracle().related(live)
    for left, right in product(live, live):
        if left < right:
            wanted = constructed(live[left].content, live[right].content)
            assert related.get((left, right), (None,))[0] == wanted, (left, right)


def test_the_model_orders_pages_by_length_as_the_library_does() -> None:
    with Deduplicator.open(":memory:") as dedup:
        dedup.add_many(Version(name, 0).page(name) for name in contents().values())
        lengths = {record.page_id: record.length for records in dedup._index.scan() for record in records}
    plain = Plain(Oracle())
    plain.live = {name: Version(name, 0) for name in contents().values()}
    by_length = sorted(plain.live, key=lambda name: (-lengths[name], name))
    assert sorted(plain.live, key=plain.order) == by_length


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("templates", [False, True], ids=["", "templates"])
def test_a_file_is_what_the_model_says(tmp_path: Path, seed: int, *, templates: bool) -> None:
    sequence(lambda: Library(str(tmp_path / "pages.db"), templates=templates), seed, 2 * STEPS)


@pytest.mark.slow
@pytest.mark.parametrize("templates", [False, True], ids=["", "templates"])
def test_an_index_on_a_server_is_what_the_model_says(*, templates: bool) -> None:
    sequence(lambda: Library(f"{url_of('es8')}/{fresh_name()}", templates=templates), 1, STEPS)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_a_users_index_is_what_the_model_says(seed: int) -> None:
    sequence(SiteSystem, seed, STEPS)


class Spoilt(Library):
    """Somebody removes a page behind the library's back after some steps."""

    def run(self, step: dict[str, Any]) -> None:
        """See ``System``."""
        if step["op"] == "spoil":
            self._dedup._index.delete_many(list(self._model.live)[:1])
        super().run({"op": "reopen"} if step["op"] == "spoil" else step)

    def draw(self, rng: random.Random) -> dict[str, Any]:
        """See ``System``."""
        return {"op": "spoil"} if rng.random() < 0.1 else super().draw(rng)


def test_a_finding_names_its_steps_and_is_cut_to_those_it_needs(tmp_path: Path) -> None:
    def make() -> Spoilt:
        return Spoilt(str(tmp_path / "pages.db"))

    with pytest.raises(Finding, match="seed 5, step") as caught:
        sequence(make, 5, 10 * STEPS)
    steps = shortest(make, json.loads(caught.value.args[1]), 60)
    assert [step["op"] for step in steps] == ["add", "spoil"]
