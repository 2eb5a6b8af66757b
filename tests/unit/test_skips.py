"""No test skips on all servers: what a server lacks is asked in ``tests/servers.py``, and ``make test-all`` starts each that is named."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from scripts.serversupport.profiles import PROFILES, REDIS

TESTS: Final = Path(__file__).parents[1]
ELSEWHERE: Final = re.compile(
    r"ES_DEDUP_DATA|not installed|is not ours|scripts/servers|belongs to one object|release 0\.1|needs|only root|for Linux|^missing$"
)
"""Reasons that are not about a kind of server: data, programs, packages, users, histories."""
ASKING: Final = {"url_of", "server_of", "url_with_processors", "restart", "kill"}


def calls() -> Iterator[tuple[str, ast.Call]]:
    """Each call in a test file, with its place."""
    for path in sorted(TESTS.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                yield f"{path.relative_to(TESTS)}:{node.lineno}", node


def test_a_test_is_skipped_for_its_server_in_one_place_only() -> None:
    found = []
    for place, call in calls():
        if ast.unparse(call.func) not in ("pytest.skip", "pytest.mark.skip", "pytest.mark.skipif", "skip"):
            continue
        reason = next((word.value for word in call.keywords if word.arg == "reason"), call.args[-1])
        if not place.startswith("servers.py") and not ELSEWHERE.search(
            ast.unparse(reason).removeprefix("str(").removesuffix(")")
        ):
            found.append(place)
    assert found == []


def test_each_server_that_a_test_names_is_started_for_all_tests() -> None:
    makefile = (TESTS.parent / "Makefile").read_text()
    recipe = makefile.partition("\ntest-all:")[2].partition("\n\n")[0]
    started = re.findall(r"\$\(SERVERS\) run ([\w ]+?) --", recipe)
    assert {name for names in started for name in names.split()} == {*PROFILES, REDIS}
    named = {
        (place, call.args[0].value)
        for place, call in calls()
        if ast.unparse(call.func) in ASKING
        and call.args
        and isinstance(call.args[0], ast.Constant)
        and not place.startswith("unit/scripts")
    }
    assert {name for _, name in named} <= {*PROFILES, REDIS}, sorted(named, key=str)
