"""Errors: the same after pickling, and what advises to repeat a call may be repeated."""

import pickle
from dataclasses import fields
from typing import Any, Final

import pytest

from es_dedup import errors

ERRORS: Final = [
    each
    for each in vars(errors).values()
    if isinstance(each, type) and issubclass(each, errors.DedupError) and each is not errors.DedupError
]
SAMPLES: Final[dict[str, Any]] = {"str": "{some} text", "int": 3, "int | None": 3, "float": 1.5}


@pytest.mark.parametrize("kind", ERRORS)
def test_an_error_is_the_same_after_pickling_and_keeps_its_advice(kind: type[errors.DedupError]) -> None:
    error = kind(*(SAMPLES.get(str(each.type), ()) for each in fields(kind)))  # type: ignore[arg-type] # a dataclass
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (kind, str(error), vars(error))
    assert kind.retryable or "try again" not in str(error)
