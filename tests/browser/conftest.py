"""One browser for all tests of the folder, and servers with the same pages."""

import time
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

from tests.browsing import Tab, chromium
from tests.servers import fresh_name, remove, url_of
from tests.serving import OTHER, TEXT, serving

MEMBERS: Final = 205
"""Pages of the large cluster: more than are listed at a time."""
HOSTILE: Final = (
    "<script>alert(1)</script>\u202e\u200b\u2067 \u0645\u0631\u062d\u0628\u0627\x00\" onload='alert(2)' "
)
"""A script, marks of direction, a space without width, Arabic letters, quotation marks."""
STORIES: Final = (
    (
        "The mayor opened the new swimming hall on Friday morning. It has six lanes of fifty metres and a pool for children. "
        "Building it took four years and cost eleven million. School classes swim free of charge on weekdays."
    ),
    (
        "A storm tore the roof from the grain store by the canal last night. Firemen pumped water out of the cellar until noon. "
        "The owner speaks of two hundred tonnes of spoilt rye. Trains between the villages ran again in the evening."
    ),
)
ENDS: Final = (
    "The first visitors had come at dawn with their own towels. A choir of pupils sang by the edge of the water.",
    "Neighbours had feared the noise of buses and cars. The car park behind the station stays open until midnight.",
)
"""Two thirds of a page, and the rest of two: pairs that are near a threshold."""
LONG: Final = 2_000_000


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium."""
    with chromium() as found:
        yield found


@pytest.fixture(scope="session")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A server on an index in a file, with ``pages``."""
    folder = tmp_path_factory.mktemp("browser")
    with serving(str(folder / "pages.db"), folder) as api:
        yield filled(api)


@pytest.fixture(scope="session")
def api_on_elasticsearch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The same on Elasticsearch."""
    place = f"{url_of('es8')}/{fresh_name()}"
    try:
        with serving(place, tmp_path_factory.mktemp("browser")) as api:
            yield filled(api)
    finally:
        remove(place)


@pytest.fixture(params=["api", "api_on_elasticsearch"], ids=["file", "server"])
def either(request: pytest.FixtureRequest) -> Any:
    """First the one, then the other."""
    return request.getfixturevalue(request.param)


def filled(api: Any) -> Any:
    """The same server, with ``pages`` and a job, whose id is ``job``."""
    made = pages()
    report = api.lines("/v1/pages", *made).json()
    assert (report["stored"], report["failed"]) == (len(made), {})
    api.job = api.post("/v1/jobs", json={"what": "recluster"}).json()["id"]
    while api.get(f"/v1/jobs/{api.job}").json()["state"] == "running":
        time.sleep(0.1)
    return api


def pages() -> list[dict[str, str]]:
    """A large cluster, pairs near a threshold, two pages to decide on, and hostile ones, as requests have them."""
    tugs = "Two tugs have freed the ferry from the sand bank. Divers look for damage below the water line."
    made = [
        {
            "id": f"large/{at:03}",
            "text": TEXT,
            "title": "Ferry aground",
            "published": f"2026-03-02T09:{at % 60:02}",
        }
        for at in range(MEMBERS)
    ]
    made += [
        {"id": f"story/{at}/{which}", "text": f"{story} {end}", "title": "News of the day"}
        for at, story in enumerate(STORIES)
        for which, end in enumerate(ENDS)
    ]
    return [
        *made,
        {
            "id": "tug/1?x=<i>",
            "text": tugs,
            "title": "Ferry freed",
            "published": "2026-03-03",
            "site": "a.example",
        },
        {"id": "tug/2", "text": tugs, "title": "Ferry freed", "published": "2026-03-04", "site": "b.example"},
        {
            "id": HOSTILE.replace("\x00", ""),
            "text": f"{OTHER} {HOSTILE * 50}",
            "title": HOSTILE,
            "site": HOSTILE,
        },
        {
            "id": "bad/1",
            "text": f"{OTHER} {HOSTILE * 50}",
            "title": HOSTILE,
            "site": "w" * 300,
            "url": "javascript:alert(3)",
        },
        {"id": "bad/2", "text": f"{OTHER} {HOSTILE}{'x' * 5_000}", "title": f"{HOSTILE}{'t' * LONG}"},
        {"id": "z" * 300, "text": "Nothing else has these words: quokka, wombat, numbat, bilby."},
    ]


@pytest.fixture
def tab(browser: Any) -> Iterator[Callable[..., Tab]]:
    """Makes tabs and closes them; nothing may have gone wrong in one."""
    made: list[Tab] = []

    def opened(*arguments: Any, **options: Any) -> Tab:
        made.append(Tab(browser, *arguments, **options))
        return made[-1]

    yield opened
    for each in made:
        each.close()
        assert each.wrong == []
