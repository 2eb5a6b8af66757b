"""The short form of ``make fuzz``: some inputs of every target, with fixed seeds."""

import time

import pytest

from tests.fuzz.harness import Finding, Target, findings_of, input_of
from tests.fuzz.targets import TARGETS

SEED = 1
SECONDS = 0.8
"""Of each target, after its first input."""
MOST = 150


@pytest.mark.parametrize("target", TARGETS, ids=[target.name for target in TARGETS])
def test_no_input_breaks_the_rule(target: Target) -> None:
    found: list[Finding] = []
    end = 0.0
    for number in range(MOST):
        found += findings_of(target, SEED, [number])
        end = end or time.monotonic() + SECONDS
        if time.monotonic() > end:
            break
    assert not found, (
        f"python -m tests.fuzz --target {target.name} --seed {SEED} --only {found[0].number}\n{found[0].detail}"
    )


def test_inputs_depend_on_seed_and_number_alone() -> None:
    for target in TARGETS:
        if target.name.startswith("index-"):
            continue  # the time is in the file
        assert repr(input_of(target, 3, 5)) == repr(input_of(target, 3, 5)), target.name


@pytest.mark.slow
def test_what_breaks_the_rule_is_found() -> None:
    def run(value: int) -> None:
        if value == 1:
            raise KeyError("x")
        while value == 2:
            pass

    target = Target("broken", lambda rng: rng.randrange(3), run, 9)
    assert not list(findings_of(Target("broken", lambda _: 0, run, 1), SEED, [0]))
    whats = {finding.what.partition(":")[0] for finding in findings_of(target, SEED, range(12))}
    assert whats == {"KeyError", "Hang"}
