"""Commands of es-dedup, run in this process."""

import json
from typing import Any

from typer.testing import CliRunner, Result

from es_dedup.cli.main import app


def ran(*arguments: object, code: int = 0, given: str | bytes | None = None, **variables: str) -> Result:
    """What became of a command that has to end with this code."""
    done = CliRunner().invoke(app, [*map(str, arguments)], input=given, env=variables, color=False)
    assert done.exit_code == code, done.output
    return done


def rows(*arguments: object, code: int = 0, given: str | bytes | None = None, **variables: str) -> list[Any]:
    """The lines of JSON that a command prints."""
    done = ran("--json", *arguments, code=code, given=given, **variables)
    return [json.loads(line) for line in done.stdout.splitlines()]
